"""One text before and after, with the place and the kind of each of its words."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Bytes, Flags, Kinds, Places
from custext_sql.replacing.replacer import Replaced
from custext_sql.replacing.tally import Tally

_WIDE = 0x80  # the first byte of UTF-8 that is not ASCII


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
    tally = Tally()
    counts = replaced.count()
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
        is_unchanged=bool(counts.texts_unchanged[0]),
        tally=tally,
    )


def _count_characters(text: Bytes, places: Places) -> Places:
    """Return how many characters are before each place of a buffer of UTF-8."""
    if text.max(initial=0) < _WIDE:
        return places
    begins = (text & 0xC0) != _WIDE  # all bytes but those that continue a character
    return np.append(0, np.cumsum(begins))[places]
