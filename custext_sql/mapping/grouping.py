"""Splits words into disjoint groups of similar words: Algorithm 1 of the paper, exact and in blocks. Packs groups."""

import lzma
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags, Floats, Places, Points, Vectors
from custext_sql.errors import MappingError, SettingError
from custext_sql.mapping.similarity import Geometric, Similarity, squared_distances

Progress = Callable[[float], None]  # called with the share of the work that is done
GroupingProgress = Callable[[int, int], None]  # called with the work done so far, and all work, counted in words

_BLOCK_BYTES = 64 << 20  # of one float32 block: pivots by words in the pool
_LARGEST_BLOCK = 256  # pivots; with more, earlier pivots of the block would have taken most of them
_ROWS = 4096  # words whose exact distances are computed at a time
_CROWDED = 0.8  # compact the pool when a smaller share of it is still unassigned


@dataclass(frozen=True)
class Partition:
    """Disjoint groups. members: word indices, group after group. sizes: words per group.

    Greedy groups are in the order in which they were made, each with its pivot first, then the others in order of
    closeness to it. Refined groups have their words in order of rank, and are in order of their first words.
    """

    members: Places
    sizes: Places

    @property
    def starts(self) -> Places:
        """Index in `members` of the first word of each group."""
        return np.cumsum(self.sizes) - self.sizes

    def groups(self) -> Iterator[Places]:
        """Yield the members of each group."""
        yield from np.split(self.members, self.starts[1:])


def partition_words(
    vectors: Vectors,
    similarity: Similarity,
    k: int,
    *,
    order: Places | None = None,
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k rows of `vectors`. Raise SettingError if k is less than 2 or exceeds the number of words.

    While at least k words are unassigned, the next one in `order` (default: row order) is the pivot. Its group is the
    pivot and the k-1 unassigned words closest to it; ties go to the lower row. Fewer than k words left over form the
    last group, but a single one joins the group with the closest pivot.
    """
    if k < 2:
        raise SettingError(f"k must be at least 2, because a group of one word would not hide it; found {k}")
    if k > len(vectors):
        raise SettingError(f"k must not exceed the number of words, {len(vectors):,}; found {k:,}")
    order = np.arange(len(vectors)) if order is None else order
    report = progress or (lambda share: None)
    free = np.ones(len(vectors), dtype=bool)
    if isinstance(similarity, Geometric):
        found = _blocked_groups(vectors, similarity, k, order, free)
    else:
        found = _scanned_groups(vectors, similarity, k, order, free)
    groups: list[Places] = []
    for group in found:
        groups.append(group)
        report(k * len(groups) / len(vectors))
    rest = order[free[order]]
    if len(rest) == 1:
        pivots = np.array([group[0] for group in groups])
        closest = int(np.argmin(similarity.rank(vectors[pivots], vectors[rest])[:, 0]))  # ties go to the lower group
        groups[closest] = np.append(groups[closest], rest)
    elif len(rest):
        groups.append(rest)
    report(1.0)
    return Partition(np.concatenate(groups), np.array([len(group) for group in groups]))


def _scanned_groups(vectors: Vectors, similarity: Similarity, k: int, order: Places, free: Flags) -> Iterator[Places]:
    """Yield the groups, with one call of the user's function per pivot over the words that are still free."""
    pool, rows = np.arange(len(vectors)), np.asarray(vectors, dtype=np.float64)
    while np.count_nonzero(free) >= k:
        order = order[free[order]]
        pivot = order[0]
        free[pivot] = False
        kept = free[pool]
        pool, rows = pool[kept], rows[kept]
        far = similarity.rank(vectors[[pivot]], rows)[0]
        nearest = pool[np.argsort(far, kind="stable")[: k - 1]]
        free[nearest] = False
        yield np.concatenate([[pivot], nearest])


def _blocked_groups(vectors: Vectors, similarity: Geometric, k: int, order: Places, free: Flags) -> Iterator[Places]:
    """Yield the groups for a geometric measure. Float32 bounds distances from below; float64 decides among the closest.

    The points are shifted to their mean, which changes no distance, and scaled so that no coordinate exceeds 1. With
    u = 2**-24, the computed product then differs from the true p.s by at most (dimension + 3) u (|p|^2 + |s|^2) / 2,
    including the rounding of the points to float32. So with slack = (dimension + 16) 2**-23, more than twice that error
    in 2 p.s, the bound (1 - slack)(|p|^2 + |s|^2) - 2 p.s lies below the true squared distance and below the float64
    one. Any k-1 free words give a radius that contains the k-1 closest words; the words whose bound lies within it are
    compared in float64.
    """
    dimension = vectors.shape[1]
    slack = (dimension + 16) * 2.0**-23
    floor = dimension * 2.0**-120  # bounds the effect of underflow in float32
    points, squares, scale = _float32_points(vectors, similarity)
    pool = np.arange(len(vectors))
    remaining = len(vectors)
    while remaining >= k:
        if remaining < _CROWDED * len(pool):
            kept = free[pool]
            pool, points, squares = pool[kept], points[kept], squares[kept]
        size = max(8, min(_LARGEST_BLOCK, _BLOCK_BYTES // (4 * len(pool))))
        order = order[free[order]]
        pivots = order[:size]
        columns = np.searchsorted(pool, pivots)
        bounds = (-2.0 * points[columns]) @ points.T
        bounds += (squares * (1.0 - slack)).astype(np.float32)
        taken = np.where(free[pool], np.float32(0), np.float32(np.inf))
        for row, column, pivot in zip(bounds, columns, pivots, strict=True):
            if not free[pivot]:
                continue
            if remaining < k:
                return
            taken[column] = np.inf
            row += taken
            center = similarity.points(vectors[[pivot]])
            near = np.argpartition(row, k - 2)[: k - 1]
            radius = squared_distances(similarity.points(vectors[pool[near]]), center).max()
            limit = radius * scale * scale - squares[column] * (1.0 - slack) + floor
            inside = np.flatnonzero(row <= np.nextafter(np.float32(limit), np.float32(np.inf)))
            exact = _exact_squares(vectors, similarity, pool[inside], center, k - 1)
            chosen = inside[np.argsort(exact, kind="stable")[: k - 1]]
            taken[chosen] = np.inf
            group = np.concatenate([[pivot], pool[chosen]])
            free[group] = False
            remaining -= k
            yield group


def _exact_squares(vectors: Vectors, similarity: Geometric, words: Places, center: Floats, enough: int) -> Floats:
    """Return squared distances of words, up to the block in which `enough` are zero: no later word is closer."""
    squares = np.zeros(0)
    for start in range(0, len(words), _ROWS):
        rows = similarity.points(vectors[words[start : start + _ROWS]])
        squares = np.append(squares, squared_distances(rows, center))
        if np.count_nonzero(squares == 0) >= enough:
            break
    return squares


def _float32_points(vectors: Vectors, similarity: Geometric) -> tuple[Points, Floats, float]:
    """Return points around their mean in float32, their squared lengths, and the power of two that scaled them."""
    mean = sum(points.sum(axis=0) for _, points in similarity.split_points(vectors)) / len(vectors)
    largest = max(float(np.abs(points - mean).max()) for _, points in similarity.split_points(vectors))
    scale = 1.0 if largest == 0.0 else float(2.0 ** -np.ceil(np.log2(largest)))
    scaled, squares = np.empty(vectors.shape, dtype=np.float32), np.empty(len(vectors))
    for rows, points in similarity.split_points(vectors):
        exact = (points - mean) * scale
        scaled[rows], squares[rows] = exact, np.square(exact).sum(axis=1)
    return scaled, squares, scale


def pack_groups(partition: Partition, classes: Sequence[Places], digest: str) -> bytes:
    """Return the groups in the packed format. Raise ValueError if the words of a group are not in ascending order.

    classes: the words of each class, which are grouped separately. digest: of the vectors from which they were made.
    """
    numbers = np.empty(len(partition.members), dtype="<u2")
    numbers[partition.members] = np.repeat(np.arange(len(partition.sizes)), partition.sizes)
    if not np.array_equal(np.argsort(numbers, kind="stable"), partition.members):
        raise ValueError("the words of each group must be in the order of the vector file")
    header = " ".join([digest, *(str(len(part)) for part in classes)]) + "\n"
    return lzma.compress(header.encode() + numbers.tobytes(), format=lzma.FORMAT_XZ, preset=9)


def unpack_groups(packed: bytes, classes: Sequence[Places], digest: str) -> Partition | None:
    """Return the groups in a packed file, or None if they belong to other vectors or other classes.

    Raise MappingError if not every word is in a group of at least two.
    """
    header, _, content = lzma.decompress(packed).partition(b"\n")
    if header.decode().split() != [digest, *(str(len(part)) for part in classes)]:
        return None
    numbers = np.frombuffer(content, dtype="<u2")
    sizes, class_of = np.bincount(numbers), np.empty(sum(map(len, classes)), dtype=np.int64)
    if len(numbers) != len(class_of) or sizes.min() < 2:
        raise MappingError("the shipped groups are damaged; reinstall custext")
    for number, part in enumerate(classes):
        class_of[part] = number
    is_apart = len(np.unique(class_of * len(sizes) + numbers)) == len(sizes)  # no group has words of two classes
    return Partition(np.argsort(numbers, kind="stable"), sizes) if is_apart else None
