"""The context attack: how often replaced words are guessed from all visible words of a text, with public texts.

Texts become symbols (`Alphabet`), public texts a bigram model (`BigramModel`), and the tables say which symbols a
visible one may stand for (`OutputLikelihoods`). From these follow the posteriors of hidden words (`find_posteriors`).
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from custext_sql.arrays import Bytes, Flags, Floats, Numbers, Places, Weights
from custext_sql.errors import SettingError
from custext_sql.experiments.mechanisms import (
    CUSTEXT,
    CUSTEXT_PLUS,
    MappingUnderTest,
    ShareDone,
    Trial,
    count_in_clear,
    cut,
    list_epsilons,
    open_draws,
    part_of,
)
from custext_sql.experiments.texts import find_public_column, list_public
from custext_sql.files.inputs.texts import Texts, list_texts, name_texts
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.randomness import WORDS
from custext_sql.mechanism.sampler import Sampler
from custext_sql.parameters import check_at_least, count_of
from custext_sql.sanitizer.policy import Policy, name_policy
from custext_sql.sanitizer.replacer import Mechanism, Replacer
from custext_sql.sanitizer.words import FoundWords
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn, open_column, split_column
from custext_sql.text.encoded_text import find_rows, spread_out
from custext_sql.text.units import UNIT_TYPES

_PUNCTUATION = (b"-/&", b'"()[]{}', b",;:", b".!?")  # classes of characters between words; the last ones prevail
_ZIPF = 100.0  # added to ranks in Zipf's law, for words that the public texts lack
_LIMITS = (1.0, 2.0, 3.0)  # of what is subtracted from a count of 1, of 2, and of 3 or more
_GRID = np.linspace(0.05, 0.95, 19)  # tried, as a share of these limits
_SHARES = 10.0 ** np.linspace(-5.0, -0.5, 19)  # of Zipf's law, tried
_ROUNDS = 2
_HELD_OUT = 10  # every tenth text
_CELLS = 1 << 20  # places times words of a group, worked on at a time


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

    SettingError if a setting is invalid, no public text is left, or no word would be replaced; SourceError if a file
    cannot be read; MappingError if the mapping does not exist.
    """
    epsilons = check_attack(eps, rows, seed)
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    texts = [text or "" for text in list_texts(data, column, rows)]
    known = read_public(public, find_public_column(public, public_column, column), texts)
    attacker = ContextAttacker(texts, known, name_texts(data))
    return attacker.report(under_test, epsilons, plus=plus, seed=seed, progress=progress)


def check_attack(eps: float | Sequence[float], rows: int | None, seed: int) -> list[float]:
    """Return the eps of an attack on texts as a list; SettingError if one of them, the rows or the seed is invalid."""
    epsilons = list_epsilons(eps)
    if rows is not None:
        check_at_least(rows, 1, "rows")
    check_at_least(seed, 0, "seed")
    return epsilons


class PublicTexts(NamedTuple):
    """Public texts from which an attacker learns.

    left_out: how many others are also among the attacked texts. skipped: how many others are empty.
    """

    name: str
    column: TextColumn
    left_out: int
    skipped: int


def read_public(public: Texts, column: str | None, texts: Sequence[str]) -> PublicTexts:
    """Return public texts without those that are also among the attacked texts. SettingError if none is left."""
    name, (given, skipped) = name_texts(public), list_public(public, column)
    left = leave_out(name, given, texts)
    return PublicTexts(name, open_column(left)[0], len(given) - len(left), skipped)


def leave_out(name: str, given: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the public texts of that name that are not among the attacked texts. SettingError if none is left."""
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
    """Return a text in the form in which texts are compared, without regard to case and white space."""
    return " ".join(text.casefold().split())


class ContextAttacker:
    """An attacker of some texts, which are called `dataset`, who has learned from public texts."""

    def __init__(self, texts: Sequence[str], public: PublicTexts, dataset: str) -> None:
        self.dataset, self.public = dataset, public
        self._column = open_column(list(texts))[0]
        self._learned: tuple[Hashable, BigramModel] | None = None
        self._attacked: dict[Hashable, Counter[str]] = {}

    def attack(self, trial: Trial, progress: ShareDone = lambda share: None) -> Counter[str]:
        """Return the counts of `count_context_guesses` in a trial; each is made only once.

        trial: of one of CusText's own mechanisms, since the others have no groups. SettingError if no word would be
        replaced.
        """
        under_test = trial.under_test
        setup = under_test.mapping.info.fingerprint, under_test.policy, trial.name
        place = *setup, under_test.calibration, trial.epsilon, trial.seed
        if place not in self._attacked:
            progress(0.0)
            assert trial.epsilon is not None
            if self._learned is None or self._learned[0] != setup:
                alphabet = Alphabet(under_test.mapping, trial.replacer, plus=trial.plus)
                self._learned = setup, learn_bigrams(alphabet, self.public.column)
            model, sampler = self._learned[1], trial.replacer.mechanism
            counts = count_context_guesses(model, sampler, self._column, trial.epsilon, trial.seed, progress)
            if not counts["replaced"]:
                raise SettingError(f"{self.dataset}: found no words that the mapping would replace")
            self._attacked[place] = counts
        return self._attacked[place]

    def report(
        self,
        under_test: MappingUnderTest,
        epsilons: Sequence[float],
        *,
        plus: bool,
        seed: int = 0,
        progress: ShareDone | None = None,
    ) -> ContextAttack:
        """Return the success of this attacker at each eps, and what it was measured on."""
        info, public, name = under_test.mapping.info, self.public, CUSTEXT_PLUS if plus else CUSTEXT
        at_0, *found = [
            self.attack(Trial(under_test, name, epsilon, seed), part_of(progress, number, 1 + len(epsilons)))
            for number, epsilon in enumerate((0.0, *epsilons))
        ]
        results = []
        for epsilon, counts in zip(epsilons, found, strict=True):
            success = find_success(counts)
            result = ContextResult(
                mapping=info.name,
                k=info.k,
                eps=epsilon,
                calibration=under_test.calibration,
                plus=plus,
                success=success,
                standard_error=math.sqrt(success * (1.0 - success) / counts["replaced"]),
                single=counts["guessed_singly"] / counts["replaced"],
                texts_guessed=counts["texts_complete"] / counts["texts"],
                success_at_0=find_success(at_0),
            )
            results.append(result)
        return ContextAttack(
            mapping=info.name,
            k=info.k,
            calibration=under_test.calibration,
            plus=plus,
            policy=name_policy(under_test.policy),
            data=self.dataset,
            texts=len(self._column),
            words=at_0["replaced"],
            public=public.name,
            public_texts=len(public.column),
            left_out=public.left_out,
            skipped=public.skipped,
            results=tuple(results),
        )


def find_success(counts: Counter[str]) -> float:
    """Return the share of replaced words that were guessed with context."""
    return counts["guessed"] / counts["replaced"]


class SymbolText(NamedTuple):
    """Texts as one sequence of symbols, with the symbol for an end before, between and after them."""

    symbols: Numbers
    words: FoundWords
    places: Places  # of each word in the sequence


class Alphabet:
    """The symbols of texts whose words are replaced within the groups of a mapping.

    The first symbols are the words of the mapping, in its order. Then come kept stopwords outside the mapping, and
    endings such as 's. All other words that are not drawn have one symbol, all numbers one, and the ends of texts one;
    there is one per class of punctuation, and one per type of units that the policy masks. A class is a group of the
    mapping, or any other symbol alone.

    plus: whether stopwords are kept. drawn: which symbols are words that are replaced by a draw.
    representatives: what each symbol becomes at eps = 0, if it is a word that is replaced.
    classes: the class of each symbol. firsts, sizes: the first symbol of each class, and its number of symbols. width:
    the largest of these sizes. columns: the place of each symbol in its class.
    ranks: the place of each word in the vector file; all other symbols come last.
    """

    def __init__(self, mapping: Mapping, replacer: Replacer, *, plus: bool) -> None:
        vocabulary = replacer.vocabulary
        self.mapping, self.plus, self.replacer = mapping, plus, replacer
        self._endings = vocabulary.is_ending[:-2].nonzero()[0]  # the last two stand for no listed word
        self._first_ending = len(vocabulary.is_ending) - 2
        self._unknown = self._first_ending + len(self._endings)
        self._number, self.end, self._first_mark = self._unknown + 1, self._unknown + 2, self._unknown + 3
        self._first_unit = self._first_mark + len(_PUNCTUATION)
        self.size = self._first_unit + (len(UNIT_TYPES) if replacer.policy.units == "mask" else 0)
        others = self.size - vocabulary.size
        self.sizes = np.append(mapping.sizes, np.ones(others, dtype=np.int64))
        self.width, self.firsts = int(self.sizes.max()), np.cumsum(self.sizes) - self.sizes
        self.classes = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.columns = np.arange(self.size) - self.firsts[self.classes]
        self.ranks = np.append(mapping.ranks, np.full(others, int(mapping.ranks.max()) + 1))
        kinds = vocabulary.find_kinds(np.arange(vocabulary.size, dtype=np.int32), plus)
        self.drawn: Flags = np.append(Kind.REPLACED.find_in(kinds), np.zeros(others, dtype=bool))
        self.representatives: Numbers = np.append(
            vocabulary.representatives(plus), np.arange(vocabulary.size, self.size)
        )

    def list_symbols(self, classes: Numbers) -> Numbers:
        """Return the symbols of each class, one row per class, padded with a number that is not a symbol."""
        columns = np.arange(self.width)
        symbols = self.firsts[classes][:, None] + columns
        return np.where(columns < self.sizes[classes][:, None], symbols, self.size)

    def read(self, column: TextColumn) -> SymbolText:
        """Return some texts as symbols."""
        text, offsets = self.replacer.open_text(column.text, column.offsets)
        found = self.replacer.find_words(text, offsets, plus=self.plus)
        words = found.numbers.astype(np.int64)
        words[found.at(Kind.NUMBER)] = self._number
        for kind in (Kind.UNKNOWN, Kind.ALONE):
            words[found.at(kind)] = self._unknown
        if found.unit_types is not None:
            words[found.at(Kind.UNIT)] = self._first_unit + found.unit_types
        endings = found.at(Kind.ENDING)
        words[endings] = self._first_ending + self._endings.searchsorted(words[endings])
        places, marks = _find_marks(text.content, found)
        ends = np.full(len(offsets), self.end)
        order = np.argsort(np.concatenate([offsets, found.starts, places]), kind="stable")
        inverse = np.empty_like(order)
        inverse[order] = np.arange(len(order))
        symbols = np.concatenate([ends, words, self._first_mark + marks])[order]
        return SymbolText(symbols, found, inverse[len(offsets) : len(offsets) + len(words)])


def _find_marks(content: Bytes, found: FoundWords) -> tuple[Places, Numbers]:
    """Return where there is punctuation between words, and its class; one per gap, the class that prevails."""
    classes = np.zeros(256, dtype=np.int64)
    for number, signs in enumerate(_PUNCTUATION, start=1):
        classes[np.frombuffer(signs, dtype=np.uint8)] = number
    kinds = classes[content]
    places = kinds.nonzero()[0]
    before = found.starts.searchsorted(places, "right")
    ends = np.append(0, found.ends)
    places, before = (some[places >= ends[before]] for some in (places, before))
    if not len(places):
        return places, places
    gaps = before + find_rows(places, found.offsets)  # a new number after each word and in each text
    starts = np.append(True, gaps[1:] != gaps[:-1]).nonzero()[0]
    return places[starts], np.maximum.reduceat(kinds[places], starts) - 1


class _Counts:
    """How often pairs of symbols occur in some texts."""

    def __init__(self, size: int, lefts: Numbers, rights: Numbers) -> None:
        self._codes, counts = np.unique(lefts * size + rights, return_counts=True)
        # the distinct pairs, how often each occurs, and how often each symbol is on the left
        (self.lefts, self.rights), self.counts = np.divmod(self._codes, size), counts.astype(np.float64)
        self.totals = np.bincount(self.lefts, self.counts, size)
        # how many distinct pairs with a count of 1, of 2, and of 3 or more each symbol begins
        kinds = self.lefts * 3 + np.minimum(counts, 3) - 1
        self.kinds = np.bincount(kinds, minlength=3 * size).reshape(size, 3).astype(np.float64)
        # the share of each symbol among all, and among the right sides of distinct pairs
        self.frequency = np.bincount(self.rights, self.counts, size) / max(self.counts.sum(), 1.0)
        self.variety = np.bincount(self.rights, minlength=size) / max(len(counts), 1)

    def find(self, lefts: Numbers, rights: Numbers) -> Floats:
        """Return how often some pairs occur."""
        asked = lefts * len(self.totals) + rights
        places = self._codes.searchsorted(asked)
        return np.where(np.append(self._codes, -1)[places] == asked, np.append(self.counts, 0.0)[places], 0.0)


class Steps(NamedTuple):
    """Steps from one class of symbols to another, several at once: a row per step, a column per symbol of the class.

    The probability of a step from u to v is spare[u] * novel[v], plus the value of the pair u, v, if it occurs. Rows
    are filled up with zeros. firsts, counts: the pairs of each step, among those of the model.
    """

    spare: Floats
    novel: Floats
    firsts: Places
    counts: Places


class BigramModel:
    """The probability of each symbol after another, learned from public texts. All are above 0.

    lefts, rights, values: the pairs that occur, those of the same two classes together: the places of both symbols in
    their classes, and the discounted share among all pairs with the same left symbol.
    discounts: what is subtracted from a count of 1, of 2, and of 3 or more. novelty: the share of Zipf's law in the
    probability of a symbol that was not seen after another. Both are fitted on texts that are held out.
    """

    def __init__(self, alphabet: Alphabet, symbols: Numbers) -> None:
        """Take the symbols of all texts, as `Alphabet.read` returns them."""
        self.alphabet = alphabet
        lefts, rights = symbols[:-1], symbols[1:]
        held = _hold_out(symbols == alphabet.end)[:-1]
        known, rest = (_Counts(alphabet.size, lefts[some], rights[some]) for some in (~held, held))
        zipf = 1.0 / (alphabet.ranks + _ZIPF)
        zipf /= zipf.sum()
        self.discounts, self.novelty, share = _fit(known, rest, zipf)
        counts = _Counts(alphabet.size, lefts, rights)
        left, right, totals = counts.lefts, counts.rights, counts.totals
        spare = np.where(totals > 0.0, counts.kinds @ self.discounts / np.maximum(totals, 1.0), 1.0)
        novel, chances = _mix(self.novelty, zipf, counts.variety), _mix(share, zipf, counts.frequency)
        # a 0 at the end, for the number with which rows of symbols are filled up
        self._spare, self._novel, self._chances = (np.append(some, 0.0) for some in (spare, novel, chances))
        codes = alphabet.classes[left] * len(alphabet.sizes) + alphabet.classes[right]
        order = np.argsort(codes, kind="stable")
        self.lefts, self.rights = alphabet.columns[left[order]], alphabet.columns[right[order]]
        self.values = (_discount(counts.counts, self.discounts) / totals[left])[order]
        self._codes, firsts = np.unique(codes[order], return_index=True)
        self._firsts = np.append(firsts, len(order))

    def find_steps(self, lefts: Numbers, rights: Numbers) -> Steps:
        """Return steps from some classes to others."""
        codes = lefts * len(self.alphabet.sizes) + rights
        places = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        firsts, ends = self._firsts[places], self._firsts[places + 1]
        return Steps(
            spare=self._spare[self.alphabet.list_symbols(lefts)],
            novel=self._novel[self.alphabet.list_symbols(rights)],
            firsts=firsts,
            counts=np.where(self._codes[places] == codes, ends - firsts, 0),
        )

    def find_chances(self, classes: Numbers) -> Floats:
        """Return how frequent the symbols of each class are, one row per class, filled up with zeros."""
        return self._chances[self.alphabet.list_symbols(classes)]


def _hold_out(ends: Flags) -> Flags:
    """Return which symbols are held out: every tenth text, or the last tenth of all if there are fewer texts."""
    texts, count = np.cumsum(ends), len(ends)
    held: Flags = np.arange(count) >= count - count // _HELD_OUT
    if texts[-1] > _HELD_OUT:
        held = texts % _HELD_OUT == 0
    return held


def _fit(known: _Counts, held_out: _Counts, zipf: Floats) -> tuple[Floats, float, float]:
    """Return the smoothing under which the texts that are held out are the most likely, given what is known.

    It consists of the discounts, and of the shares of Zipf's law after another symbol and in the frequency of symbols.
    """
    left, right, counts = held_out.lefts, held_out.rights, held_out.counts
    seen, totals = known.find(left, right), np.maximum(known.totals[left], 1.0)
    kinds, is_new = known.kinds[left], known.totals[left] == 0.0

    def weigh(discounts: Floats, share: float) -> float:
        spare = np.where(is_new, 1.0, kinds @ discounts / totals)
        novel = _mix(share, zipf[right], known.variety[right])
        return float(counts @ np.log(_discount(seen, discounts) / totals + spare * novel))

    discounts, share = np.array(_LIMITS) / 2.0, 0.01
    for _ in range(_ROUNDS):
        for place, limit in enumerate(_LIMITS):
            tried = np.where(np.arange(3) == place, (_GRID * limit)[:, None], discounts)
            discounts = max(tried, key=lambda some: weigh(some, share))
        share = max(_SHARES.tolist(), key=lambda some: weigh(discounts, some))

    def weigh_alone(share: float) -> float:
        return float(held_out.frequency @ np.log(_mix(share, zipf, known.frequency)))

    return discounts, share, max(_SHARES.tolist(), key=weigh_alone)


def _discount(counts: Floats, discounts: Floats) -> Floats:
    """Return counts less what is subtracted from them."""
    return np.maximum(counts - discounts[np.clip(counts.astype(np.int64) - 1, 0, 2)], 0.0)


def _mix(share: float, zipf: Floats, counted: Floats) -> Floats:
    return share * zipf + (1.0 - share) * counted


class OutputLikelihoods:
    """The probability of a visible symbol for each hidden symbol of its class, at one eps.

    A replaced word becomes a word of its group, as the verified tables say; at eps = 0, it becomes the representative.
    Everything else stays as it is. So a visible stopword may have been kept, or it may replace another word.

    classes: the only classes that `find` will be asked about; by default all. certain: of each symbol, whether it can
    only stand for itself.
    """

    def __init__(
        self, alphabet: Alphabet, epsilon: float, calibration: str = "paper", classes: Numbers | None = None
    ) -> None:
        mapping = alphabet.mapping
        self._alphabet = alphabet
        self._drawn = np.append(alphabet.drawn, False)  # filled up, as rows of symbols are
        self._weights: Weights | None = None
        self.certain: Flags = ~alphabet.drawn
        if epsilon > 0.0:
            sizes, scores, self._starts = mapping.sizes, mapping.scores, mapping.score_starts
            if classes is not None:
                groups = np.unique(classes[classes < len(sizes)])  # all other classes are single symbols
                starts, sizes = self._starts[groups], sizes[groups]
                scores = scores[spread_out(starts, sizes**2)]
                self._starts = np.full(len(mapping.sizes), -1)
                self._starts[groups] = np.cumsum(sizes**2) - sizes**2
            self._weights = certify(sizes, scores, epsilon, calibration).weights
            self.certain &= np.bincount(alphabet.classes, alphabet.drawn)[alphabet.classes] == 0.0

    def find(self, visible: Numbers) -> Floats:
        """Return a row for each visible symbol, with a column per symbol of its class, filled up with zeros."""
        alphabet = self._alphabet
        classes = alphabet.classes[visible]
        hidden = alphabet.list_symbols(classes)
        found = self._drawn[hidden].astype(np.float64)
        rows, columns = found.nonzero()
        if self._weights is None:
            found[rows, columns] = alphabet.representatives[hidden[rows, columns]] == visible[rows]
        else:
            groups = classes[rows]  # only words of groups are drawn
            places = visible[rows] - alphabet.firsts[groups]
            assert not len(groups) or self._starts[groups].min() >= 0
            cells = self._starts[groups] + columns * alphabet.sizes[groups] + places
            found[rows, columns] = self._weights[cells] / 2.0**64
        kept = (~alphabet.drawn[visible]).nonzero()[0]
        found[kept, visible[kept] - alphabet.firsts[classes[kept]]] = 1.0
        return found


def find_posteriors(
    model: BigramModel, likelihoods: OutputLikelihoods, visible: Numbers
) -> Iterator[tuple[Places, Floats]]:
    """Yield places of a visible sequence, and the posterior probability of each word of the class at each of them.

    This is the forward-backward algorithm. A certain symbol separates what is before it from what is behind it, so the
    runs between two of them are independent. Runs of similar lengths are worked on together, step by step. The first
    and the last symbol must be certain.
    """
    certain = likelihoods.certain[visible]
    begins = (certain[:-1] & ~certain[1:]).nonzero()[0]
    lengths = (~certain[:-1] & certain[1:]).nonzero()[0] - begins
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = begins[order], lengths[order]
    for some in cut((lengths + 1) * model.alphabet.width, _CELLS):
        places = spread_out(begins[some] + 1, lengths[some])
        yield places, _pass_runs(model, visible, begins[some], lengths[some], likelihoods.find(visible[places]))


def _pass_runs(model: BigramModel, visible: Numbers, begins: Places, lengths: Places, likelihoods: Floats) -> Floats:
    """Return the posteriors in runs of hidden words between certain symbols, a row per place; the longest run first.

    begins, lengths: the certain symbol before each run, and the number of its places. likelihoods: a row per place.
    """
    before, classes = spread_out(begins, lengths + 1), model.alphabet.classes  # a run has one step more than places
    known = model.find_steps(classes[visible[before]], classes[visible[before + 1]])
    marks, column_of = np.eye(model.alphabet.width), model.alphabet.columns

    def carry(give: Floats, take: Floats, sources: Numbers, targets: Numbers, state: Floats, steps: Places) -> Floats:
        """Return the weights of the words on one side of some steps, from those on the other side."""
        counts = known.counts[steps]
        seen = spread_out(known.firsts[steps], counts)
        rows = np.arange(0, state.size, state.shape[1]).repeat(counts)
        moved = np.bincount(rows + targets[seen], state.take(rows + sources[seen]) * model.values[seen], state.size)
        novel: Floats = np.einsum("ij,ij->i", state, give[steps])[:, None] * take[steps]
        return novel + moved.reshape(state.shape)

    go_on = partial(carry, known.spare, known.novel, model.lefts, model.rights)
    go_back = partial(carry, known.novel, known.spare, model.rights, model.lefts)
    firsts = np.cumsum(lengths) - lengths  # the first place of each run
    first_steps, longest = firsts + np.arange(len(lengths)), int(lengths[0])
    active = np.searchsorted(-lengths, -np.arange(longest + 1), "right")  # runs of at least each length
    found, state = np.empty_like(likelihoods), marks[column_of[visible[begins]]]
    for step in range(longest):
        count = int(active[step + 1])
        places = firsts[:count] + step
        state = go_on(state[:count], first_steps[:count] + step) * likelihoods[places]
        state /= state.sum(axis=1, keepdims=True)
        found[places] = state
    behind, state = marks[column_of[visible[begins + lengths + 1]]], state[:0]
    for step in range(longest, 0, -1):
        count = int(active[step])
        state = go_back(np.append(state, behind[len(state) : count], axis=0), first_steps[:count] + step)
        places = firsts[:count] + step - 1
        found[places] *= state
        state *= likelihoods[places]
        state /= state.sum(axis=1, keepdims=True)
    found /= found.sum(axis=1, keepdims=True)
    return found


def learn_bigrams(alphabet: Alphabet, column: TextColumn) -> BigramModel:
    """Return a bigram model of public texts."""
    parts = [np.array([alphabet.end])]
    parts += [alphabet.read(block).symbols[1:] for _, block in split_column(column)]
    return BigramModel(alphabet, np.concatenate(parts))


def count_context_guesses(
    model: BigramModel,
    sampler: Mechanism,
    column: TextColumn,
    epsilon: float,
    seed: int,
    progress: ShareDone = lambda share: None,
) -> Counter[str]:
    """Sanitize texts, guess the replaced words, and count them.

    words; in_clear: those that stay in the clear; replaced; guessed: replaced words that are guessed with context;
    guessed_singly: from one output alone; texts: those with replaced words; texts_complete: those of which all replaced
    words are guessed.

    sampler: of one of CusText's own mechanisms; replacements are those of a `Trial` with this seed. The attacker is
    told which random words and digits stand for unknown words and numbers, and nothing else that the output does not
    show.
    """
    assert isinstance(sampler, Sampler)
    alphabet, counts, draws = model.alphabet, Counter[str](), open_draws(seed)
    likelihoods = OutputLikelihoods(alphabet, epsilon, sampler.calibration)
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
        counts.update(
            words=len(read.words.kinds),
            in_clear=count_in_clear(read.words, alphabet.replacer.policy),
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
