"""Compares loading GloVe text into DuckDB with gensim loading it into memory; peak memory for 400,000 words."""

import subprocess
import sys
import tempfile
from pathlib import Path

from gensim.models import KeyedVectors

from benchmarks.measuring import best_time, peak_megabytes, real_vectors
from custext_sql import load_embeddings
from tests.vector_samples import Matrix

LARGE = 400_000


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words, vectors = real_vectors()
        path = write_text(folder / "vectors.txt", words, vectors, len(words))
        size = path.stat().st_size / 1e6
        print(f"\nloading {len(words):,} vectors of {vectors.shape[1]} numbers, {size:,.0f} MB of GloVe text")
        database = folder / "speed.duckdb"
        load_embeddings(database, path, name="first", limit=1)  # creates the database, so that no run has to
        names = (f"run{number}" for number in range(10))
        ours = best_time(lambda: load_embeddings(database, path, name=next(names)))
        theirs = best_time(lambda: KeyedVectors.load_word2vec_format(path, binary=False, no_header=True), runs=2)
        print(f"  gensim, into memory        {theirs:6.2f} s")
        print(f"  custext load, into DuckDB  {ours:6.2f} s  ({theirs / ours:.1f}x faster)", flush=True)
        write_text(folder / "large.txt", words, vectors, LARGE)
        subprocess.run([sys.executable, "-m", "benchmarks.loading", str(folder)], check=True)


def measure_memory(folder: Path) -> None:
    database, path = folder / "memory.duckdb", folder / "large.txt"
    load_embeddings(database, path, name="first", limit=1)
    peak = peak_megabytes(lambda: load_embeddings(database, path, name="large"))
    matrix = LARGE * 300 * 4 / 2**20
    print(f"\nloading {LARGE:,} vectors of 300 numbers, {path.stat().st_size / 1e6:,.0f} MB of GloVe text")
    print(f"  matrix of float32          {matrix:6.0f} MB")
    print(f"  custext load, peak memory  {peak:6.0f} MB  ({peak / matrix:.2f}x the matrix)")


def write_text(path: Path, words: list[str], vectors: Matrix, count: int) -> Path:
    """Write GloVe text with `count` words, the given ones and then the same with a number in front; return its path."""
    texts = [" ".join(f"{number:.5g}" for number in row) for row in vectors.tolist()]
    with path.open("w", encoding="utf-8") as file:
        for index in range(count):
            turn, place = divmod(index, len(words))
            file.write(f"{turn or ''}{words[place]} {texts[place]}\n")
    return path


if __name__ == "__main__":
    measure_memory(Path(sys.argv[1]))
