"""Compares Spark, with one and two executors on this machine, with DuckDB on one and two threads."""

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import ARROW

from benchmarks.measuring import best_times
from benchmarks.sanitizing import read_corpora
from custext_sql import Sanitizer, connect, make_key, sanitize_file
from custext_sql.sql.queries import let_threads_alternate
from custext_sql.store.building import load_starter
from tests.spark.cluster import Cluster, open_session, why_not

ROWS = 1_000_000
ROW_GROUP = 20_480  # small, because both engines share work by row group
PARTITION = "8m"  # so that there are several tasks per executor, and neither waits long for the other
BATCHES = (10_000, 50_000, 100_000)  # rows per Arrow batch; the first is Spark's default
ROUNDS = 3
QUERIES = {  # the same text for both engines
    "no function": "text",
    "a function that returns its input": "unchanged(text)",
    "custext_sanitize, eps = 1": "custext_sanitize(text, 1.0, true)",
    "custext_sanitize, eps = 0": "custext_sanitize(text, 0.0, true)",
    "custext_sanitize_keyed": "custext_sanitize_keyed(text, CAST(id AS STRING))",
}
REPEATABLE = ("no function", "custext_sanitize, eps = 0", "custext_sanitize_keyed")
FRESH = "custext_sanitize, eps = 1"
_Runs = dict[str, Callable[[], object]]


def main() -> None:
    if reason := why_not():
        print(f"\nSpark: skipped: {reason}")
        return
    import pyspark

    let_threads_alternate()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        database, source = folder / "custext.duckdb", folder / "texts.parquet"
        load_starter(database)
        make_key(folder / "key", database, plus=True)
        texts, _ = read_corpora()
        copies = -(-ROWS // len(texts))
        write_texts(source, texts, copies)
        words = Sanitizer.load(database).release(texts, 1.0)[1].words * copies
        size = source.stat().st_size / 1e6
        print(f"\nSpark {pyspark.__version__} beside DuckDB {duckdb.__version__}, both on this machine")
        print(f"  {len(texts) * copies:,} sentences, {words / 1e6:.1f} million words, {size:.0f} MB of Parquet")
        print(f"  The driver, the executors (one core each) and their Python workers share {os.cpu_count()} cores.")
        (folder / "cluster").mkdir()
        with ExitStack() as running:
            cluster = Cluster(folder / "cluster", running)
            for number in (1, 2):
                spark = open_with_functions(cluster, number, database, source)
                if number == 1:
                    print_opening(spark, database)
                compare(spark, number, database, source, words)
                if number == 2:
                    vary_batches(spark, words)
                    compare_releases(spark, database, source)
                spark.stop()


def write_texts(path: Path, texts: list[str], copies: int) -> None:
    with duckdb.connect(config={"memory_limit": "1GB"}) as writer:
        writer.execute("CREATE TABLE texts AS SELECT unnest(?) AS text", [texts])
        query = f"SELECT row_number() OVER () AS id, text FROM range({copies}), texts"
        # No dictionary, because an engine could otherwise handle repeated texts only once.
        options = f"FORMAT parquet, ROW_GROUP_SIZE {ROW_GROUP}, DICTIONARY_SIZE_LIMIT 1"
        writer.execute(f"COPY ({query}) TO '{path}' ({options})")


def open_with_functions(cluster: Cluster, executors: int, database: Path, source: Path) -> Any:
    """Return a session with so many executors, our functions, `unchanged`, and the view `texts`."""
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

    from custext_sql.spark import register

    spark = open_session(
        cluster.master, cluster.folder, spark__cores__max=str(executors), spark__sql__files__maxPartitionBytes=PARTITION
    )
    spark.sparkContext.setLogLevel("ERROR")
    register(spark, database, key_file=source.parent / "key")

    def unchanged(text: pa.Array) -> pa.Array:  # inside a function, because workers cannot import this module
        return text

    spark.udf.register("unchanged", arrow_udf(unchanged, "string"))
    spark.read.parquet(str(source)).createOrReplaceTempView("texts")
    return spark


def print_opening(spark: Any, database: Path) -> None:
    """Print how long a new Python worker takes to import the package and to open the sanitizer file."""
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

    path = str(database.parent / "sanitizer")
    sha256 = Sanitizer.load(database).save(path)

    def measure(row: pa.Array) -> pa.Array:
        import time

        started = time.perf_counter()
        from custext_sql import Sanitizer

        imported = time.perf_counter()
        Sanitizer.open(path, sha256=sha256)
        opened = time.perf_counter()
        return pa.array([[imported - started, opened - imported]] * len(row), pa.list_(pa.float64()))

    [[(imported, opened)]] = spark.range(1).select(arrow_udf(measure, "array<double>")("id")).collect()
    size = Path(path).stat().st_size / 1e6
    print(
        f"  Once in each Python worker: {imported:.2f} s to import custext_sql, {opened:.2f} s to open and check the"
        f" sanitizer file ({size:.1f} MB)",
        flush=True,
    )


def compare(spark: Any, number: int, database: Path, source: Path, words: int) -> None:
    """Print words per second on Spark with so many executors, and on DuckDB with so many threads."""
    with connect(database, key_file=source.parent / "key", config={"threads": number}) as connection:
        connection.create_function("unchanged", lambda text: text, ["VARCHAR"], "VARCHAR", type=ARROW)
        connection.execute(f"CREATE TEMP VIEW texts AS FROM '{source}'")

        def ask_duckdb(query: str) -> int:
            [(result,)] = connection.execute(query).fetchall()
            return int(result)

        runs: _Runs = {}
        for title, expression in QUERIES.items():
            query = make_query(expression)
            on_spark, on_duckdb = ask_spark(spark, query), ask_duckdb(query)  # the warm-up
            if title in REPEATABLE and on_spark != on_duckdb:
                raise SystemExit(f"{title}: Spark gave {on_spark:,}, DuckDB {on_duckdb:,}")
            runs[f"spark {title}"] = partial(ask_spark, spark, query)
            runs[f"duckdb {title}"] = partial(ask_duckdb, query)
        seconds = best_times(runs, ROUNDS)
    plural = "" if number == 1 else "s"
    print(
        f"\nbest of {ROUNDS} after a warm-up, in million words/s"
        f"    Spark, {number} executor{plural:1s}  DuckDB, {number} thread{plural:1s}   Spark/DuckDB"
    )
    for title in QUERIES:
        spark_time, duckdb_time = seconds[f"spark {title}"], seconds[f"duckdb {title}"]
        figures = f"{words / spark_time / 1e6:21.2f}{words / duckdb_time / 1e6:18.2f}{duckdb_time / spark_time:15.2f}"
        print(f"  {title:<46}{figures}", flush=True)


def make_query(expression: str) -> str:
    return f"SELECT sum(length(made)) FROM (SELECT {expression} AS made FROM texts) AS rows_made"


def ask_spark(spark: Any, query: str) -> int:
    [[result]] = spark.sql(query).collect()
    return int(result)


def vary_batches(spark: Any, words: int) -> None:
    """Print the speed on Spark by the number of rows in a batch."""
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"

    def run(rows: int, title: str) -> None:
        spark.conf.set(setting, str(rows))
        ask_spark(spark, make_query(QUERIES[title]))

    titles = (FRESH, "custext_sanitize_keyed")
    runs: _Runs = {f"{title} {rows}": partial(run, rows, title) for rows in BATCHES for title in titles}
    seconds = best_times(runs, ROUNDS)
    spark.conf.unset(setting)
    print(f"\nSpark, 2 executors, by {setting}, in million words/s")
    for title in titles:
        speeds = (f"{rows:,}: {words / seconds[f'{title} {rows}'] / 1e6:.2f}" for rows in BATCHES)
        print(f"  {title:<28}{'   '.join(speeds)}", flush=True)


def compare_releases(spark: Any, database: Path, source: Path) -> None:
    """Print the time of a release from Parquet to Parquet, with its entry in the ledger."""
    from custext_sql.spark import sanitize

    folder = source.parent
    frame = spark.read.parquet(str(source))

    def release_on_spark() -> None:
        sanitize(frame, "text", 1.0, True, output=folder / "out", dataset="benchmark", force=True, database=database)

    def release_on_duckdb() -> None:
        target = folder / "out.parquet"
        sanitize_file(source, target, columns="text", eps=1.0, plus=True, force=True, database=database)

    runs: _Runs = {"spark": release_on_spark, "duckdb": release_on_duckdb}
    best_times(runs, rounds=1)
    seconds = best_times(runs, ROUNDS)
    print(f"\na release from Parquet to Parquet at eps = 1, with the ledger, best of {ROUNDS} after a warm-up")
    print(f"  custext_sql.spark.sanitize, 2 executors   {seconds['spark']:6.1f} s")
    print(f"  sanitize_file (DuckDB, 2 threads)         {seconds['duckdb']:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
