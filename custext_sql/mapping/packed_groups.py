"""The file format of shipped groups: a header line and the number of each word's group, in xz."""

import lzma
from collections.abc import Sequence

import numpy as np

from custext_sql.arrays import Places
from custext_sql.errors import MappingError
from custext_sql.mapping.grouping import Partition


def pack_groups(partition: Partition, classes: Sequence[Places], digest: str) -> bytes:
    """Return the groups in the packed format. Raise ValueError if the words of a group are not in ascending order.

    classes: the words of each class, which are grouped separately. digest: of the vectors from which they were made.
    """
    numbers = np.empty(len(partition.members), dtype="<u2")
    numbers[partition.members] = np.repeat(np.arange(len(partition.sizes)), partition.sizes)
    if not np.array_equal(_order_words(numbers), partition.members):
        raise ValueError("the words of each group must be in the order of the vector file")
    header = " ".join([digest, *(str(len(part)) for part in classes)]) + "\n"
    return lzma.compress(header.encode() + numbers.tobytes(), format=lzma.FORMAT_XZ, preset=9)


def unpack_groups(packed: bytes, classes: Sequence[Places], digest: str, k: int) -> Partition | None:
    """Return the groups in a packed file, or None if they belong to other vectors or other classes.

    Raise MappingError if they are no partition of each class into groups of k words and a smaller last one.
    """
    header, _, content = lzma.decompress(packed).partition(b"\n")
    if header.decode().split() != [digest, *(str(len(part)) for part in classes)]:
        return None
    numbers = np.frombuffer(content, dtype="<u2")
    count = sum(len(part) for part in classes)
    sizes = np.bincount(numbers)
    expected = [_group_sizes(len(part), k) for part in classes]
    if len(numbers) != count or not np.array_equal(np.sort(sizes), np.sort(np.concatenate(expected))):
        raise MappingError(
            f"the shipped groups are damaged: expected {count} words in groups of {k}; reinstall custext"
        )
    class_of = np.empty(count, dtype=np.int64)
    for number, part in enumerate(classes):
        class_of[part] = number
    members = _order_words(numbers)
    starts = np.cumsum(sizes) - sizes
    lowest, highest = (extreme.reduceat(class_of[members], starts) for extreme in (np.minimum, np.maximum))
    return Partition(members, sizes) if np.array_equal(lowest, highest) else None


def _order_words(numbers: "np.ndarray[tuple[int], np.dtype[np.uint16]]") -> Places:
    """Return the words group after group, each group in ascending order."""
    return np.argsort(numbers, kind="stable")


def _group_sizes(count: int, k: int) -> Places:
    """Return how many words each group of a class has; see `partition_words`."""
    k = min(k, count)
    sizes = np.full(count // k, k)
    rest = count % k
    if rest == 1:
        sizes[-1] += 1
        return sizes
    return np.append(sizes, rest) if rest else sizes
