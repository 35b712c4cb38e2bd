"""Makes the context attack on some texts, with what an attacker learned from public texts."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bigram_model import BigramModel
from custext_sql.experiments.attacks.context_guesses import ContextCounts, count_context_guesses, learn_bigrams
from custext_sql.experiments.attacks.symbols import Alphabet
from custext_sql.experiments.progress import ShareDone
from custext_sql.experiments.public_texts import list_public
from custext_sql.experiments.trials import Trial
from custext_sql.parameters import count_of
from custext_sql.release.inputs.texts import Texts, name_texts
from custext_sql.text.columns import TextColumn, open_column


@dataclass(frozen=True, eq=False)
class PublicTexts:
    """Public texts from which an attacker learns.

    left_out: how many others are also among the attacked texts. skipped: how many others are empty.
    """

    name: str
    column: TextColumn
    left_out: int
    skipped: int


class ContextAttacker:
    """An attacker of some texts who has learned from public texts.

    dataset: the name of the attacked texts. public: the public texts.
    """

    def __init__(self, texts: Sequence[str], public: PublicTexts, dataset: str) -> None:
        self.dataset, self.public = dataset, public
        self._column = open_column(list(texts))[0]
        self._models: dict[Hashable, BigramModel] = {}
        self._attacked: dict[Hashable, ContextCounts] = {}

    def attack(self, trial: Trial, progress: ShareDone = lambda share: None) -> ContextCounts:
        """Return how many words are guessed in a trial; each is made only once.

        trial: of one of CusText's own mechanisms, since the others have no groups. SettingError if no word would be
        replaced.
        """
        under_test = trial.under_test
        setup = under_test.mapping.info.fingerprint, under_test.policy, trial.mechanism
        place = *setup, under_test.calibration, trial.epsilon, trial.seed
        if place not in self._attacked:
            progress(0.0)
            mechanism = under_test.open(trial.mechanism)
            assert mechanism.replacer is not None and trial.epsilon is not None
            if setup not in self._models:
                self._models.clear()  # one is enough, since trials are ordered by mechanism and mapping
                alphabet = Alphabet(under_test.mapping, mechanism.replacer, plus=mechanism.plus)
                self._models[setup] = learn_bigrams(alphabet, self.public.column)
            model, column = self._models[setup], self._column
            counts = count_context_guesses(model, mechanism, column, trial.epsilon, trial.seed, progress)
            if not counts.replaced:
                raise SettingError(f"{self.dataset}: found no words that the mapping would replace")
            self._attacked[place] = counts
        return self._attacked[place]


def read_public(public: Texts, column: str | None, texts: Sequence[str]) -> PublicTexts:
    """Return public texts without those that are also among the attacked texts. SettingError if none is left."""
    name, (given, skipped) = name_texts(public), list_public(public, column)
    left = leave_out(name, given, texts)
    return PublicTexts(name, open_column(left)[0], len(given) - len(left), skipped)


def leave_out(name: str, given: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return public texts of that name without those that are also among the attacked texts.

    SettingError if none is left.
    """
    attacked = set(map(normalize_text, texts))
    left = [text for text in given if normalize_text(text) not in attacked]
    if not left:
        found = count_of(len(given), "text")
        problem = f"of {found}, all are also among the attacked texts" if given else "all of them are empty"
        raise SettingError(
            f"{name}: the context attack learns from public texts, but {problem}; use others: --public FILE "
            "(in Python: public=...)"
        )
    return left


def normalize_text(text: str) -> str:
    """Return a text without the differences that do not make it another text."""
    return " ".join(text.casefold().split())
