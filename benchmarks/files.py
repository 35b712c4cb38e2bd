"""Compares `custext sanitize`, from Parquet to Parquet, with the SQL function on the same file, and measures memory."""

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.measuring import best_time, best_times
from benchmarks.sanitizing import read_corpora
from custext_sql import connect, sanitize_file
from custext_sql.sql.queries import let_threads_alternate
from custext_sql.store.building import load_starter

ROWS = 2_000_000
LARGE = 10_000_000


def main() -> None:
    let_threads_alternate()
    texts, _ = read_corpora()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "custext.duckdb"
        load_starter(database)
        for rows, file in ((ROWS, "some.parquet"), (LARGE, "large.parquet")):
            write_texts(folder / file, texts, rows)
        source = folder / "some.parquet"
        config = {"memory_limit": "400MB", "threads": 2}
        with connect(database, config=config) as connection:
            function = f"SELECT custext_sanitize(text, 1.0, true) AS text FROM '{source}'"
            copy = f"COPY ({function}) TO '{folder / 'bare.parquet'}' (FORMAT parquet)"
            seconds = best_times(
                {
                    "function": lambda: connection.execute(f"SELECT max(strlen(text)) FROM ({function})").fetchall(),
                    "copy": lambda: connection.execute(copy).fetchall(),
                },
                rounds=2,
            )
        seconds["sanitize"] = best_time(lambda: sanitize(database, source, folder / "out.parquet"), runs=2)
        print(f"\nsanitizing {ROWS:,} sentences, Parquet to Parquet, two threads")
        print(f"  SQL function alone                  {seconds['function']:6.1f} s")
        print(f"  SQL function in a COPY statement    {seconds['copy']:6.1f} s")
        print(f"  custext sanitize, with the ledger   {seconds['sanitize']:6.1f} s  ", end="")
        print(f"({seconds['copy'] / seconds['sanitize']:.0%} of the throughput of COPY)")
        arguments = [str(database), str(folder / "large.parquet"), str(folder / "large_out.parquet")]
        subprocess.run([sys.executable, "-m", "benchmarks.files", *arguments], check=True)


def write_texts(path: Path, texts: list[str], rows: int) -> None:
    copies = -(-rows // len(texts))
    with duckdb.connect(config={"memory_limit": "1GB"}) as writer:
        writer.execute("CREATE TABLE texts AS SELECT unnest(?) AS text", [texts])
        query = f"SELECT row_number() OVER () AS id, text FROM range({copies}), texts LIMIT {rows}"
        writer.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def sanitize(database: Path, source: Path, target: Path) -> int:
    return sanitize_file(source, target, columns="text", eps=1.0, plus=True, force=True, database=database).rows


def measure_memory(database: Path, source: Path, target: Path) -> None:
    let_threads_alternate()
    rows: list[int] = []
    seconds = best_time(lambda: rows.append(sanitize(database, source, target)), runs=1)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(f"\nsanitizing {rows[0]:,} sentences, Parquet to Parquet, with the ledger, two threads")
    print(f"  {seconds:.0f} s, peak resident memory {peak:.0f} MB")


if __name__ == "__main__":
    measure_memory(*map(Path, sys.argv[1:]))
