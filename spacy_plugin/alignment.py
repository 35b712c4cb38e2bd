"""Finds the tokens of an original Doc in a new Doc that is split into different tokens."""

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.tokens import Doc

from spacy_plugin.new_text import Flags, NewText, Places

_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3  # values of ENT_IOB


@dataclass(frozen=True, eq=False)
class Alignment:
    """Moves annotations from original tokens to new ones.

    firsts, lasts: the first new token of each original one, and the one after the last. origins: an original token of
    each new one. joined: which original tokens begin within a replaced word or unit.
    """

    firsts: Places
    lasts: Places
    origins: Places
    joined: Flags

    @classmethod
    def by_characters(cls, text: NewText, new: Doc) -> "Alignment":
        """Return the alignment in which tokens that share characters belong together, as do those of a word."""
        begins, ends = text.in_characters()
        new_starts, lengths = new.to_array([IDX, LENGTH]).astype(np.int64).T
        return cls(
            firsts=(new_starts + lengths).searchsorted(begins, side="right"),
            lasts=new_starts.searchsorted(ends, side="left"),
            origins=ends.searchsorted(new_starts, side="right").clip(max=len(ends) - 1),
            joined=text.joined,
        )

    @classmethod
    def by_words(cls, text: NewText) -> "Alignment":
        """Return the alignment in which the tokens of a replaced word are one new token, and any other token is one."""
        joined = text.joined
        places = np.cumsum(~joined) - 1
        return cls(firsts=places, lasts=places + 1, origins=np.flatnonzero(~joined), joined=joined)

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end, among the new tokens, of the original tokens from start to end."""
        if start == end:
            place = int(self.firsts[start]) if start < len(self.firsts) else len(self.origins)
            return place, place
        return int(self.firsts[start]), int(self.lasts[end - 1])

    def move_sentences(self, starts: Places) -> Places:
        """Return for each new token whether it begins a sentence: 1 if it does, -1 if not, 0 if unknown.

        A sentence that begins within a word or unit becomes part of the one before.
        """
        moved = np.full(len(self.origins), -1 if starts.all() else 0)
        for value in (-1, 1):
            places = self.firsts[(starts == value) & ~self.joined]
            moved[places[places < len(moved)]] = value  # the last one may be a space, which is no longer a token
        return moved

    def move_entities(self, tags: Places, labels: Places) -> tuple[Places, Places, Places]:
        """Return ENT_IOB and ENT_TYPE of the new tokens, and the original tokens that these were taken from.

        If two entities share a token, the first one gets it.
        """
        moved = np.where((tags == _INSIDE) | (tags == _BEGIN), _OUTSIDE, tags)[self.origins]
        moved_labels, sources = np.zeros_like(labels, shape=len(moved)), self.origins.copy()
        begins = np.flatnonzero(tags == _BEGIN)
        others = np.append(np.flatnonzero(tags != _INSIDE), len(tags))
        ends = others[others.searchsorted(begins, side="right")]
        free = 0
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            first, last = self.find_span(begin, end)
            first = max(first, free)
            if first < last:
                moved[first:last] = _INSIDE if labels[begin] else _BEGIN  # no label: a token blocked from entities
                moved[first] = _BEGIN
                moved_labels[first:last], sources[first:last] = labels[begin], begin
                free = last
        return moved, moved_labels, sources
