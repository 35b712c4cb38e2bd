"""What a word is, and where words lie in a column of texts.

Words are runs of Unicode letters, digits, marks and underscores, joined by inner apostrophes (' and \u2019). The texts
of a column lie end to end in one buffer of UTF-8; all work is done on the whole buffer at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from custext_sql.characters import LOWER, TITLE, UPPER, decimal_digits, letter_cases, word_characters
from custext_sql.encoded_text import Bytes, EncodedText, Flags, Places, join_texts

_APOSTROPHE, _OTHER_APOSTROPHE = b"'", "\u2019".encode()


@dataclass(frozen=True)
class Parts:
    """Runs of word characters, in order: where each begins and ends in the buffer, and the row it lies in.

    joined: the numbers of those behind which a single apostrophe, of the same row, stands before the next.
    """

    starts: Places
    ends: Places
    rows: Places
    joined: Places


def fold_word(word: str) -> str:
    """The form in which a word is stored and looked up: lower case, with ' for the typographic apostrophe."""
    return word.lower().replace("\u2019", "'")


def find_parts(text: EncodedText, offsets: Places) -> Parts:
    """The parts of words in a buffer whose row i lies from offsets[i] to offsets[i + 1]."""
    is_word = _find_word_bytes(text)
    edges = (is_word[1:] != is_word[:-1]).nonzero()[0]  # into words and out of them, in turn
    inner = offsets[1:-1]
    touching = inner[is_word[inner] & is_word[inner + 1]]  # a word does not reach from one row into the next
    if len(touching):
        if (touching[1:] == touching[:-1]).any():  # an empty row between them
            touching = np.unique(touching)
        edges = np.sort(np.concatenate([edges, touching, touching]), kind="stable")  # quick, of three sorted runs
    starts, ends = edges[0::2].copy(), edges[1::2].copy()
    before = starts.searchsorted(offsets)
    rows = np.arange(len(offsets) - 1).repeat(before[1:] - before[:-1])
    return Parts(starts, ends, rows, _find_joined(text, starts, ends, rows))


def are_words(tokens: Sequence[str]) -> Flags:
    """For each token whether a text that consists of it alone is one word."""
    content, offsets = join_texts(tokens)
    text = EncodedText(content)
    parts = find_parts(text, offsets)
    joins = np.bincount(parts.rows[parts.joined], minlength=len(tokens))
    words = np.bincount(parts.rows, minlength=len(tokens)) - joins
    covered = np.zeros(len(tokens), dtype=np.int64)
    np.add.at(covered, parts.rows, parts.ends - parts.starts)
    np.add.at(covered, parts.rows[parts.joined], parts.starts[parts.joined + 1] - parts.ends[parts.joined])
    return np.asarray((words == 1) & (covered == np.diff(offsets)))


def find_digits(text: EncodedText, starts: Places, ends: Places) -> Flags:
    """For each span whether it consists of decimal digits only, of any script."""
    first = text.content.take(starts)
    found = _in_range(first, "0", "9") | (first >= 0x80)
    maybe = np.flatnonzero(found)
    if len(maybe):
        is_digit = _in_range(text.content, "0", "9")
        if text.wide is not None:
            text.wide.spread(decimal_digits.find(text.wide.codes), is_digit)
        begins, sizes = starts[maybe], ends[maybe] - starts[maybe]
        found[maybe] = text.count(is_digit, begins, ends[maybe]) == sizes
    return found


def find_cases(text: EncodedText, starts: Places, ends: Places) -> npt.NDArray[np.int64]:
    """How each span is written: UPPER with two capitals or more and no small letter, TITLE with a capital first."""
    written = letter_cases.find(np.arange(256) % 128).take(text.content)
    if text.wide is not None:
        text.wide.spread(np.zeros(len(text.wide.codes), dtype=np.int32), written)
        written[text.wide.leads] = letter_cases.find(text.wide.codes)
    capitals, small = text.count(written == UPPER, starts, ends), text.count(written == TITLE, starts, ends)
    title = np.where(written[starts] == UPPER, TITLE, LOWER)
    return np.where((capitals > 1) & (small == 0), UPPER, title)


def _find_word_bytes(text: EncodedText) -> Flags:
    """For each byte whether its character belongs to words; one byte more at either end, which does not."""
    size = len(text.content)
    found = np.zeros(size + 2, dtype=bool)
    inner = found[1:-1]
    np.logical_or(_in_range(text.lowered[:size], "a", "z"), _in_range(text.content, "0", "9"), out=inner)
    inner |= text.content == ord("_")
    if text.wide is not None:
        text.wide.spread(word_characters.find(text.wide.codes), inner)
    return found


def _find_joined(text: EncodedText, starts: Places, ends: Places, rows: Places) -> Places:
    """Which parts are joined to the next."""
    gaps = starts[1:] - ends[:-1]
    joined = ((gaps == 1) & (text.content.take(ends[:-1]) == ord(_APOSTROPHE))).nonzero()[0]
    if text.wide is not None:
        after = (gaps == len(_OTHER_APOSTROPHE)).nonzero()[0]
        for step, byte in enumerate(_OTHER_APOSTROPHE):
            after = after[text.content[ends[after] + step] == byte]
        if len(after):
            joined = np.sort(np.concatenate([joined, after]))
    same_row: Places = joined[rows[joined] == rows[joined + 1]]
    return same_row


def _in_range(content: Bytes, first: str, last: str) -> Flags:
    return (content - np.uint8(ord(first))) <= np.uint8(ord(last) - ord(first))
