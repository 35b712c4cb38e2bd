"""Finds the words in a column of texts, and reads lists of words.

A word is a run of Unicode letters, digits, marks and underscores, joined by inner apostrophes, in any form that people
type. A mark that follows none of these is not part of a word. The texts of a column lie end to end in one buffer of
UTF-8, and all functions work on the whole buffer at once.
"""

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from custext_sql.arrays import Bytes, Flags, Numbers, Places
from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import check_path
from custext_sql.text.characters import (
    APOSTROPHE,
    APOSTROPHES,
    LOWER,
    MARK,
    OTHER,
    SYMBOL,
    TITLE,
    UPPER,
    WORD,
    decimal_digits,
    letter_cases,
)
from custext_sql.text.encoded_text import EncodedText, WideCharacters, begin_rows, drop_invisible, find_rows, join_texts
from custext_sql.text.utf8 import decode_lines

_LARGEST_LIST = 1 << 20  # bytes of a file of words
_PLAIN = str.maketrans(dict.fromkeys(APOSTROPHES, "'"))
_IS_CONTROL = np.array([(code < 32 or code == 127) and chr(code) not in "\t\n\v\f\r" for code in range(256)])


class Parts(NamedTuple):
    """Where runs of word characters begin and end. joined: the numbers of those joined to the next by an apostrophe."""

    starts: Places
    ends: Places
    joined: Places


def fold_word(word: str) -> str:
    """Return the form in which a word is stored and looked up: lower case, with ' for every apostrophe."""
    return word.lower().translate(_PLAIN)


def normalize_words(words: str) -> str:
    """Return folded words in NFKC, which gives equivalent spellings the same form. Newlines are preserved."""
    return unicodedata.normalize("NFKC", fold_word(unicodedata.normalize("NFKC", words.translate(_PLAIN))))


def find_parts(text: EncodedText, offsets: Places) -> Parts:
    """Return the parts of words in a buffer whose row i goes from offsets[i] to offsets[i + 1]."""
    is_word = _find_word_bytes(text, offsets)
    edges = (is_word[1:] != is_word[:-1]).nonzero()[0]  # alternately into a word and out of it
    inner = offsets[1:-1]
    touching = inner[is_word[inner] & is_word[inner + 1]]  # a word does not continue in the next row
    if len(touching):
        if (touching[1:] == touching[:-1]).any():  # an empty row between them
            touching = np.unique(touching)
        edges = np.sort(np.concatenate([edges, touching, touching]), kind="stable")  # fast for three sorted runs
    starts, ends = edges[0::2].copy(), edges[1::2].copy()
    inside = _between_words((text.lowered[: len(text.content)] == ord("'")).nonzero()[0], 1, is_word, offsets)
    if text.wide is not None:
        others = text.wide.at((text.wide.traits & APOSTROPHE) != 0)
        inside = np.sort(np.concatenate([inside, _between_words(others.leads, others.widths, is_word, offsets)]))
    return Parts(starts, ends, ends.searchsorted(inside))


def are_words(entries: Sequence[str]) -> Flags:
    """Return for each entry of an embedding whether it is a single word."""
    content, offsets = join_texts(entries)
    return find_single_words(EncodedText(content), offsets)


def find_single_words(text: EncodedText, offsets: Places) -> Flags:
    """Return for each row whether it is a single word and nothing else."""
    (starts, ends, joined), count = find_parts(text, offsets), len(offsets) - 1
    rows = find_rows(starts, offsets)
    words = np.bincount(rows, minlength=count) - np.bincount(rows[joined], minlength=count)
    covered = np.zeros(count, dtype=np.int64)
    np.add.at(covered, rows, ends - starts)
    np.add.at(covered, rows[joined], starts[joined + 1] - ends[joined])
    return np.asarray((words == 1) & (covered == np.diff(offsets)))


def split_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text, their parts beside apostrophes, and both in NFKC without invisible characters."""
    content, offsets = join_texts(texts)
    found = _split_words(text := EncodedText(content), offsets)
    if text.wide is not None:
        for words, seen in zip(found, _split_words(*drop_invisible(text, offsets, offsets)), strict=True):
            words += map(normalize_words, seen)
    return found


def _split_words(text: EncodedText, offsets: Places) -> list[list[str]]:
    content, parts = text.content, find_parts(text, offsets)
    found: list[list[str]] = [[] for _ in offsets[1:]]
    rows, joined = find_rows(parts.starts, offsets).tolist(), set(parts.joined.tolist())
    begin = 0
    for number, row in enumerate(rows):
        found[row].append(content[parts.starts[number] : parts.ends[number]].tobytes().decode())
        if number in joined:
            continue
        if begin < number:
            found[row].append(content[parts.starts[begin] : parts.ends[number]].tobytes().decode())
        begin = number + 1
    return found


def find_digits(text: EncodedText, starts: Places, ends: Places) -> Flags:
    """Return for each span whether it consists only of decimal digits, of any script."""
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


def find_symbols(text: EncodedText, starts: Places, ends: Places) -> Places:
    """Return the positions of characters that are not spaces or punctuation and not within the words at these spans."""
    content = text.content
    low = ((content < ord(" ")) | (content == 127)).nonzero()[0]
    controls: Places = low[_IS_CONTROL[content[low]]]
    if text.wide is None:
        return controls
    found = text.wide.leads[(text.wide.traits & (SYMBOL | OTHER)) != 0]
    marks = text.wide.leads[(text.wide.traits & MARK) != 0]
    if len(marks):
        word = starts.searchsorted(marks, "right") - 1
        stray = np.ones(len(marks), dtype=bool) if not len(starts) else (word < 0) | (marks >= ends[word])
        found = np.concatenate([found, marks[stray]])
    return np.sort(np.concatenate([controls, found]))


def find_cases(text: EncodedText, starts: Places, ends: Places) -> Numbers:
    """Return the case of each span: UPPER (two capitals or more, no small letter), TITLE (capital first), or LOWER."""
    written = letter_cases.find(np.arange(256) % 128).take(text.content)
    if text.wide is not None:
        text.wide.spread(np.zeros(len(text.wide.codes), dtype=np.int32), written)
        written[text.wide.leads] = letter_cases.find(text.wide.codes)
    capitals, small = text.count(written == UPPER, starts, ends), text.count(written == TITLE, starts, ends)
    title = np.where(written[starts] == UPPER, TITLE, LOWER)
    return np.where((capitals > 1) & (small == 0), UPPER, title)


def _find_word_bytes(text: EncodedText, offsets: Places) -> Flags:
    """Return for each byte whether its character belongs to a word, with one False added at either end."""
    size = len(text.content)
    found = np.zeros(size + 2, dtype=bool)
    inner = found[1:-1]
    np.logical_or(_in_range(text.lowered[:size], "a", "z"), _in_range(text.content, "0", "9"), out=inner)
    inner |= text.content == ord("_")
    if text.wide is not None:
        text.wide.spread((text.wide.traits & WORD) != 0, inner)
        _clear_stray_marks(text.wide, offsets, found)
    return found


def _clear_stray_marks(wide: WideCharacters, offsets: Places, is_word: Flags) -> None:
    """Clear the flags of marks that do not follow a word character of their row."""
    places = (wide.traits & MARK).nonzero()[0]
    if not len(places):
        return
    marks = wide.at(places)
    begins_row = begin_rows(marks.leads, offsets)
    follows = np.zeros(len(places), dtype=bool)  # directly after another mark
    follows[1:] = (marks.leads[:-1] + marks.widths[:-1] == marks.leads[1:]) & ~begins_row[1:]
    first = (~follows).nonzero()[0]
    on_word = is_word[marks.leads[first]] & ~begins_row[first]  # flags start one byte before the text
    stands = on_word[np.cumsum(~follows) - 1]
    stray = marks.at(~stands)
    stray.spread(np.zeros(len(stray.leads), dtype=bool), is_word[1:-1])


def _between_words(places: Places, widths: Places | int, is_word: Flags, offsets: Places) -> Places:
    """Return those of some characters that have word characters of their row on both sides."""
    after = places + widths
    inner = (is_word[places] & is_word[after + 1]).nonzero()[0]  # flags start one byte before the text
    places, after = places[inner], after[inner]
    within: Places = places[offsets.searchsorted(places - 1, "right") == offsets.searchsorted(after, "right")]
    return within


def _in_range(content: Bytes, first: str, last: str) -> Flags:
    return (content - np.uint8(ord(first))) <= np.uint8(ord(last) - ord(first))


@dataclass(frozen=True)
class WordList:
    """A list of words in any case. words: in lower case, as they are looked up."""

    words: frozenset[str]

    @classmethod
    def read(cls, words: Sequence[str]) -> "WordList":
        """Return the list of these words; a SettingError gives the position of an entry that is not a word."""
        if isinstance(words, str):
            raise SettingError("words must be a list of words; found a single string")
        wrong = [place for place, is_word in enumerate(are_words(words), start=1) if not is_word]
        if wrong:
            raise SettingError(f"each entry of words must be a single word; entry {wrong[0]} is not")
        return cls(frozenset(map(fold_word, words)) | frozenset(map(normalize_words, words)))

    def find_in(self, texts: Sequence[str]) -> Flags:
        """Return for each text whether it contains a listed word, also as part of a word with apostrophes."""
        found = [not self.words.isdisjoint(map(fold_word, words)) for words in split_words(texts)]
        return np.array(found, dtype=bool)


def read_word_file(path: str | os.PathLike[str]) -> list[str]:
    """Return the words in a UTF-8 file of one word per line; SourceError if it is something else. Skip empty lines."""
    check_path(path, "the file of words")
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_LIST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise SourceError(f"cannot read {str(path)!r}: {reason}") from None
    if len(content) > _LARGEST_LIST:
        raise SourceError(f"{path}: expected a short list of words, one per line; found more than 1 MB")
    lines = [line.strip() for line in decode_lines(content, str(path))] if content.strip() else []
    if not any(lines):
        raise SourceError(f"{path}: expected one word per line; found none")
    for number, (line, is_word) in enumerate(zip(lines, are_words(lines), strict=True), start=1):
        if line and not is_word:
            raise SourceError(f"{path}, line {number}: expected a single word; found something else")
    return [line for line in lines if line]
