"""What a word of a text is: every word has one kind, which decides what becomes of it."""

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy takes a moment to import
    from custext_sql.arrays import Flags, Kinds


class Kind(IntEnum):
    """The kind of a word, which decides what becomes of it; in the order in which arrays count them.

    SAMPLED: in the mapping, drawn from its group. STOPWORD: kept by `plus`. NUMBER: digits only, not in the mapping.
    UNKNOWN: anything else. ENDING: English, behind an apostrophe. KEPT: somebody chose to leave it as it is. ALONE: the
    only word of its group that would be drawn, so that nothing could hide it; masked.
    """

    SAMPLED = 0
    STOPWORD = 1
    NUMBER = 2
    UNKNOWN = 3
    ENDING = 4
    KEPT = 5
    ALONE = 6

    def find_in(self, kinds: "Kinds") -> "Flags":
        """Return which words are of this kind. (Compared with the enum itself, NumPy widens the array first.)"""
        found: Flags = kinds == self.value
        return found
