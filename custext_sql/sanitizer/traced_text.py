"""Texts before and after, word by word: in pieces, or one with the place and the kind of each of its words."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from custext_sql.arrays import Bytes, Flags, Kinds, Places
from custext_sql.kinds import Kind
from custext_sql.sanitizer.replacer import Replaced
from custext_sql.sanitizer.tally import TEXT_UNCHANGED, Tally
from custext_sql.text.word_boundaries import normalize_words

_WIDE = 0x80  # the first byte of UTF-8 that is not ASCII


@dataclass(frozen=True)
class Piece:
    """A piece of a text before and after. kind: the kind of the word; None if the piece is not a word."""

    before: str
    after: str
    kind: Kind | None = None

    @property
    def in_clear(self) -> bool:
        """Whether the piece is a word that came out unchanged and was not replaced from its group."""
        return self.kind not in (None, Kind.REPLACED) and self.before == self.after

    @property
    def is_same(self) -> bool:
        """Whether the piece came out as it went in, apart from case and equivalent spellings."""
        return normalize_words(self.before) == normalize_words(self.after)


def list_pieces(replaced: Replaced) -> list[list[Piece]]:
    """Return each row in pieces, before and after: words, and the text between them. Slow for many rows."""
    old, new, found = replaced.before.content.tobytes(), replaced.text.tobytes(), replaced.words
    firsts = found.find_firsts().tolist()
    rows = []
    for row, (start, end) in enumerate(pairwise(found.offsets.tolist())):
        pieces, position = [], start
        for place in range(firsts[row], firsts[row + 1]):
            begin, finish = int(found.starts[place]), int(found.ends[place])
            between = old[position:begin].decode()
            after = new[replaced.cuts[2 * place + 1] : replaced.cuts[2 * place + 2]].decode()
            pieces += [Piece(between, between), Piece(old[begin:finish].decode(), after, Kind(found.kinds[place]))]
            position = finish
        rest = old[position:end].decode()
        rows.append([piece for piece in (*pieces, Piece(rest, rest)) if piece.before])
    return rows


@dataclass(frozen=True, eq=False)
class TracedText:
    """A text before and after, with the place and the kind of each of its words.

    Only `after` may be released. Everything else is as private as the original text, because it shows which words were
    replaced, and which were replaced by themselves.

    before: the original, without the characters that the policy drops. after: the sanitized text.
    starts, ends: where each word begins and ends in `before`, in characters. new_starts, new_ends: the same in `after`.
    kinds: the `Kind` of each word, as a number. unchanged: whether each word was replaced by itself. is_unchanged:
    whether the text came out unchanged, apart from case.
    tally: what was counted; `Sanitizer.receipt` makes a receipt of it.
    """

    before: str
    after: str
    starts: Places
    ends: Places
    new_starts: Places
    new_ends: Places
    kinds: Kinds
    unchanged: Flags
    is_unchanged: bool
    tally: Tally

    def list_outputs(self) -> list[str]:
        """Return what became of each word, in the order of the text."""
        return [
            self.after[start:end] for start, end in zip(self.new_starts.tolist(), self.new_ends.tolist(), strict=True)
        ]


def trace(replaced: Replaced) -> TracedText:
    """Return the text of a block that has only one."""
    found, old, cuts = replaced.words, replaced.before.content, replaced.cuts[1:-1]
    tally, counts = Tally(), replaced.count()
    tally.add(counts)
    unchanged = np.zeros(len(found.kinds), dtype=bool)
    unchanged[replaced.unchanged] = True
    return TracedText(
        before=old.tobytes().decode(),
        after=replaced.text.tobytes().decode(),
        starts=_count_characters(old, found.starts),
        ends=_count_characters(old, found.ends),
        new_starts=_count_characters(replaced.text, cuts[::2]),
        new_ends=_count_characters(replaced.text, cuts[1::2]),
        kinds=found.kinds,
        unchanged=unchanged,
        is_unchanged=bool(counts.numbers[0, TEXT_UNCHANGED]),
        tally=tally,
    )


def _count_characters(text: Bytes, places: Places) -> Places:
    """Return how many characters are before each place of a buffer of UTF-8."""
    if text.max(initial=0) < _WIDE:
        return places
    begins = (text & 0xC0) != _WIDE  # all bytes but those that continue a character
    return np.append(0, np.cumsum(begins))[places]
