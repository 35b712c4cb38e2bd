"""Replaces the words of a block of texts by draws, and writes the new texts: everything else stays, byte for byte."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from custext_sql.arrays import Bytes, Draws, Flags, Floats, Hashes, Numbers, Places
from custext_sql.errors import SettingError, tell_arrow_type
from custext_sql.kinds import Fate, Kind
from custext_sql.mechanism.randomness import DIGITS, WORDS, Randomness
from custext_sql.mechanism.weights import LARGEST_EPSILON, SMALLEST_EPSILON, check_epsilon
from custext_sql.sanitizer.policy import UNIT_MASKS, Policy
from custext_sql.sanitizer.tally import CLEAR, COLUMNS, SYMBOLS, TEXT_UNCHANGED, UNCHANGED, Counts
from custext_sql.sanitizer.words import FoundWords, Vocabulary, find_words
from custext_sql.text.characters import LOWER, TITLE, UPPER
from custext_sql.text.encoded_text import (
    EncodedText,
    drop_invisible,
    find_distinct,
    hash_spans,
    join_lines,
    join_texts,
    split_lines,
    spread_out,
)
from custext_sql.text.word_boundaries import find_cases, find_symbols, fold_word

Arrow = pa.Array | pa.ChunkedArray
Epsilon = float | Sequence[float] | Floats
Plus = bool | Sequence[bool] | Flags

_FEW = 1000  # strings


@dataclass(frozen=True)
class RowSettings:
    """The privacy budget per word, and whether stopwords are kept; for all rows of a block or for each."""

    epsilon: float | Floats
    plus: bool | Flags

    @classmethod
    def of(cls, epsilon: Any, plus: Any, rows: int) -> "RowSettings":
        """Return the settings of `rows` rows. Raise SettingError if a value is invalid or their number is wrong."""
        epsilon, plus = _read_values(epsilon, "eps"), _read_values(plus, "plus")
        return cls(_check_epsilons(epsilon, rows), _check_plus(plus, rows))

    def at(self, rows: slice) -> "RowSettings":
        """Return the settings of some rows."""
        return RowSettings(
            self.epsilon[rows] if isinstance(self.epsilon, np.ndarray) else self.epsilon,
            self.plus[rows] if isinstance(self.plus, np.ndarray) else self.plus,
        )


def check_count(what: str, found: int, rows: int, *, dimensions: int = 1) -> None:
    """Raise SettingError unless there is one value per row."""
    if dimensions != 1:
        raise SettingError(f"{what} must have one value per text; found an array of {dimensions} dimensions")
    if found != rows:
        raise SettingError(f"{what} must have one value per text, {rows:,} in all; found {found:,}")


def _check_epsilons(epsilon: Any, rows: int) -> float | Floats:
    if np.ndim(epsilon) == 0:
        return check_epsilon(epsilon)
    try:
        values = np.asarray(epsilon)
        if values.dtype == np.bool_:
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise SettingError("eps must be a number, or one number per text; found something else") from None
    check_count("eps", len(values), rows, dimensions=values.ndim)
    wrong = (values != 0) & ~((values >= SMALLEST_EPSILON) & (values <= LARGEST_EPSILON))
    if wrong.any():
        check_epsilon(float(values[wrong][0]))  # says what is wrong
    return abs(float(values[0])) if len(values) and (values == values[0]).all() else values


def _check_plus(plus: Any, rows: int) -> bool | Flags:
    values = np.asarray(plus)
    if values.dtype != np.bool_:
        wrong = (type(value).__name__ for value in values.ravel().tolist() if not isinstance(value, bool))
        raise SettingError(f"plus must be a bool, or one bool per text; found {next(wrong, 'an empty list')}")
    if values.ndim == 0:
        return bool(values)
    check_count("plus", len(values), rows, dimensions=values.ndim)
    return bool(values[0]) if len(values) and (values == values[0]).all() else values


def _read_values(values: Any, name: str) -> Any:
    """Return Arrow data of eps or plus as a Python value or a NumPy array, and anything else as it is.

    A decimal number becomes the float closest to it, as in SQL; Arrow's own conversion of 0.3 gives another float.
    """
    is_scalar, is_column = isinstance(values, pa.Scalar), isinstance(values, Arrow)
    if (is_scalar and not values.is_valid) or (is_column and values.null_count):
        raise SettingError(f"{name} must not be NULL: the text of its row would be lost")
    if not is_column:
        return values.as_py() if is_scalar else values
    kind = values.type
    if name == "plus":
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise SettingError(f"plus must be true or false; found a column of {tell_arrow_type(kind)}")
        return np.asarray(values.cast(pa.bool_()))
    if pa.types.is_decimal(kind):
        import pyarrow.compute as pc  # here, because it is slow to load

        if kind.bit_width < 128:  # Arrow cannot find the distinct values of these types
            values = values.cast(pa.decimal128(38, kind.scale))
        distinct = pc.unique(values)
        floats = np.array([float(number) for number in distinct.to_pylist()], dtype=np.float64)
        return floats[np.asarray(pc.index_in(values, distinct))]
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise SettingError(f"eps must be numbers; found a column of {tell_arrow_type(kind)}")
    return np.asarray(values.cast(pa.float64(), safe=False))


class Rewriting:
    """Texts end to end, cut into pieces at word boundaries, and the string to write for each piece.

    Strings have numbers: first the pieces themselves (alternately the text between words and a word), then the strings
    that are added.
    """

    def __init__(self, text: Bytes, starts: Places, ends: Places) -> None:
        cuts = np.empty(2 * len(starts) + 2, dtype=np.int64)
        cuts[0], cuts[1:-1:2], cuts[2:-1:2], cuts[-1] = 0, starts, ends, len(text)
        self._cuts = cuts
        self._chosen = np.arange(len(cuts) - 1)
        self._texts = [text]
        self._bounds = [cuts]
        self._size, self._count = len(text), len(self._chosen)

    def add(self, text: Bytes, offsets: Places) -> int:
        """Add strings, given end to end, and return the number of the first."""
        first = self._count
        self._texts.append(text)
        self._bounds.append(offsets[1:] + self._size)
        self._size, self._count = self._size + len(text), first + len(offsets) - 1
        return first

    def replace(self, words: Places, strings: Places | int) -> None:
        """Set the string, by number, to write for each of these words."""
        self._chosen[2 * words + 1] = strings

    def keep(self, words: Places) -> None:
        """Undo the replacement of these words."""
        self._chosen[2 * words + 1] = 2 * words + 1

    def find_kept(self) -> Flags:
        """Return for each word whether it is kept."""
        kept: Flags = self._chosen[1::2] == np.arange(1, len(self._chosen), 2)
        return kept

    def write(self, offsets: Places) -> tuple[Bytes, Places, Places]:
        """Return the new texts, where each begins and ends, and where their pieces do. offsets: of the old texts."""
        new_text, new_cuts = (self._copy if len(self._chosen) <= _FEW else self._take)()
        pieces = self._cuts.searchsorted(offsets, "right") - 1
        beyond = offsets - self._cuts.take(pieces)
        new_offsets = new_cuts.take(pieces) + beyond
        within = ((pieces & 1 == 1) & (beyond > 0)).nonzero()[0]  # of a unit that spans several tokens
        within = within[self._chosen[pieces[within]] != pieces[within]]
        new_offsets[within] = new_cuts[pieces[within] + 1]  # the first of them gets the mask
        return new_text, new_offsets, new_cuts

    def _take(self) -> tuple[Bytes, Places]:
        """Return the chosen strings end to end, and where each begins and ends."""
        bounds, text = pa.py_buffer(_join(self._bounds)), pa.py_buffer(_join(self._texts))
        strings = pa.LargeBinaryArray.from_buffers(pa.large_binary(), self._count, [None, bounds, text])
        chosen = pa.Array.from_buffers(pa.int64(), len(self._chosen), [None, pa.py_buffer(self._chosen)])
        _, new_bounds, content = strings.take(chosen).buffers()
        new_cuts = np.frombuffer(new_bounds, dtype=np.int64)
        return np.frombuffer(content or b"", dtype=np.uint8)[: new_cuts[-1]], new_cuts

    def _copy(self) -> tuple[Bytes, Places]:
        """Return the same without Arrow's functions, which take longer to load than few strings to copy."""
        bounds = np.concatenate(self._bounds)
        lengths = bounds[self._chosen + 1] - bounds[self._chosen]
        places = spread_out(bounds[self._chosen], lengths)
        return np.concatenate(self._texts).take(places), np.append(0, np.cumsum(lengths))


def _join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays end to end. Unlike `concatenate`, this lets other threads run."""
    joined = np.empty(sum(map(len, arrays)), dtype=arrays[0].dtype)
    start = 0
    for array in arrays:
        joined[start : start + len(array)] = array
        start += len(array)
    return joined


class Mechanism(Protocol):
    """Draws a replacement for a word. Releases use `Sampler`, which draws from verified tables.

    Others exist only for comparison.
    """

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word, by number. epsilon: one or one per word. draws: uniform 64-bit."""
        ...


@dataclass(frozen=True, eq=False)
class Replaced:
    """A block of new texts, and the old texts and words that it was made from."""

    text: Bytes
    offsets: Places  # of rows, or of tokens
    cuts: Places  # of the new text: its start, the start and end of each word, and its end
    before: EncodedText
    words: FoundWords
    kept: Flags  # which words were kept
    unchanged: Places  # replaced words that drew themselves
    epsilon: float | Floats  # of each word

    def count(self) -> Counts:
        """Return the counts of each text."""
        found, count = self.words, len(self.words.offsets) - 1
        text_of = found.rows
        in_clear = self.before.count_characters(found.starts[self.kept], found.ends[self.kept])
        numbers = np.bincount(text_of * COLUMNS + found.kinds, minlength=count * COLUMNS).reshape(count, COLUMNS)
        if isinstance(self.epsilon, float):
            spent: Floats = numbers[:, Kind.REPLACED].astype(np.float64) * self.epsilon
        else:
            replaced = found.at(Kind.REPLACED)
            spent = np.bincount(text_of[replaced], self.epsilon[replaced], count).astype(np.float64)
        symbols = find_symbols(self.before, found.starts, found.ends)
        unknown = (Kind.UNKNOWN.find_in(found.kinds) & self.kept).nonzero()[0]
        kept_in, unchanged = text_of[self.kept], np.bincount(text_of[self.unchanged], minlength=count)
        staying = unchanged + np.bincount(np.append(kept_in, text_of[self._find_same_numbers()]), minlength=count)
        words = np.einsum("ij->i", numbers)  # the other columns are still 0
        numbers[:, TEXT_UNCHANGED] = (staying == words) & (staying > 0)
        numbers[:, UNCHANGED] = unchanged
        numbers[:, CLEAR] = np.bincount(kept_in, in_clear, minlength=count)
        numbers[:, SYMBOLS] = np.bincount(found.offsets.searchsorted(symbols, "right") - 1, minlength=count)
        hashes = _hash_words(self.before, found.starts[unknown], found.ends[unknown])
        return Counts(numbers, spent, text_of[unknown], hashes)

    def _find_same_numbers(self) -> Places:
        """Return the words that are numbers and came out unchanged, although their digits were drawn."""
        numbers: Places = (Kind.NUMBER.find_in(self.words.kinds) & ~self.kept).nonzero()[0]
        lengths = self.words.ends[numbers] - self.words.starts[numbers]
        alike = lengths == self.cuts[2 * numbers + 2] - self.cuts[2 * numbers + 1]
        numbers, lengths = numbers[alike], lengths[alike]
        if not len(numbers):
            return numbers
        old = self.before.content[spread_out(self.words.starts[numbers], lengths)]
        new = self.text[spread_out(self.cuts[2 * numbers + 1], lengths)]
        same: Places = numbers[np.logical_and.reduceat(old == new, np.cumsum(lengths) - lengths)]
        return same


def _hash_words(text: EncodedText, starts: Places, ends: Places) -> Hashes:
    """Return a hash of each word; words with the same folded form have the same hash."""
    if text.wide is None or not len(starts):
        return hash_spans(text.lowered, starts, ends)
    spans = find_distinct(text.lowered, starts, ends)
    folded, offsets = split_lines(fold_word(join_lines(spans.content, spans.offsets[:-1], spans.offsets[1:])))
    return hash_spans(folded.lowered, offsets[:-1], offsets[1:]).take(spans.numbers)


@dataclass(frozen=True)
class Replacer:
    """Replaces words by words of their group, and treats other words by a policy."""

    vocabulary: Vocabulary
    mechanism: Mechanism
    policy: Policy

    def open_text(self, text: Bytes, offsets: Places, texts: Places | None = None) -> tuple[EncodedText, Places]:
        """Return a block without the characters that the policy drops, and its new offsets.

        texts: where each text begins and ends, if `offsets` are those of tokens.
        """
        encoded = EncodedText(text)
        if self.policy.invisible == "keep":
            return encoded, offsets
        return drop_invisible(encoded, offsets, offsets if texts is None else texts)

    def find_words(self, text: EncodedText, offsets: Places, *, plus: bool | Flags, units: bool = True) -> FoundWords:
        """Return the words of a block. units: whether to find units, if the policy masks them."""
        units = units and self.policy.units == "mask"
        return find_words(text, offsets, self.vocabulary, plus=plus, units=units)

    def find_number(self, word: str) -> int | None:
        """Return the number of a word of the mapping, in any spelling that is found in texts; None if it is not one."""
        content = np.frombuffer(word.encode(errors="replace"), dtype=np.uint8)
        text, offsets = self.open_text(content, np.array([0, len(content)]))
        found = self.find_words(text, offsets, plus=False, units=False)
        is_whole = len(found.numbers) == 1 and found.ends[0] - found.starts[0] == len(text.content)
        number = int(found.numbers[0]) if is_whole else -1
        return number if 0 <= number < self.vocabulary.size else None

    def replace_words(self, text: Bytes, offsets: Places, randomness: Randomness, settings: RowSettings) -> Replaced:
        """Return the new texts of a block. Between words, only the characters that the policy drops are missing."""
        encoded, offsets = self.open_text(text, offsets)
        found = self.find_words(encoded, offsets, plus=settings.plus)
        epsilon = settings.epsilon
        return self.replace_found(
            encoded, found, randomness, epsilon[found.rows] if isinstance(epsilon, np.ndarray) else epsilon, offsets
        )

    def replace_found(
        self, text: EncodedText, found: FoundWords, randomness: Randomness, epsilon: float | Floats, offsets: Places
    ) -> Replaced:
        """Return the new texts of a block whose words are found.

        epsilon: one, or one per word, NaN for words that stay. offsets: of rows or tokens, which the result then has
        too.
        """
        rewriting = Rewriting(text.content, found.starts, found.ends)
        stays = np.isnan(epsilon) if isinstance(epsilon, np.ndarray) else None
        if stays is not None:
            epsilon = np.where(stays, 0.0, epsilon)
        spell = _Speller(self.vocabulary, rewriting, text, found, match_case=self.policy.case == "match")
        replaced = found.at(Kind.REPLACED)
        words = found.numbers.take(replaced).astype(np.int64)
        per_word = epsilon.take(replaced) if isinstance(epsilon, np.ndarray) else epsilon
        plus = found.plus.take(replaced) if isinstance(found.plus, np.ndarray) else found.plus
        drawn = self._choose(
            words, per_word, plus, lambda some: randomness.draw(replaced[some], found.find_firsts, WORDS)
        )
        spell.write(replaced, drawn)
        for kind, treatment in self.policy.treatments.items():
            if treatment.fate is Fate.MASKED and kind is not Kind.UNIT and len(masked := found.at(kind)):
                rewriting.replace(masked, rewriting.add(*join_texts([treatment.becomes])))
        if found.unit_types is not None:
            rewriting.replace(found.at(Kind.UNIT), rewriting.add(*join_texts(UNIT_MASKS)) + found.unit_types)
        if self.policy.unknown == "random":
            unknown = found.at(Kind.UNKNOWN)
            spell.write(unknown, _below(self.vocabulary.size, randomness.draw(unknown, found.find_firsts, WORDS)))
        if self.policy.numbers == "shape" and len(numbers := found.at(Kind.NUMBER)):
            lengths = text.count_characters(found.starts[numbers], found.ends[numbers])
            digits = _draw_digits(randomness, found, numbers, lengths) + ord("0")
            first = rewriting.add(digits.astype(np.uint8), np.append(0, np.cumsum(lengths)))
            rewriting.replace(numbers, first + np.arange(len(numbers)))
        unchanged = replaced[drawn == words]
        if stays is not None:
            rewriting.keep(stays.nonzero()[0])
            unchanged = unchanged[~stays[unchanged]]
            found = replace(found, kinds=np.where(stays, np.uint8(Kind.KEPT), found.kinds))
        written, offsets, cuts = rewriting.write(offsets)
        return Replaced(written, offsets, cuts, text, found, rewriting.find_kept(), unchanged, epsilon)

    def _choose(
        self, words: Numbers, epsilon: float | Floats, plus: bool | Flags, draw: Callable[[slice | Places], Draws]
    ) -> Numbers:
        """Return the replacement of each word, by number: at eps = 0 the representative of its group, else a draw.

        draw: returns draws for some of the words.
        """
        if isinstance(epsilon, float) and epsilon == 0.0:
            return self.vocabulary.generalize(words, plus)
        if isinstance(epsilon, float) or epsilon.all():
            return self.mechanism.sample(words, epsilon, draw(slice(None)))
        chosen, places = self.vocabulary.generalize(words, plus), epsilon.nonzero()[0]
        if len(places):
            chosen[places] = self.mechanism.sample(words[places], epsilon[places], draw(places))
        return chosen

    def count_replaced(self, text: Bytes, offsets: Places, *, plus: bool | Flags) -> Numbers:
        """Return how many words of each row would be replaced by a draw."""
        encoded, offsets = self.open_text(text, offsets)
        found = self.find_words(encoded, offsets, plus=plus)
        return np.bincount(found.rows.take(found.at(Kind.REPLACED)), minlength=len(offsets) - 1)


def _draw_digits(randomness: Randomness, found: FoundWords, numbers: Places, lengths: Places) -> Numbers:
    """Return a digit for each digit of all numbers in the texts. lengths: how many digits each of them has."""
    ends = np.append(0, np.cumsum(lengths))
    draws = randomness.draw(np.arange(ends[-1]), lambda: ends.take(numbers.searchsorted(found.find_firsts())), DIGITS)
    return _below(10, draws)


def _below(limit: int, draws: Draws) -> Numbers:
    """Return integers below a limit, uniform to within limit / 2**64."""
    return (draws % np.uint64(limit)).astype(np.int64)


class _Speller:
    """Writes replacements in lower case, or in the case of the words they replace."""

    def __init__(
        self, vocabulary: Vocabulary, rewriting: Rewriting, text: EncodedText, found: FoundWords, *, match_case: bool
    ) -> None:
        self._rewriting = rewriting
        self._cases = find_cases(text, found.starts, found.ends) if match_case else None
        cases = (LOWER, TITLE, UPPER) if match_case else (LOWER,)
        self._firsts = np.array([rewriting.add(*vocabulary.spell(case)) for case in cases])

    def write(self, places: Numbers, words: Numbers) -> None:
        firsts = self._firsts[0] if self._cases is None else self._firsts[self._cases[places]]
        self._rewriting.replace(places, firsts + words)
