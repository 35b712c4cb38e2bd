"""The kinds of words."""

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy takes a moment to import
    from custext_sql.arrays import Flags, Kinds


class Kind(IntEnum):
    """The kind of a word, which decides what happens to it. Arrays count kinds in this order.

    SAMPLED: in the mapping; replaced by a draw from its group. STOPWORD: kept because of `plus`. NUMBER: only digits,
    and not in the mapping. UNKNOWN: any other word that is not in the mapping. ENDING: an English ending after an
    apostrophe; kept. KEPT: not selected as sensitive, or listed as a word to keep; kept. ALONE: the only word of its
    group that would be replaced, so it would hide among none; masked. UNIT: an e-mail address, a number, a date or the
    like, which the policy masks as a whole.
    """

    SAMPLED = 0
    STOPWORD = 1
    NUMBER = 2
    UNKNOWN = 3
    ENDING = 4
    KEPT = 5
    ALONE = 6
    UNIT = 7

    def find_in(self, kinds: "Kinds") -> "Flags":
        """Return which words are of this kind."""
        # compared with the enum member itself, NumPy would widen the array
        found: Flags = kinds == self.value
        return found
