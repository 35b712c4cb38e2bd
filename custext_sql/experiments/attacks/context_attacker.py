"""Measures the context attack on some texts, with what an attacker learned from public texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bigram_model import BigramModel
from custext_sql.experiments.attacks.context_guesses import ContextCounts, count_context_guesses, learn_bigrams
from custext_sql.experiments.attacks.symbols import Alphabet
from custext_sql.experiments.measurements import (
    Measurement,
    ShareDone,
    Subject,
    digest_texts,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.public_texts import list_public
from custext_sql.experiments.trials import Trial
from custext_sql.parameters import count_of
from custext_sql.release.inputs.texts import Texts, name_texts
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn, open_column

_METRICS = ("success", "single", "texts_guessed", "success_of_all")


@dataclass(frozen=True, eq=False)
class PublicTexts:
    """Public texts from which an attacker learns.

    left_out: how many others are also among the attacked texts. skipped: how many others are empty.
    """

    name: str
    column: TextColumn
    left_out: int
    skipped: int
    digest: str


@dataclass(frozen=True)
class ContextMeasurements:
    """What was measured in one trial.

    success, single, texts_guessed: as in `ContextResult`. success_of_all: the share guessed among all words, where
    words in the clear count as guessed.
    """

    success: Measurement
    single: Measurement
    texts_guessed: Measurement
    success_of_all: Measurement


class ContextAttacker:
    """An attacker of some texts who has learned from public texts.

    dataset: the name of the attacked texts. public: the public texts.
    """

    def __init__(self, texts: Sequence[str], public: PublicTexts, dataset: str) -> None:
        self.dataset, self.public = dataset, public
        self._column, self._digest = open_column(list(texts))[0], digest_texts(texts)
        self._models: dict[tuple[MappingUnderTest, str], BigramModel] = {}

    def measure(
        self, database: Database, trials: Sequence[Trial], *, progress: ShareDone | None = None
    ) -> list[ContextMeasurements]:
        """Return what is measured in each trial: saved values, or new ones, which are saved.

        trials: of CusText's own mechanisms only, since the others have no groups. SettingError if no word would be
        replaced.
        """
        subjects: dict[Subject, Trial] = {}
        for trial in trials:
            settings = write_settings(learned=self.public.digest, **trial.handling)
            for metric in _METRICS:
                about = trial.describe("context", metric)
                subject = replace(about, dataset=self.dataset, digest=self._digest, settings=settings)
                subjects[subject] = trial
        latest: dict[Trial, ContextCounts] = {}

        def measure(subject: Subject, tell: ShareDone) -> tuple[float, float | None]:
            trial = subjects[subject]
            if trial not in latest:
                latest.clear()
                latest[trial] = self._count(trial, tell)
            counts = latest[trial]
            if subject.metric == "success":
                return counts.success, counts.standard_error
            return float(getattr(counts, subject.metric)), None

        measured = iter(measure_or_reuse(database, list(subjects), measure, progress=progress))
        found = {trial: ContextMeasurements(*(next(measured) for _ in _METRICS)) for trial in dict.fromkeys(trials)}
        return [found[trial] for trial in trials]

    def _count(self, trial: Trial, tell: ShareDone) -> ContextCounts:
        mechanism, place = trial.under_test.open(trial.mechanism), (trial.under_test, trial.mechanism)
        assert mechanism.replacer is not None and trial.epsilon is not None
        if place not in self._models:
            self._models.clear()  # one is enough, since trials are ordered by mechanism and mapping
            alphabet = Alphabet(trial.under_test.mapping, mechanism.replacer, plus=mechanism.plus)
            self._models[place] = learn_bigrams(alphabet, self.public.column)
        counts = count_context_guesses(self._models[place], mechanism, self._column, trial.epsilon, trial.seed, tell)
        if not counts.replaced:
            raise SettingError(f"{self.dataset}: found no words that the mapping would replace")
        return counts


def read_public(public: Texts, column: str | None, texts: Sequence[str]) -> PublicTexts:
    """Return public texts without those that are also among the attacked texts. SettingError if none is left."""
    name, (given, skipped) = name_texts(public), list_public(public, column)
    left = leave_out(name, given, texts)
    return PublicTexts(name, open_column(left)[0], len(given) - len(left), skipped, digest_texts(left))


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
