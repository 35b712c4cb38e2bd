"""Compares Algorithm 1 in blocks with a full scan and sort per pivot, and refined groups with greedy ones.

Measures peak memory for 66,000 words.
"""

import numpy as np
import numpy.typing as npt

from benchmarks.measuring import best_time, peak_megabytes, real_vectors
from custext_sql.mapping.grouping import Partition, partition_words
from custext_sql.mapping.refining import refine_partition
from custext_sql.mapping.similarity import MEASURES
from tests.vector_samples import Matrix

K = 20
LARGE = 66_000


def main() -> None:
    _, vectors = real_vectors()
    print(f"\ngrouping {len(vectors):,} words by vectors of {vectors.shape[1]} numbers, Euclidean, k = {K}")
    scanned: list[npt.NDArray[np.int64]] = []
    theirs = best_time(lambda: scanned.append(scan_and_sort(vectors)), runs=1)
    blocked: list[Partition] = []
    ours = best_time(lambda: blocked.append(partition_words(vectors, MEASURES["euclidean"], K)))
    assert np.array_equal(blocked[-1].members, scanned[0]), "both must find the same groups"
    print(f"  full scan and sort  {theirs:6.2f} s")
    print(f"  in blocks           {ours:6.2f} s  ({theirs / ours:.0f}x faster, identical groups)", flush=True)
    compare_refined(vectors, blocked[-1], ours)
    noise = np.random.default_rng(0).normal(scale=0.05, size=vectors.shape).astype(np.float32)
    large = np.concatenate([vectors, vectors + noise])[:LARGE]
    times: list[float] = []
    peak = peak_megabytes(
        lambda: times.append(best_time(lambda: partition_words(large, MEASURES["euclidean"], K), runs=1))
    )
    print(f"\ngrouping {LARGE:,} words by vectors of {vectors.shape[1]} numbers, Euclidean, k = {K}")
    print(f"  in blocks           {times[0]:6.2f} s, peak memory {peak:.0f} MB ", end="")
    print(f"in addition to the vectors ({large.nbytes / 2**20:.0f} MB)")
    greedy = partition_words(large, MEASURES["euclidean"], K)
    peak = peak_megabytes(lambda: compare_refined(large, greedy, times[0], runs=1))
    print(f"  peak memory {peak:.0f} MB in addition to the vectors")


def compare_refined(vectors: Matrix, greedy: Partition, greedy_time: float, runs: int = 3) -> None:
    """Print how long refining takes after the greedy grouping, and what it does to the distances within groups."""
    ranks = np.arange(1, len(vectors) + 1)
    refined: list[Partition] = []
    took = best_time(lambda: refined.append(refine_partition(vectors, MEASURES["euclidean"], greedy, ranks)), runs=runs)
    before, after = mean_distance(vectors, greedy), mean_distance(vectors, refined[-1])
    print(
        f"  refined             {greedy_time + took:6.2f} s  ({1 + took / greedy_time:.1f}x greedy alone), ",
        end="",
    )
    print(f"mean distance within groups {before:.2f} -> {after:.2f}", flush=True)


def mean_distance(vectors: Matrix, partition: Partition) -> float:
    """Return the mean Euclidean distance between two different words of a group."""
    measure = MEASURES["euclidean"]
    total = sum(float(measure.matrix(vectors[group], vectors[group]).sum()) for group in partition.groups())
    return total / int((partition.sizes * (partition.sizes - 1)).sum())


def scan_and_sort(vectors: Matrix) -> npt.NDArray[np.int64]:
    """Group as the published code does: for each pivot, compute the distances to all words and sort them."""
    rows = vectors.astype(np.float64)
    free = np.ones(len(rows), dtype=bool)
    groups: list[npt.NDArray[np.int64]] = []
    for pivot in range(len(rows)):
        if len(rows) - K * len(groups) < K:
            break
        if free[pivot]:
            nearest = np.argsort(np.square(rows - rows[pivot]).sum(axis=1), kind="stable")
            group = nearest[free[nearest]]
            group = np.concatenate([[pivot], group[group != pivot]])[:K]
            free[group] = False
            groups.append(group)
    return np.concatenate([*groups, np.flatnonzero(free)])


if __name__ == "__main__":
    main()
