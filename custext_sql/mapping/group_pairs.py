"""Pairs of groups, and how to choose pairs that share nothing."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Numbers, Places


@dataclass(frozen=True)
class Pairs:
    """Pairs of groups between which words may be swapped.

    first, second: the groups of each pair. others: a row for each group, with the groups it is paired with, then
    itself. forth, back: where the first group of a pair has the second one in `others`, counted through all rows, and
    vice versa.
    """

    first: Places
    second: Places
    others: Places
    forth: Places
    back: Places

    @classmethod
    def of(cls, first: Places, second: Places, groups: int) -> "Pairs":
        """Return the pairs of these groups, out of so many."""
        ends = np.concatenate([first, second])
        ranks = ranks_within(ends, np.zeros(len(ends), dtype=np.int64))
        others = np.repeat(np.arange(groups)[:, None], ranks.max(initial=-1) + 2, axis=1)
        others[ends, ranks] = np.concatenate([second, first])
        forth, back = (ends * others.shape[1] + ranks).reshape(2, -1)
        return cls(first, second, others, forth, back)


def ranks_within(groups: Places, keys: Numbers) -> Places:
    """Return the position of each entry among those of its group, by key and then by position."""
    order = np.lexsort((keys, groups))
    firsts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(firsts, np.diff(firsts, append=len(groups)))
    return ranks


def choose_disjoint(left: Places, right: Places, count: int) -> Places:
    """Return the positions of pairs that share no number below `count`, the first pairs first."""
    waiting = np.arange(len(left))
    chosen: list[Places] = []
    while len(waiting):
        firsts = np.full(count, len(left))
        np.minimum.at(firsts, left[waiting], waiting)
        np.minimum.at(firsts, right[waiting], waiting)
        wins = (firsts[left[waiting]] == waiting) & (firsts[right[waiting]] == waiting)
        chosen.append(waiting[wins])
        used = np.zeros(count, dtype=bool)
        used[left[chosen[-1]]] = used[right[chosen[-1]]] = True
        waiting = waiting[~(used[left[waiting]] | used[right[waiting]])]
    return np.concatenate(chosen) if chosen else waiting
