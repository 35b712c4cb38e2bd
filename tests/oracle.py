"""A readable Algorithm 1 of the paper: float64, one pivot at a time. The fast grouping must give the same groups."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def euclidean(pivot: Floats, others: Floats) -> Floats:
    """Return squared distances, which have the same order."""
    return np.asarray(np.square(others - pivot).sum(axis=1))


def cosine(pivot: Floats, others: Floats) -> Floats:
    return euclidean(unit(pivot[None])[0], unit(others))


def unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True)))


def greedy_groups(
    vectors: npt.NDArray[np.floating],
    k: int,
    distance: Callable[[Floats, Floats], Floats],
    order: list[int] | None = None,
) -> list[list[int]]:
    """Return groups as lists of row numbers: the pivot first, then the others by distance; ties by row number."""
    rows = vectors.astype(np.float64)
    waiting = list(range(len(rows))) if order is None else list(order)
    groups: list[list[int]] = []
    while len(waiting) >= k:
        pivot, *others = waiting
        pool = sorted(others)
        far = distance(rows[pivot], rows[pool])
        nearest = sorted(range(len(pool)), key=lambda place: (far[place], pool[place]))[: k - 1]
        group = [pivot] + [pool[place] for place in nearest]
        groups.append(group)
        taken = set(group)
        waiting = [word for word in waiting if word not in taken]
    if len(waiting) == 1:
        far = np.array([distance(rows[group[0]], rows[waiting])[0] for group in groups])
        groups[int(np.argmin(far))].append(waiting[0])
    elif waiting:
        groups.append(waiting)
    return groups
