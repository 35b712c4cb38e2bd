"""Finds the tokens of an original Doc in a new Doc that is split into different tokens."""

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.tokens import Doc

from spacy_plugin.new_text import NewText, Places

_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3  # values of ENT_IOB


class Alignment:
    """Moves annotations by character: a new token belongs to every original token with which it shares characters."""

    def __init__(self, text: NewText, new: Doc) -> None:
        starts, ends = text.in_characters()
        new_starts, lengths = new.to_array([IDX, LENGTH]).astype(np.int64).T
        self._size = len(new)
        self._first: Places = (new_starts + lengths).searchsorted(starts, side="right")
        self._last: Places = new_starts.searchsorted(ends, side="left")
        self._origins: Places = ends.searchsorted(new_starts, side="right").clip(max=len(ends) - 1)

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end, among the new tokens, of the original tokens from start to end."""
        if start == end:
            place = int(self._first[start]) if start < len(self._first) else self._size
            return place, place
        return int(self._first[start]), int(self._last[end - 1])

    def move_sentences(self, starts: Places) -> Places:
        """Return for each new token whether it begins a sentence: 1 if it does, -1 if not, 0 if unknown."""
        moved = np.full(self._size, -1 if starts.all() else 0)
        for value in (-1, 1):
            places = self._first[starts == value]
            moved[places[places < self._size]] = value  # the last one may be a space, which is no longer a token
        return moved

    def move_entities(self, tags: Places, labels: Places) -> tuple[Places, Places]:
        """Return ENT_IOB and ENT_TYPE of the new tokens. If two entities share a token, the first one gets it."""
        moved = np.where((tags == _INSIDE) | (tags == _BEGIN), _OUTSIDE, tags)[self._origins]
        moved_labels = np.zeros_like(labels, shape=self._size)
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
                moved_labels[first:last] = labels[begin]
                free = last
        return moved, moved_labels
