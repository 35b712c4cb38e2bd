"""An attacker who guesses replaced words from all that is visible, and from public texts; counts the right guesses."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bigram_model import BigramModel
from custext_sql.experiments.attacks.group_lattice import find_posteriors
from custext_sql.experiments.attacks.output_likelihoods import OutputLikelihoods
from custext_sql.experiments.attacks.symbols import Alphabet
from custext_sql.experiments.mechanisms import MechanismUnderTest
from custext_sql.experiments.progress import ShareDone
from custext_sql.experiments.public_texts import list_public
from custext_sql.experiments.trials import Trial
from custext_sql.mechanism.sampler import Sampler
from custext_sql.parameters import count_of
from custext_sql.release.inputs.texts import Texts, name_texts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.words import FoundWords
from custext_sql.text.columns import TextColumn, open_column, split_column


@dataclass(frozen=True)
class ContextCounts:
    """How many words were guessed correctly.

    words, in_clear: all words, and those that are in the clear. replaced, guessed, guessed_singly: the words that were
    replaced, those among them that were guessed with context, and from one output alone. texts, texts_complete: the
    texts with replaced words, and those in which all of them were guessed.
    """

    words: int = 0
    in_clear: int = 0
    replaced: int = 0
    guessed: int = 0
    guessed_singly: int = 0
    texts: int = 0
    texts_complete: int = 0

    def __add__(self, other: "ContextCounts") -> "ContextCounts":
        return ContextCounts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def success(self) -> float:
        """The share of replaced words that were guessed with context."""
        return self.guessed / self.replaced

    @property
    def standard_error(self) -> float:
        """The standard error of the success."""
        return math.sqrt(self.success * (1.0 - self.success) / self.replaced)

    @property
    def single(self) -> float:
        """The share of replaced words that were guessed from one output alone."""
        return self.guessed_singly / self.replaced

    @property
    def texts_guessed(self) -> float:
        """The share of texts in which all replaced words were guessed."""
        return self.texts_complete / self.texts

    @property
    def success_of_all(self) -> float:
        """The share guessed among all words; those in the clear count as guessed."""
        return (self.guessed + self.in_clear) / self.words


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


def learn_bigrams(alphabet: Alphabet, column: TextColumn) -> BigramModel:
    """Return a bigram model of public texts."""
    parts = [np.array([alphabet.end])]
    parts += [alphabet.read(block).symbols[1:] for _, block in split_column(column)]
    return BigramModel(alphabet, np.concatenate(parts))


def count_context_guesses(
    model: BigramModel,
    mechanism: MechanismUnderTest,
    column: TextColumn,
    epsilon: float,
    seed: int,
    progress: ShareDone = lambda share: None,
) -> ContextCounts:
    """Sanitize texts, guess the replaced words, and return how many guesses are right.

    mechanism: one of CusText's own. The replacements are those of its `sanitize` with this seed. The attacker is told
    which random words and digits stand for unknown words and numbers, and nothing else that the output does not show.
    """
    replacer, alphabet = mechanism.replacer, model.alphabet
    assert replacer is not None and isinstance(replacer.mechanism, Sampler)
    likelihoods = OutputLikelihoods(alphabet, epsilon, replacer.mechanism.calibration)
    draws = np.random.PCG64(seed)
    counts = ContextCounts()
    for rows, block in split_column(column):
        read = alphabet.read(block)
        replaced = read.words.at(Kind.SAMPLED)
        places = read.places[replaced]
        words = read.symbols[places]
        visible = read.symbols.copy()
        if epsilon == 0.0:
            visible[places] = alphabet.representatives[words]
        else:
            drawn = np.asarray(draws.random_raw(len(words)), dtype=np.uint64)
            visible[places] = replacer.mechanism.sample(words, epsilon, drawn)
        right = guess_hidden(model, likelihoods, visible)[0][places] == words
        singly = guess_singly(model, likelihoods, visible[places])[0] == words
        texts = read.words.rows[replaced]
        complete = np.bincount(texts, minlength=len(block)) == np.bincount(texts, right, len(block))
        some = np.bincount(texts, minlength=len(block)) > 0
        counts += ContextCounts(
            words=len(read.words.kinds),
            in_clear=count_in_clear(read.words, replacer.policy),
            replaced=len(words),
            guessed=int(right.sum()),
            guessed_singly=int(singly.sum()),
            texts=int(some.sum()),
            texts_complete=int((some & complete).sum()),
        )
        progress(rows.stop / len(column))
    return counts


def guess_hidden(model: BigramModel, likelihoods: OutputLikelihoods, visible: Numbers) -> tuple[Numbers, Floats]:
    """Return the most probable hidden symbol at each place, given the whole text around it, and its probability."""
    guesses, certainties = visible.copy(), np.ones(len(visible))
    firsts = model.alphabet.firsts[model.alphabet.classes[visible]]
    for places, posteriors in find_posteriors(model, visible, likelihoods.certain[visible], likelihoods.find):
        guesses[places] = firsts[places] + posteriors.argmax(axis=1)
        certainties[places] = posteriors.max(axis=1)
    return guesses, certainties


def guess_singly(model: BigramModel, likelihoods: OutputLikelihoods, visible: Numbers) -> tuple[Numbers, Floats]:
    """Return the most probable hidden symbol for each visible one, from that one alone, and its probability."""
    asked, places = np.unique(visible, return_inverse=True)
    classes = model.alphabet.classes[asked]
    together = likelihoods.find(asked) * model.find_chances(classes)
    guesses: Numbers = model.alphabet.firsts[classes] + together.argmax(axis=1)
    certainties: Floats = together.max(axis=1) / together.sum(axis=1)
    return guesses[places], certainties[places]


def count_in_clear(found: FoundWords, policy: Policy) -> int:
    """Return how many words stay in the clear under a policy."""
    counts = np.bincount(found.kinds, minlength=len(Kind))
    kept = int(counts[Kind.STOPWORD] + counts[Kind.ENDING] + counts[Kind.KEPT])
    kept += int(counts[Kind.UNKNOWN]) if policy.unknown == "keep" else 0
    return kept + (int(counts[Kind.NUMBER]) if policy.numbers == "keep" else 0)
