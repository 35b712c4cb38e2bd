"""The mask attack (mask token inference): how often words are guessed from the sanitized words around them."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.ngram_guesser import learn_ngrams
from custext_sql.experiments.mechanisms import CUSTEXT, CUSTEXT_PLUS, MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.public_texts import find_public_column, list_public
from custext_sql.experiments.trials import Trial, list_epsilons
from custext_sql.parameters import check_at_least, count_of
from custext_sql.release.inputs.texts import Texts, list_texts, name_texts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy, name_policy
from custext_sql.replacing.replacer import Piece
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.store.database import Database
from custext_sql.text.word_boundaries import fold_word

NGRAM = "ngram"


@dataclass(frozen=True)
class MaskResult:
    """The success of the mask attack at one eps.

    eps: the budget per word.
    r_mask, standard_error: the share of all words that are guessed correctly, 0 to 1, and its standard error.
    privacy: the share of words that are not guessed, 1 - r_mask.
    r_mask_sampled: the share guessed correctly among words replaced by a draw; None if there is no such word.
    mechanism: "custext", or "custext+" if stopwords are kept. mapping: its name.
    model: the name or folder of the model that guesses, or "ngram". rows: the number of texts attacked.
    """

    eps: float
    r_mask: float
    standard_error: float
    privacy: float
    r_mask_sampled: float | None
    mechanism: str
    mapping: str
    model: str
    rows: int


@dataclass(frozen=True)
class MaskAttack:
    """The success of the mask attack on some texts.

    mapping: its name. mechanism: "custext", or "custext+" if stopwords are kept.
    policy: "paper" or "strict"; for any other Policy, how it differs from "strict".
    model: the name or folder of the model that guesses, or "ngram". rows: the number of texts attacked.
    skipped: by the name of the texts, how many were skipped because they are empty. results: one per eps.
    """

    mapping: str
    mechanism: str
    policy: str
    model: str
    rows: int
    skipped: dict[str, int]
    results: tuple[MaskResult, ...]


class Guesser(Protocol):
    """A guesser of words from the words around them."""

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a folded guess for each of its words, made only from the new words around it."""
        ...


@dataclass(frozen=True)
class GuessCounts:
    """How many words were attacked and guessed, and how many of those replaced by a draw (sampled)."""

    words: int
    guessed: int
    sampled: int
    sampled_guessed: int

    @property
    def r_mask(self) -> float:
        """The share of words guessed correctly, 0 to 1."""
        return self.guessed / self.words

    @property
    def standard_error(self) -> float:
        """The standard error of r_mask, as if words were guessed independently of each other."""
        return math.sqrt(self.r_mask * (1 - self.r_mask) / self.words)

    @property
    def r_mask_sampled(self) -> float | None:
        """The share guessed correctly among the words replaced by a draw; None if there is no such word."""
        return self.sampled_guessed / self.sampled if self.sampled else None


@dataclass(frozen=True)
class ChosenGuesser:
    """A guesser that a caller chose.

    open: takes a vocabulary and whether stopwords are kept, which decide how texts are split into words, and returns
        the guesser for them.
    """

    name: str
    open: Callable[[Vocabulary, bool], Guesser]


def attack_mask(
    database: Database = None,
    *,
    model: str | os.PathLike[str],
    data: Texts,
    column: str | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    rows: int | None = 200,
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    plus: bool = False,
    policy: str | Policy = "paper",
    calibration: str = "paper",
    mapping: str | None = None,
    seed: int = 0,
    batch_size: int = 32,
    progress: ShareDone | None = None,
) -> MaskAttack:
    """Sanitize texts, mask each word in turn, and count how often a model guesses the original word.

    This is the paper's mask token inference attack.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    model: a masked language model of Hugging Face, by its name or folder (needs the extra `models`), or "ngram",
        which learns from `public`.
    data: the texts to attack: the path of a file, a DataTable, or a sequence of texts.
    column: the column of that file; None for lines of text and for a sequence.
    public: the texts from which "ngram" learns, like data. public_column: its column; by default that in `column`.
    rows: the number of texts to attack, from the top, at least 1; None: all.
    eps: one budget per word or several: 0, or 0.001 to 100.
    plus: whether to keep stopwords.
    policy: what to do with unknown words and numbers: "paper", "strict" or a Policy.
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    seed: the seed of the draws, at least 0.
    batch_size: masked texts per model call, at least 1.
    progress: called with the share of the work done, 0 to 1.

    Returns a MaskAttack.

    SettingError if a setting is invalid, the model cannot be loaded or there is no word to attack; SourceError if a
    file cannot be read; MappingError if the mapping does not exist.
    """
    epsilons = list_epsilons(eps)
    if rows is not None:
        check_at_least(rows, 1, "rows")
    check_at_least(seed, 0, "seed")
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    given = list_texts(data, column, rows)
    texts = [text for text in given if text and text.strip()]
    skipped = {name_texts(data): len(given) - len(texts)}
    learned = None
    if public is not None:
        learned, skipped[name_texts(public)] = list_public(public, find_public_column(public, public_column, column))
    guesser = choose_guesser(os.fspath(model), public=learned, batch_size=batch_size)
    mechanism = CUSTEXT_PLUS if plus else CUSTEXT
    trials = [Trial(under_test, mechanism, epsilon, seed) for epsilon in epsilons]
    name = under_test.mapping.info.name
    results = tuple(
        MaskResult(
            eps=epsilon,
            r_mask=counts.r_mask,
            standard_error=counts.standard_error,
            privacy=1.0 - counts.r_mask,
            r_mask_sampled=counts.r_mask_sampled,
            mechanism=mechanism,
            mapping=name,
            model=guesser.name,
            rows=len(texts),
        )
        for epsilon, counts in zip(epsilons, attack_trials(trials, texts, guesser, progress=progress), strict=True)
    )
    return MaskAttack(name, mechanism, name_policy(under_test.policy), guesser.name, len(texts), skipped, results)


def choose_guesser(model: str, *, public: Sequence[str] | None, batch_size: int = 32) -> ChosenGuesser:
    """Return the n-gram guesser, which learns from public texts, or a masked language model of Hugging Face."""
    if model == NGRAM:
        if public is None:
            raise SettingError("the model ngram learns from public texts; use --public FILE (in Python: public=...)")
        texts = public

        @lru_cache(maxsize=4)
        def learn(vocabulary: Vocabulary, plus: bool) -> Guesser:
            return learn_ngrams(texts, vocabulary, plus=plus)

        return ChosenGuesser(NGRAM, learn)
    from custext_sql.experiments.attacks.language_model_guesser import open_language_model  # needs PyTorch, an extra

    guesser = open_language_model(model, batch_size=batch_size)
    return ChosenGuesser(model, lambda vocabulary, plus: guesser)


def attack_trials(
    trials: Sequence[Trial], texts: Sequence[str], guesser: ChosenGuesser, *, progress: ShareDone | None = None
) -> list[GuessCounts]:
    """Return how many words are guessed in each trial."""
    found = []
    for number, trial in enumerate(trials):
        tell = part_of(progress, number, len(trials))
        tell(0.0)
        mechanism = trial.under_test.open(trial.mechanism)
        opened = guesser.open(trial.under_test.vocabulary, mechanism.plus)
        pieces = mechanism.compare(texts, 1.0 if trial.epsilon is None else trial.epsilon, trial.seed)
        found.append(count_guesses(pieces, opened, progress=tell))
    return found


def count_guesses(
    texts: Sequence[Sequence[Piece]], guesser: Guesser, *, progress: ShareDone | None = None
) -> GuessCounts:
    """Mask each word of each sanitized text in turn, and count the guesses that equal the original word.

    texts: as `Sanitizer.compare` returns them. progress: called with the share of texts done. SettingError if the texts
    contain no words.
    """
    if not any(piece.kind is not None for pieces in texts for piece in pieces):
        raise SettingError(f"found no words to attack in {count_of(len(texts), 'text')}; use other texts")
    words = guessed = sampled = sampled_guessed = 0
    for done, (pieces, guesses) in enumerate(zip(texts, guesser.guess(texts), strict=True), start=1):
        attacked = [piece for piece in pieces if piece.kind is not None]
        for piece, guess in zip(attacked, guesses, strict=True):
            right = guess == fold_word(piece.before)
            words += 1
            guessed += right
            sampled += piece.kind == Kind.SAMPLED
            sampled_guessed += right and piece.kind == Kind.SAMPLED
        if progress is not None:
            progress(done / len(texts))
    return GuessCounts(words, guessed, sampled, sampled_guessed)
