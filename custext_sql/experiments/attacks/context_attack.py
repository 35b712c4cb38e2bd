"""The context attack: how often replaced words are guessed from all visible words of a text, with public texts."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.context_model import Alphabet, BigramModel, OutputLikelihoods, find_posteriors
from custext_sql.experiments.mechanisms import (
    CUSTEXT,
    CUSTEXT_PLUS,
    MappingUnderTest,
    MechanismUnderTest,
    ShareDone,
    Trial,
    list_epsilons,
    open_draws,
    part_of,
)
from custext_sql.experiments.public_texts import find_public_column, list_public
from custext_sql.files.inputs.texts import Texts, list_texts, name_texts
from custext_sql.kinds import Kind
from custext_sql.mechanism.randomness import WORDS
from custext_sql.mechanism.sampler import Sampler
from custext_sql.parameters import check_at_least, count_of
from custext_sql.sanitizer.policy import Policy, name_policy
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn, open_column, split_column


@dataclass(frozen=True)
class ContextResult:
    """The success of the context attack at one eps. Shares are 0 to 1."""

    mapping: str
    k: int  # its group size K
    eps: float  # the budget per word
    calibration: str  # how eps sets the temperature: "paper" or "tight"
    plus: bool  # whether stopwords are kept
    success: float  # the share of replaced words that are guessed correctly
    standard_error: float
    single: float  # the share guessed from one output and the frequencies of words in the public texts, without context
    texts_guessed: float  # the share of texts in which every replaced word is guessed, among texts with replaced words
    # The success at eps = 0, where outputs show the groups of replaced words and nothing else. It is not always the
    # least: a drawn word may pass for a kept one of its group, but a representative cannot.
    success_at_0: float


@dataclass(frozen=True)
class ContextAttack:
    """The success of the context attack on some texts."""

    mapping: str
    k: int  # its group size K
    calibration: str  # how eps sets the temperature: "paper" or "tight"
    plus: bool  # whether stopwords are kept
    policy: str  # "paper" or "strict"; for any other Policy, how it differs from "strict"
    data: str  # the name of the attacked texts
    texts: int
    words: int  # how many words of these texts were replaced
    public: str  # the name of the public texts
    public_texts: int  # how many were learned from
    left_out: int  # how many were left out because they also occur in the attacked texts
    skipped: int  # how many were skipped because they are empty
    results: tuple[ContextResult, ...]  # one per eps


def attack_context(
    database: Database = None,
    *,
    public: Texts,
    data: Texts,
    column: str | None = None,
    public_column: str | None = None,
    rows: int | None = None,
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    plus: bool = False,
    policy: str | Policy = "paper",
    calibration: str = "paper",
    mapping: str | None = None,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> ContextAttack:
    """Sanitize texts, guess the replaced words from everything that is visible, and count how often this succeeds.

    The attacker knows the mapping, eps, the stopwords and public texts, and sees the sanitized texts only. A bigram
    model of the public texts says which words follow each other, and the tables say which words become which. The guess
    is the word with the largest exact posterior probability, given the whole text.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    public: the texts from which the attacker learns: the path of a file, a DataTable, or a sequence of texts. Those
        that are also in `data`, apart from case and spaces, are left out.
    data: the texts to sanitize and attack, like public.
    column: the column of `data`; None for lines of text and for a sequence.
    public_column: the column of `public`; by default that in `column`.
    rows: the number of texts to attack, from the top, at least 1; None: all.
    eps: one budget per word or several: 0, or 0.001 to 100.
    plus: whether to keep stopwords.
    policy: what to do with unknown words and numbers: "paper", "strict" or a Policy.
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    seed: the seed of the draws, at least 0.
    progress: called with the share of the work done, 0 to 1.

    Returns a ContextAttack.

    SettingError if a setting is invalid, no public text is left, or no word would be replaced; SourceError if a file
    cannot be read; MappingError if the mapping does not exist.
    """
    epsilons = list_epsilons(eps)
    if rows is not None:
        check_at_least(rows, 1, "rows")
    check_at_least(seed, 0, "seed")
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    public_column = find_public_column(public, public_column, column)
    return attack_texts(
        under_test, epsilons, data, column, public, public_column, rows=rows, plus=plus, seed=seed, progress=progress
    )


def attack_texts(
    under_test: MappingUnderTest,
    epsilons: Sequence[float],
    data: Texts,
    column: str | None,
    public: Texts,
    public_column: str | None,
    *,
    rows: int | None = None,
    plus: bool,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> ContextAttack:
    """Return what `attack_context` returns, for a mapping under test and settings that are checked."""
    texts = [text or "" for text in list_texts(data, column, rows)]
    attacker = ContextAttacker(texts, read_public(public, public_column, texts), name_texts(data))
    results = measure_context(attacker, under_test, epsilons, plus=plus, seed=seed, progress=progress)
    info = under_test.mapping.info
    at_0 = Trial(under_test, under_test.open(CUSTEXT_PLUS if plus else CUSTEXT), 0.0, seed)
    return ContextAttack(
        mapping=info.name,
        k=info.k,
        calibration=under_test.calibration,
        plus=plus,
        policy=name_policy(under_test.policy),
        data=name_texts(data),
        texts=len(texts),
        words=attacker.attack(at_0).replaced,  # already made, to compare the others with
        public=attacker.public.name,
        public_texts=len(attacker.public.column),
        left_out=attacker.public.left_out,
        skipped=attacker.public.skipped,
        results=tuple(results),
    )


@dataclass(frozen=True)
class ContextCounts:
    """How many words were guessed correctly."""

    words: int = 0
    in_clear: int = 0  # words that stay in the clear
    replaced: int = 0
    guessed: int = 0  # replaced words, with context
    guessed_singly: int = 0  # replaced words, from one output alone
    texts: int = 0  # texts with replaced words
    texts_complete: int = 0  # texts in which all replaced words were guessed

    def __add__(self, other: "ContextCounts") -> "ContextCounts":
        return ContextCounts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def success(self) -> float:
        """The share of replaced words that were guessed with context."""
        return self.guessed / self.replaced

    @property
    def texts_guessed(self) -> float:
        """The share of texts in which all replaced words were guessed."""
        return self.texts_complete / self.texts

    @property
    def success_of_all(self) -> float:
        """The share guessed among all words; those in the clear count as guessed."""
        return (self.guessed + self.in_clear) / self.words

    def find_shares(self) -> tuple[float, float, float, float]:
        """Return `success`, `standard_error`, `single` and `texts_guessed` of a `ContextResult`."""
        error = math.sqrt(self.success * (1.0 - self.success) / self.replaced)
        return self.success, error, self.guessed_singly / self.replaced, self.texts_guessed


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
        self._learned: tuple[Hashable, BigramModel] | None = None
        self._attacked: dict[Hashable, ContextCounts] = {}

    def attack(self, trial: Trial, progress: ShareDone = lambda share: None) -> ContextCounts:
        """Return how many words are guessed in a trial; each is made only once.

        trial: of one of CusText's own mechanisms, since the others have no groups. SettingError if no word would be
        replaced.
        """
        under_test, mechanism = trial.under_test, trial.mechanism
        setup = under_test.mapping.info.fingerprint, under_test.policy, mechanism.name
        place = *setup, under_test.calibration, trial.epsilon, trial.seed
        if place not in self._attacked:
            progress(0.0)
            assert trial.epsilon is not None
            if self._learned is None or self._learned[0] != setup:
                alphabet = Alphabet(under_test.mapping, mechanism.replacer, plus=mechanism.plus)
                self._learned = setup, learn_bigrams(alphabet, self.public.column)
            model, column = self._learned[1], self._column
            counts = count_context_guesses(model, mechanism, column, trial.epsilon, trial.seed, progress)
            if not counts.replaced:
                raise SettingError(f"{self.dataset}: found no words that the mapping would replace")
            self._attacked[place] = counts
        return self._attacked[place]


def measure_context(
    attacker: ContextAttacker,
    under_test: MappingUnderTest,
    epsilons: Sequence[float],
    *,
    plus: bool,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> list[ContextResult]:
    """Return the success of an attacker at each eps."""
    info, mechanism = under_test.mapping.info, under_test.open(CUSTEXT_PLUS if plus else CUSTEXT)
    at_0, *found = [
        attacker.attack(Trial(under_test, mechanism, epsilon, seed), part_of(progress, number, 1 + len(epsilons)))
        for number, epsilon in enumerate((0.0, *epsilons))
    ]
    return [
        ContextResult(info.name, info.k, epsilon, under_test.calibration, plus, *counts.find_shares(), at_0.success)
        for epsilon, counts in zip(epsilons, found, strict=True)
    ]


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
    sampler, alphabet = mechanism.replacer.mechanism, model.alphabet
    assert isinstance(sampler, Sampler)
    likelihoods = OutputLikelihoods(alphabet, epsilon, sampler.calibration)
    draws, counts = open_draws(seed), ContextCounts()
    for rows, block in split_column(column):
        read = alphabet.read(block)
        replaced = read.words.at(Kind.REPLACED)
        places = read.places[replaced]
        words = read.symbols[places]
        visible = read.symbols.copy()
        if epsilon == 0.0:
            visible[places] = alphabet.representatives[words]
        else:
            visible[places] = sampler.sample(words, epsilon, draws.draw(replaced, read.words.find_firsts, WORDS))
        right = guess_hidden(model, likelihoods, visible)[0][places] == words
        singly = guess_singly(model, likelihoods, visible[places])[0] == words
        texts = read.words.rows[replaced]
        to_guess, guessed = np.bincount(texts, minlength=len(block)), np.bincount(texts, right, len(block))
        counts += ContextCounts(
            words=len(read.words.kinds),
            in_clear=mechanism.count_in_clear(read.words),
            replaced=len(words),
            guessed=int(right.sum()),
            guessed_singly=int(singly.sum()),
            texts=int((to_guess > 0).sum()),
            texts_complete=int(((to_guess > 0) & (to_guess == guessed)).sum()),
        )
        progress(rows.stop / len(column))
    return counts


def guess_hidden(model: BigramModel, likelihoods: OutputLikelihoods, visible: Numbers) -> tuple[Numbers, Floats]:
    """Return the most probable hidden symbol at each place, given the whole text around it, and its probability."""
    guesses, certainties = visible.copy(), np.ones(len(visible))
    firsts = model.alphabet.firsts[model.alphabet.classes[visible]]
    for places, posteriors in find_posteriors(model, likelihoods, visible):
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
