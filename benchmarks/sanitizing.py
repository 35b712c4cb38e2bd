"""Compares sanitizing in DuckDB with the published code and DuckDB's own functions; keys, many eps, memory."""

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.measuring import best_time, best_times, peak_megabytes, real_vectors
from custext_sql import Sanitizer, connect, make_key
from custext_sql.sql.queries import let_threads_alternate
from custext_sql.store.building import load_starter
from tests import shipped_stopwords

ROWS = 1_000_000
LONG_ROWS = 40_000
LARGE = 10_000_000
DISTINCT = 10_000
KINDS = ("all", "plus")  # all words replaced, or stopwords kept
STOPWORDS = frozenset(shipped_stopwords.STOPWORDS)
SAMPLE = 40_000  # approximate number of words for the published loop, whose speed does not depend on the number


def main() -> None:
    let_threads_alternate()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "custext.duckdb"
        load_starter(database)
        sanitizer = Sanitizer.load(database)
        make_key(folder / "key", database, plus=True)
        connection = connect(database, key_file=folder / "key")
        # Small row groups, because threads share work by row group. Uncompressed, because `lower` would otherwise
        # handle repeated texts only once.
        connection.execute(f"ATTACH '{folder / 'texts.duckdb'}' AS bench (ROW_GROUP_SIZE 20480)")
        connection.execute("SET force_compression = 'uncompressed'")
        short, long = read_corpora()
        for title, texts, copies in (
            ("sentences", short, -(-ROWS // len(short))),
            ("reviews", long, -(-LONG_ROWS // len(long))),
        ):
            compare(connection, sanitizer, title, texts, copies)
        vary_eps(connection, short)
        connection.close()
        subprocess.run([sys.executable, "-m", "benchmarks.sanitizing", str(folder)], check=True)


def compare(
    connection: duckdb.DuckDBPyConnection, sanitizer: Sanitizer, title: str, texts: list[str], copies: int
) -> None:
    connection.execute("CREATE OR REPLACE TABLE bench.texts (id INTEGER, text VARCHAR)")
    connection.execute(
        "INSERT INTO bench.texts SELECT row_number() OVER (), text FROM (SELECT unnest(?) AS text), range(?)",
        [texts, copies],
    )
    connection.execute("CHECKPOINT bench")
    [(rows, size)] = connection.execute("SELECT count(*), sum(strlen(text)) FROM bench.texts").fetchall()
    words = sanitizer.release(texts, 1.0)[1].words * copies
    print(f"\nsanitizing {rows:,} {title} ({words / 1e6:.1f} million words, {size / 1e6:.0f} MB), in million words/s")

    def query(expression: str, threads: int = 1) -> Callable[[], object]:
        statement = f"SET threads = {threads}; SELECT max(strlen({expression})) FROM bench.texts"
        return lambda: connection.execute(statement).fetchall()

    sample = texts[:: max(1, len(texts) // (SAMPLE * rows // words))]
    loop = PublishedLoop(sanitizer, sample)
    seconds = best_times(
        {
            "loop, all": lambda: loop.run(sample, keep_stopwords=False),
            "loop, plus": lambda: loop.run(sample, keep_stopwords=True),
            "all": query("custext_sanitize(text, 1.0, false)"),
            "plus": query("custext_sanitize(text, 1.0, true)"),
            "all, two threads": query("custext_sanitize(text, 1.0, false)", 2),
            "plus, two threads": query("custext_sanitize(text, 1.0, true)", 2),
            "keyed": query("custext_sanitize_keyed(text, id::VARCHAR)"),
            "split": query("string_split(text, ' ')[1]"),
            "lower": query("lower(text)"),
        }
    )
    sampled = sanitizer.release(sample, 1.0)[1].words
    speed = {name: (sampled if name.startswith("loop") else words) / best / 1e6 for name, best in seconds.items()}
    print(f"  {'':38s}  all words  stopwords kept")
    print_row("loop like the published code's", *(f"{speed[name]:.3f}" for name in ("loop, all", "loop, plus")))
    print_row("custext_sanitize, one thread", *(f"{speed[name]:.2f}" for name in KINDS))
    print_row("  faster than the loop", *(f"{speed[name] / speed[f'loop, {name}']:.0f}x" for name in KINDS))
    print_row(
        "  two threads, relative to one", *(f"{speed[f'{name}, two threads'] / speed[name]:.2f}x" for name in KINDS)
    )
    print_row("  with a key, relative to fresh draws", "", f"{speed['keyed'] / speed['plus']:.2f}x")
    print_row("DuckDB's string_split, one thread", f"{speed['split']:.1f}")
    print_row("  faster than custext_sanitize", *(f"{speed['split'] / speed[name]:.1f}x" for name in KINDS))
    print_row("DuckDB's lower, one thread", f"{speed['lower']:.0f}")
    print_row("  faster than custext_sanitize", *(f"{speed['lower'] / speed[name]:.0f}x" for name in KINDS))


def print_row(label: str, first: str, second: str = "") -> None:
    print(f"  {label:38s}{first:>11s}{second:>16s}".rstrip(), flush=True)


class PublishedLoop:
    """Sanitizes as the published code does: one word at a time, split at spaces, with tables made in advance."""

    def __init__(self, sanitizer: Sanitizer, texts: list[str]) -> None:
        self._prepared: dict[str, tuple[list[str], list[float]]] = {}
        for word in {word for text in texts for word in text.split()} & set(sanitizer.mapping.words):
            chances = sanitizer.distribution(word, 1.0)
            self._prepared[word] = list(chances), list(chances.values())

    def run(self, texts: list[str], *, keep_stopwords: bool) -> list[str]:
        kept = STOPWORDS if keep_stopwords else frozenset()
        results = []
        for text in texts:
            words = []
            for word in text.split():
                if word in self._prepared and word not in kept:
                    outputs, chances = self._prepared[word]
                    word = np.random.choice(outputs, 1, p=chances)[0]
                elif word.isdecimal():
                    word = str(int(word) + np.random.randint(1000))
                words.append(word)
            results.append(" ".join(words))
        return results


def vary_eps(connection: duckdb.DuckDBPyConnection, texts: list[str]) -> None:
    connection.execute("CREATE OR REPLACE TEMP TABLE texts (text VARCHAR, eps DOUBLE)")
    connection.execute(
        f"INSERT INTO texts SELECT text, 0.5 + row_number() OVER () / {DISTINCT} FROM (SELECT unnest(?) AS text)",
        [(texts * (1 + DISTINCT // len(texts)))[:DISTINCT]],
    )
    connection.execute("SET threads = 1")

    def seconds(eps: str) -> float:
        query = f"SELECT max(strlen(custext_sanitize(text, {eps}, true))) FROM texts"
        return best_time(lambda: connection.execute(query).fetchall(), runs=2)

    [(distinct,)] = connection.execute("SELECT count(DISTINCT eps) FROM texts").fetchall()
    one, many = seconds("1.0"), seconds("eps")
    print(f"\nsanitizing {DISTINCT:,} sentences")
    print(f"  one eps                 {one:6.2f} s")
    print(f"  {distinct:,} distinct eps     {many:6.2f} s  (each eps verified for the groups in its texts)", flush=True)


def read_corpora() -> tuple[list[str], list[str]]:
    """Return sentences and long texts: those of CUSTEXT_DATA, else random words."""
    if folder := os.environ.get("CUSTEXT_DATA"):
        with zipfile.ZipFile(Path(folder) / "sentence_polarity.zip") as archive:
            halves = [
                archive.read(f"sentence_polarity/rt-polarity.{kind}").decode("latin-1") for kind in ("neg", "pos")
            ]
        with zipfile.ZipFile(Path(folder) / "movie_reviews.zip") as archive:
            names = [name for name in archive.namelist() if name.endswith(".txt")]
            long = [archive.read(name).decode() for name in names]
        return [line for half in halves for line in half.splitlines() if line], long
    words = np.array(real_vectors()[0])
    chosen = np.random.default_rng(0).zipf(1.2, size=400_000) % len(words)
    return [" ".join(part) for part in np.split(words[chosen], 20_000)], [
        " ".join(part) for part in np.split(words[chosen], 500)
    ]


def measure_memory(folder: Path) -> None:
    texts, _ = read_corpora()
    source, target = folder / "large.parquet", folder / "sanitized.parquet"
    with duckdb.connect(config={"memory_limit": "1GB"}) as writer:
        writer.execute("CREATE TABLE texts (text VARCHAR)")
        writer.execute("INSERT INTO texts SELECT unnest(?)", [texts])
        copies = -(-LARGE // len(texts))
        writer.execute(f"COPY (SELECT text FROM range({copies}), texts LIMIT {LARGE}) TO '{source}' (FORMAT parquet)")
    subprocess.run([sys.executable, "-m", "benchmarks.sanitizing", str(source), str(target)], check=True)


def stream(source: Path, target: Path) -> None:
    let_threads_alternate()
    times: list[float] = []
    config = {"memory_limit": "400MB", "threads": 2, "preserve_insertion_order": False}
    with connect(source.parent / "custext.duckdb", config=config) as connection:
        query = (
            f"COPY (SELECT custext_sanitize(text, 1.0, true) AS text FROM '{source}') TO '{target}' (FORMAT parquet)"
        )
        peak = peak_megabytes(lambda: times.append(best_time(lambda: connection.execute(query), runs=1)))
        [(rows,)] = connection.execute(f"SELECT count(*) FROM '{target}'").fetchall()
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
    print(f"\nsanitizing {rows:,} sentences, Parquet to Parquet, two threads, memory_limit = '400MB'")
    print(f"  {times[0]:.0f} s, peak resident memory {int(status) / 1024:.0f} MB ({peak:.0f} MB of it for the query)")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        stream(Path(sys.argv[1]), Path(sys.argv[2]))
    elif len(sys.argv) > 1:
        measure_memory(Path(sys.argv[1]))
    else:
        main()
