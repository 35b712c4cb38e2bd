"""What happened in each of some texts: words by kind, characters in the clear, eps spent."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from custext_sql.arrays import Floats, Hashes, Numbers, Places
from custext_sql.kinds import Kind
from custext_sql.replacing.record_log import DRAWN, Drawn, no_draws


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts for each of some new texts."""

    by_kind: Numbers  # words of each kind
    unchanged: Numbers  # replaced words that drew themselves
    texts_unchanged: Numbers  # 1 if the text has words, and all of them came out as they went in, apart from case
    characters_in_clear: Numbers  # of words that were kept
    symbols: Numbers  # characters of the new texts that are neither words, spaces nor punctuation
    spent: Floats
    unknown_texts: Places  # the index of the text of each unknown word that was kept
    unknown_hashes: Hashes  # the hash of each of these words, folded
    drawn: Drawn = field(default_factory=no_draws)  # what a key drew, in any order; without texts that spend nothing

    def __getitem__(self, texts: slice) -> "Counts":
        """Return the counts of some consecutive texts, without what a key drew."""
        first, last, _ = texts.indices(len(self.spent))
        within = (self.unknown_texts >= first) & (self.unknown_texts < last)
        return Counts(
            self.by_kind[texts],
            self.unchanged[texts],
            self.texts_unchanged[texts],
            self.characters_in_clear[texts],
            self.symbols[texts],
            self.spent[texts],
            self.unknown_texts[within] - first,
            self.unknown_hashes[within],
        )

    def with_digests(self, records: Hashes, texts: Hashes) -> "Counts":
        """Return the counts with the digests of the record and of the text of each row, as far as it spent anything."""
        words = self.by_kind[:, Kind.REPLACED]
        some = ((words > 0) & (self.spent > 0)).nonzero()[0]
        drawn = np.empty(len(some), dtype=DRAWN)
        drawn["record"], drawn["text"], drawn["words"] = records.take(some), texts.take(some), words.take(some)
        return replace(self, drawn=drawn)

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of texts that are pairwise counted as one, such as the columns of a row."""
        return Counts(
            self.by_kind + other.by_kind,
            self.unchanged + other.unchanged,
            self.texts_unchanged + other.texts_unchanged,
            self.characters_in_clear + other.characters_in_clear,
            self.symbols + other.symbols,
            self.spent + other.spent,
            np.concatenate([self.unknown_texts, other.unknown_texts]),
            np.concatenate([self.unknown_hashes, other.unknown_hashes]),
            np.concatenate([self.drawn, other.drawn]),
        )


def join_counts(parts: Sequence[Counts]) -> Counts:
    """Return the counts of the texts of all parts, one after the other."""
    none = np.zeros(0, dtype=np.int64)
    firsts = np.cumsum([0, *(len(part.spent) for part in parts)])
    return Counts(
        np.concatenate([np.zeros((0, len(Kind)), dtype=np.int64), *(part.by_kind for part in parts)]),
        np.concatenate([none, *(part.unchanged for part in parts)]),
        np.concatenate([none, *(part.texts_unchanged for part in parts)]),
        np.concatenate([none, *(part.characters_in_clear for part in parts)]),
        np.concatenate([none, *(part.symbols for part in parts)]),
        np.concatenate([np.zeros(0), *(part.spent for part in parts)]),
        np.concatenate([none, *(part.unknown_texts + first for part, first in zip(parts, firsts, strict=False))]),
        np.concatenate([np.zeros(0, dtype=np.uint64), *(part.unknown_hashes for part in parts)]),
        np.concatenate([no_draws(), *(part.drawn for part in parts)]),
    )
