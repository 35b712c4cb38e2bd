"""Releases of frames: what is written, counted and entered, on a real cluster, through failures."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from custext_sql import Receipt, make_key, read_ledger, sanitize_file
from custext_sql.errors import BudgetError, OutputError, ReleaseWarning, SettingError, SourceError
from tests.processes import wait_for
from tests.spark import MARKS
from tests.spark.cluster import Cluster
from tests.spark.reviews import list_left, read_rows

pytestmark = MARKS


def release_in_duckdb(reviews: Path, folder: Path, database: Path, **settings: Any) -> tuple[list[Any], Receipt]:
    report = sanitize_file(reviews, folder / "duckdb.parquet", columns=["body", "title"], database=database, **settings)
    (folder / "duckdb").mkdir()
    (folder / "duckdb.parquet").rename(folder / "duckdb/rows.parquet")
    return read_rows(folder / "duckdb"), report.receipt


def round_mean(receipt: Receipt) -> Receipt:
    """Return the receipt with a mean that does not depend on the order of a sum of floats."""
    return replace(receipt, mean_row_eps=round(receipt.mean_row_eps, 9))


@pytest.mark.parametrize("draws, policy", [("keyed", "strict"), ("eps = 0", "paper")])
def test_rows_and_receipt_are_those_of_duckdb(
    frame: Any, reviews: Path, own_db: Path, tmp_path: Path, draws: str, policy: str
) -> None:
    from custext_sql.spark import sanitize

    settings: dict[str, Any] = {"eps": 0.0, "plus": True, "policy": policy}
    if draws == "keyed":
        make_key(tmp_path / "own.key", own_db, eps=0.3, plus=True)
        settings = {"key_file": tmp_path / "own.key", "record_column": "id"}
    expected, counted = release_in_duckdb(reviews, tmp_path, own_db, dataset="reviews", **settings)
    output = tmp_path / "spark"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        receipt = sanitize(frame, ["body", "title"], output=output, dataset="reviews", database=own_db, **settings)
    told = [str(warning.message) for warning in caught if warning.category is ReleaseWarning]
    assert told == list(receipt.warnings)
    assert any("passed unchanged" in warning for warning in told) == (policy == "paper")
    assert receipt.texts_unchanged > 0
    if policy == "paper":  # random digits: rows differ there
        counted = replace(counted, texts_unchanged=receipt.texts_unchanged)
        assert len(read_rows(output)) == len(expected)
    else:
        assert read_rows(output) == expected
    assert round_mean(receipt) == round_mean(replace(counted, replaced_unchanged=None))
    ledger = read_ledger(own_db)
    [total], (first, second) = ledger.totals, ledger.releases
    assert second.state == "complete"
    assert (second.by_record, second.row_count, second.draws) == (first.by_record, first.row_count, first.draws)
    assert first.by_record == (draws == "keyed")
    assert total.total_eps == first.largest_row_eps  # the same records by the same key cost nothing again
    assert frame.columns == frame.sparkSession.read.parquet(str(output)).columns  # nothing else is released


def failing_once(marker: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that passes rows on, and fails after some of them, once."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for number, batch in enumerate(batches):
            yield batch
            if context.partitionId() == 1 and context.attemptNumber() == 0 and number == 2:
                Path(marker).touch()
                raise RuntimeError("this attempt fails")

    return pass_on


def test_a_task_that_runs_twice_is_released_and_counted_once(frame: Any, own_db: Path, tmp_path: Path) -> None:
    from custext_sql.spark import sanitize

    make_key(tmp_path / "own.key", own_db)
    known: dict[str, Any] = {"dataset": "reviews", "database": own_db, "record_column": "id"}
    known["key_file"] = tmp_path / "own.key"
    calm = sanitize(frame, "body", output=tmp_path / "calm", **known)
    failing = frame.mapInArrow(failing_once(str(tmp_path / "failed")), frame.schema)
    receipt = sanitize(failing, "body", output=tmp_path / "failing", **known)
    assert (tmp_path / "failed").exists()
    assert read_rows(tmp_path / "failing") == read_rows(tmp_path / "calm")
    assert round_mean(receipt) == round_mean(calm)


def test_a_killed_worker_loses_no_row_and_repeats_none(
    frame: Any, cluster: Cluster, own_db: Path, tmp_path: Path
) -> None:
    from custext_sql.spark import sanitize

    started, killed = tmp_path / "started", tmp_path / "killed"
    started.mkdir()

    def pausing(
        batches: Iterator[pa.RecordBatch], folder: str = str(started), end: str = str(killed)
    ) -> Iterator[pa.RecordBatch]:
        import os
        import time
        from pathlib import Path

        for batch in batches:
            yield batch
            Path(folder, str(os.getppid())).touch()
            deadline = time.monotonic() + 600
            while not Path(end).exists():
                if time.monotonic() > deadline:
                    raise TimeoutError("no worker was killed")
                time.sleep(0.05)

    def kill() -> None:
        wait_for(lambda: len(list(started.iterdir())) >= 2, 300)  # both workers are in the middle of a task
        cluster.kill_worker()
        killed.touch()

    paused = frame.mapInArrow(pausing, frame.schema)
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        receipt = sanitize(paused, "body", 1.0, output=tmp_path / "out", dataset="reviews", database=own_db)
        killing.result()
    cluster.add_worker()
    assert [row[0] for row in read_rows(tmp_path / "out")] == list(range(20_000))
    assert receipt.rows == sum(row[1] is not None for row in read_rows(tmp_path / "out"))
    assert read_ledger(own_db).releases[0].row_count == receipt.rows


def meddling(folder: Path, meddle: Callable[[Path], None]) -> Callable[[Iterator[pa.RecordBatch]], Any]:
    """Return a function that passes rows on, but only after `meddle` was called on the folder of a task that ended."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        deadline = time.monotonic() + 600
        while context.partitionId() == 1:
            ended = next(folder.glob(".out.*/counted/_temporary/0/task_*"), None)
            if ended is not None:
                meddle(ended)
                break
            if time.monotonic() > deadline:
                raise TimeoutError("no task ended")
            time.sleep(0.05)
        yield from batches

    return pass_on


def test_a_release_that_lost_rows_is_not_published(frame: Any, own_db: Path, tmp_path: Path) -> None:
    from custext_sql.spark import sanitize

    folder = tmp_path / "outputs"

    def lose(ended: Path) -> None:
        import shutil

        shutil.rmtree(ended)

    losing = frame.mapInArrow(meddling(folder, lose), frame.schema)
    with pytest.raises(
        OutputError, match="20,000 rows were sanitized and 10,000 were counted, but 10,000 are in .*; nothing was"
    ):
        sanitize(losing, "body", 0.0, output=folder / "out", dataset="reviews", database=own_db)
    assert list_left(folder) == []
    assert read_ledger(own_db).releases == []


def test_a_release_that_fails_ends_after_its_last_task(spark: Any, own_db: Path, tmp_path: Path) -> None:
    """A task that goes on could create files again after the hidden folder was deleted."""
    from custext_sql.spark import sanitize

    marks, folder = tmp_path / "marks", tmp_path / "outputs"
    marks.mkdir()

    def fail_or_go_on(batches: Iterator[pa.RecordBatch], marks: str = str(marks)) -> Iterator[pa.RecordBatch]:
        import time
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        deadline = time.monotonic() + 600
        while context.partitionId() == 0:
            if Path(marks, "started").exists() or time.monotonic() > deadline:
                raise RuntimeError("this task fails")
            time.sleep(0.05)
        Path(marks, "started").touch()
        time.sleep(10)
        Path(marks, "went on").touch()
        yield from batches

    frame = spark.range(0, 2, 1, 2).selectExpr("CAST(id AS STRING) AS body").mapInArrow(fail_or_go_on, "body string")
    with pytest.raises(Exception, match="this task fails"):
        sanitize(frame, "body", 1.0, output=folder / "out", dataset="reviews", database=own_db)
    assert list_left(marks) == ["started", "went on"]
    assert list_left(folder) == []


def test_what_is_refused_leaves_nothing_behind(frame: Any, own_db: Path, tmp_path: Path) -> None:
    from custext_sql.spark import sanitize

    folder = tmp_path / "outputs"
    folder.mkdir()
    make_key(tmp_path / "own.key", own_db)
    keyed: dict[str, Any] = {"key_file": tmp_path / "own.key"}
    doubled = frame.selectExpr("id % 10 AS id", "body").limit(100)
    numbered = frame.selectExpr("body", "CAST(NULL AS STRING) AS id").limit(100)
    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (frame, {"max_row_eps": 5}, BudgetError, "a row would spend more than --max-row-eps 5 .*, up to"),
        (frame, {"budget_total": 5}, BudgetError, "5"),
        (frame, {"columns": "bod"}, SourceError, "the frame has no column 'bod'; did you mean 'body'?"),
        (frame, {"columns": "stars"}, SourceError, "column 'stars' has type .*; expected strings"),
        (frame, {"columns": []}, SettingError, "name the columns to sanitize"),
        (frame, {"columns": ["body", "BODY"]}, SettingError, "names a column twice"),
        (frame, {"eps": 1000}, SettingError, "eps must be 0, or between 0.001 and 100"),
        (frame, {"record_column": "id"}, SettingError, "is for draws from a key"),
        (frame, keyed, SettingError, "draws from a key need a column of IDs"),
        (doubled, {**keyed, "record_column": "id"}, SourceError, "10 values of column 'id' occur more than once"),
        (numbered, {**keyed, "record_column": "id"}, SettingError, "record must not be NULL"),
        (frame.sparkSession.readStream.format("rate").load(), {}, SettingError, "found a streaming one"),
        (frame, {"output": own_db / "out"}, OutputError, "cannot write .*/out: "),
        (frame, {"output": folder / "out[1]"}, OutputError, "in its path as a pattern"),
        (frame, {"output": "hdfs:///out"}, OutputError, "cannot write hdfs:///out: Incomplete HDFS URI"),
        (frame, {"output": 5}, SettingError, "output must be the path of a folder; found int"),
        (frame, {"columns": 5}, SettingError, "columns must be a name or a list of names; found int"),
        ("frame", {}, SettingError, "expected a Spark frame; found str"),
        (frame.selectExpr("body", "body AS BODY"), {}, SourceError, "the frame has 2 columns named 'body'"),
        (frame.selectExpr("body", "id AS a", "stars AS A"), {}, SourceError, "the frame has 2 columns named 'a'"),
        (frame.selectExpr("CAST(X'FF' AS STRING) AS body"), {}, SettingError, "must be valid Arrow data in UTF-8"),
    ]
    for data, wrong, error, message in cases:
        given: dict[str, Any] = {"columns": "body", "dataset": "reviews", "database": own_db, "output": folder / "out"}
        with pytest.raises(error, match=message):
            sanitize(data, **(given | wrong))
        assert list_left(folder) == [], message
    assert read_ledger(own_db).releases == []


def test_frames_of_every_shape(spark: Any, own_db: Path, tmp_path: Path) -> None:
    from custext_sql.spark import sanitize

    known: dict[str, Any] = {"dataset": "reviews", "database": own_db}
    odd = spark.createDataFrame(
        [("a good film", 1.5, {"a": [1, 2]}, None)],
        "`a.b ``c``` string, custext_counts double, custext_made map<string, array<int>>, gone string",
    )
    sanitize(odd, ["a.b `c`", "gone"], 0.0, True, output=tmp_path / "odd", **known)
    [row] = spark.read.parquet(str(tmp_path / "odd")).collect()
    expected = {"a.b `c`": "a good movie", "custext_counts": 1.5, "custext_made": {"a": [1, 2]}, "gone": None}
    assert row.asDict() == expected
    empty = sanitize(odd.limit(0), "gone", output=tmp_path / "empty", **known)
    assert (empty.rows, spark.read.parquet(str(tmp_path / "empty")).columns) == (0, odd.columns)


def test_ids_that_are_sanitized_too_are_still_ids(spark: Any, own_db: Path, tmp_path: Path) -> None:
    """All IDs of a group become the same word: what counts is whether the originals are unique."""
    from custext_sql.spark import sanitize

    make_key(tmp_path / "own.key", own_db, eps=0.0)
    given: dict[str, Any] = {"dataset": "people", "database": own_db, "key_file": tmp_path / "own.key"}
    given["record_column"] = "id"
    rows = {"id": [f"p{number}" for number in range(50)], "body": [f"good film {number}" for number in range(50)]}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    frame = spark.read.parquet(f"{tmp_path}/in.parquet")
    receipt = sanitize(frame, ["body", "id"], output=tmp_path / "out", **given)
    given["reuse_key"] = True
    report = sanitize_file(tmp_path / "in.parquet", tmp_path / "same.parquet", columns=["body", "id"], **given)
    with duckdb.connect() as connection:
        found, expected = (
            connection.execute(f"SELECT id, body FROM '{place}' ORDER BY ALL").fetchall()
            for place in (f"{tmp_path}/out/*.parquet", f"{tmp_path}/same.parquet")
        )
    assert found == expected and len({row[0] for row in found}) == 1
    assert receipt.rows == report.rows == 50
    twice = frame.unionAll(frame.limit(3))
    with pytest.raises(SourceError, match="3 values of column 'id' occur more than once"):
        sanitize(twice, ["body", "id"], output=tmp_path / "twice", **given)
