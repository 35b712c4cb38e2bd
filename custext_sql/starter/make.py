"""Makes the starter vectors from a GloVe file: python -m custext_sql.starter.make glove.840B.300d.34k.txt.gz.

Words and their order are those of the file. See PROVENANCE.md.
"""

import sys
from pathlib import Path

import numpy as np

from custext_sql.arrays import Numbers, Points
from custext_sql.vectors.opening import open_vectors
from custext_sql.vectors.packed import pack, unpack
from custext_sql.vectors.starter import FILE


def read_whole(source: str) -> tuple[list[str], Points]:
    """Return all words and vectors of a source."""
    with open_vectors(source) as opened:
        batches = list(opened.batches)
    return [word for batch in batches for word in batch.words], np.concatenate([batch.vectors for batch in batches])


def neighbor_recall(full: Points, compact: Points, *, count: int = 20, sample: int = 2000) -> float:
    """Return the share of the nearest neighbors of a word, by Euclidean distance, that the compact table keeps."""
    chosen = np.random.default_rng(0).choice(len(full), size=min(sample, len(full)), replace=False)
    before, after = (_nearest(table, chosen, count) for table in (full, compact))
    return float(np.mean([len(set(a) & set(b)) / count for a, b in zip(before, after, strict=True)]))


def _nearest(table: Points, rows: Numbers, count: int) -> Numbers:
    squares = np.square(table).sum(axis=1)
    found = []
    for part in np.array_split(rows, max(1, len(rows) // 100)):
        far = squares - 2 * table[part] @ table.T
        far[np.arange(len(part)), part] = np.inf
        found.append(np.argpartition(far, count, axis=1)[:, :count])
    return np.concatenate(found)


def main(source: str) -> None:
    """Write the packed vectors next to this script, and print their size and recall."""
    words, vectors = read_whole(source)
    packed = pack(words, vectors)
    target = Path(__file__).with_name(FILE)
    target.write_bytes(packed)
    recall = neighbor_recall(vectors, unpack(packed)[1])
    print(f"{target.name}: {len(words)} words, {len(packed) / 1e6:.2f} MB, recall@20 {recall:.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
