"""What a word of a text is: every word has one kind, which decides what becomes of it."""

from enum import IntEnum

import numpy as np

from custext_sql.arrays import Flags, Kinds


class Kind(IntEnum):
    """The kinds of words, in the order in which arrays count them."""

    SAMPLED = 0  # in the mapping: drawn from its group
    STOPWORD = 1  # kept, where stopwords are
    NUMBER = 2  # digits only, and not in the mapping
    UNKNOWN = 3
    ENDING = 4  # an English one, behind an apostrophe
    KEPT = 5  # somebody chose to leave it as it is
    ALONE = 6  # no other word of its group is drawn, so nothing could hide it: masked

    def find_in(self, kinds: Kinds) -> Flags:
        """Return which words are of this kind. (Compared with the enum itself, NumPy widens the array first.)"""
        found: Flags = kinds == np.uint8(self)
        return found
