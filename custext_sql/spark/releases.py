"""Releases of Spark frames: `sanitize`."""

import os
import re
import secrets
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Unpack

import pyarrow as pa
from pyspark import Accumulator
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType, StringType

from custext_sql import Receipt, errors
from custext_sql.errors import OutputError, PrivacyWarning, SettingError, SourceError
from custext_sql.files.opening import (
    OtherOptions,
    ReleaseReport,
    check_chosen,
    check_ids,
    check_record_column,
    open_release,
)
from custext_sql.files.parts import add_part, sanitize_part
from custext_sql.parameters import check_type, suggest
from custext_sql.spark.folders import DraftFolder
from custext_sql.spark.functions import Shipped, make_arrow_function, open_shipped, ship

_COUNTED, _ROWS = "counted", "rows"  # folders: the rows with their counts, and the rows to publish
_COMMIT = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}  # version 2 can keep files of failed tasks
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_RAISED = re.compile(r"custext_sql\.errors\.(\w+Error): (.+)")  # the last line of a worker's traceback
_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
_WAIT = 60.0  # seconds for jobs and their tasks to end after they were canceled


def sanitize(
    frame: DataFrame,
    columns: str | Sequence[str],
    eps: float | None = None,
    plus: bool | None = None,
    *,
    output: str | os.PathLike[str],
    force: bool = False,
    **options: Unpack[OtherOptions],
) -> Receipt:
    """Sanitize columns of a frame into a folder of Parquet files, enter the release in the ledger, return the receipt.

    columns: the columns to sanitize; all others are copied unchanged. output: a folder that this process and all
    executors share; it appears only when it is complete. force: replace an existing folder. The options, errors and
    warnings are those of `sanitize_file`, but dataset, the name of the data in the ledger, must be given, and draws
    cannot be seeded. key_file: as in `register`. record_column: with a key, the column of IDs, strings or whole
    numbers. The ledger is the one of this process.

    The rows are written with their counts into a hidden folder beside the output. Only what Spark committed there is
    counted and published, however often a task ran. max_row_eps and budget_total are checked just before publishing.
    OutputError, and nothing is published, if the number of rows there is not the number of rows that were sanitized.

    The frame must belong to a classic session, because a Spark Connect client cannot rename a folder of the cluster.
    """
    check_type(frame, DataFrame, "expected a Spark frame")
    if not isinstance(output, str | os.PathLike) or not os.fspath(output):
        raise SettingError(f"output must be the path of a folder; found {type(output).__name__}")
    spark = frame.sparkSession
    if not hasattr(spark, "sparkContext") or not hasattr(spark, "_jvm"):
        raise SettingError("sanitize needs a classic Spark session; found a Spark Connect session")
    if frame.isStreaming:
        raise SettingError("sanitize needs a batch frame; found a streaming one")
    check_type(columns, Iterable, "columns must be a name or a list of names")
    names = [columns] if isinstance(columns, str) else columns
    chosen = [_find_column(frame, name, "strings", StringType) for name in names]
    record = options.get("record_column")
    if record is not None:
        record = _find_column(frame, record, "strings or whole numbers", StringType, *_INTEGERS)
        options["record_column"] = record
    if options.get("dataset") is None:
        raise SettingError('name the data: dataset="reviews"; releases of data with the same name add up')
    if options.get("seed") is not None:
        raise SettingError("draws on a cluster cannot be seeded: their order differs from run to run")
    release = open_release("the frame", columns=chosen, eps=eps, plus=plus, **options)
    release.dataset = release.dataset.or_called("")
    check_chosen(chosen, release.name, "none was named")
    check_record_column(release.sanitizer.key, record)
    release.copied = tuple(name for name in frame.columns if name not in chosen)
    release.check()
    shipped = ship(spark, release.sanitizer)
    with _own_errors(), DraftFolder(spark, os.fspath(output), force=force) as draft, _own_jobs(spark):
        if draft.is_replaced(frame.inputFiles()):
            raise OutputError(f"{output} is read by the frame; give the output another name")
        for left in draft.left:
            warnings.warn(left, PrivacyWarning, stacklevel=2)
        counts = _find_new_name(frame, "custext_counts")
        sanitized = spark.sparkContext.accumulator(0)  # Spark adds up the rows of tasks that succeeded, each task once
        rows = _sanitize_rows(frame, chosen, record, shipped, counts, sanitized)
        rows.write.options(**_COMMIT).parquet(draft.path(_COUNTED))
        committed = spark.read.parquet(draft.path(_COUNTED))
        if record is not None:
            # sanitized IDs are no IDs; those of the frame are not written anywhere, not even for a moment
            ids = (frame if record in chosen else committed).groupBy(_column(record).cast("string")).count()
            check_ids(release.name, record, 0, ids.where("count > 1").count())
        parts = committed.select(counts).where(sf.col(counts).isNotNull()).toLocalIterator()
        counted = sum(add_part(release, bytes(row[0])) for row in parts)
        committed.drop(counts).write.options(**_COMMIT).parquet(draft.path(_ROWS))
        written = spark.read.parquet(draft.path(_ROWS)).count()
        if not written == sanitized.value == counted:
            raise OutputError(
                f"{sanitized.value:,} rows were sanitized and {counted:,} were counted, but {written:,} are in "
                f"{draft.path(_ROWS)}: something else changed files there; nothing was published"
            )
        receipt = release.publish(lambda: draft.publish(_ROWS), draft.describe(_ROWS))
    ReleaseReport(receipt.rows, receipt).warn()
    return receipt


def _sanitize_rows(
    frame: DataFrame,
    chosen: list[str],
    record: str | None,
    shipped: Shipped,
    counts: str,
    sanitized: Accumulator[int],
) -> DataFrame:
    """Return the sanitized frame with another column: the counts of each batch, on the first row of the batch.

    sanitized: adds up the rows when the frame is written.
    """
    made = _find_new_name(frame, "custext_made")
    new = {name: f"c{number}" for number, name in enumerate(chosen)}

    def custext_rows(*columns: pa.Array) -> pa.Array:
        texts, ids = dict(zip(chosen, columns, strict=False)), columns[len(chosen) :]
        done, counted = sanitize_part(open_shipped(shipped), texts, *ids)
        sanitized.add(len(columns[0]))
        fields = [text.cast(pa.string()) for text in done.values()]
        fields.append(pa.array([counted, *[None] * (len(columns[0]) - 1)], pa.binary()))
        return pa.StructArray.from_arrays(fields, names=[*new.values(), "counts"])

    result = ", ".join([*(f"{field} string" for field in new.values()), "counts binary"])
    make = make_arrow_function(custext_rows, result).asNondeterministic()  # or else Spark may call it twice per row
    ids = [] if record is None else [_column(record).cast("string")]
    whole = frame.withColumn(made, make(*map(_column, chosen), *ids))
    rows = [sf.col(f"{made}.{new[name]}").alias(name) if name in new else _column(name) for name in frame.columns]
    return whole.select(*rows, sf.col(f"{made}.counts").alias(counts))


def _find_column(frame: DataFrame, name: str, expected: str, *kinds: type[DataType]) -> str:
    """Return the name of a column as the frame spells it.

    SourceError if it is missing or has the wrong type, or if columns have the same name and so cannot be told apart.
    """
    check_type(name, str, "columns must be names of columns")
    is_exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    same = Counter(column if is_exact else column.lower() for column in frame.columns)
    [(repeated, count)] = same.most_common(1) or [("", 0)]
    if count > 1:
        raise SourceError(f"the frame has {count} columns named {repeated!r}; rename them")
    found = [column for column in frame.columns if column == name or (not is_exact and column.lower() == name.lower())]
    if not found:
        raise SourceError(f"the frame has no column {name!r}; {suggest(name, frame.columns, 'columns')}")
    kind = frame.schema[found[0]].dataType
    if not isinstance(kind, kinds):
        raise SourceError(f"the frame: column {name!r} has type {kind.typeName()}; expected {expected}")
    return found[0]


def _find_new_name(frame: DataFrame, name: str) -> str:
    """Return the name, with underscores appended until no column of the frame has it."""
    while name in (column.lower() for column in frame.columns):
        name += "_"
    return name


def _column(name: str) -> Any:
    """Return the column of that name, which may contain dots and other special characters."""
    return sf.col("`" + name.replace("`", "``") + "`")


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raise the CusTextError that a worker raised, instead of Spark's error about it."""
    try:
        yield
    except PySparkException as error:
        found = _RAISED.search(str(error))
        kind = getattr(errors, found[1], None) if found else None
        if found is None or kind is None:
            raise
        raise kind(found[2]) from None


@contextmanager
def _own_jobs(spark: Any) -> Iterator[None]:
    """Run the jobs of a block as a group of their own; if the block fails, cancel them, and wait until they end."""
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in (_GROUP, _DESCRIPTION)}
    group = f"custext-{secrets.token_hex(8)}"
    context.setJobGroup(group, "custext_sql.spark.sanitize")
    try:
        yield
    except BaseException:
        _cancel(context, group)
        raise
    finally:
        with suppress(Exception):
            for name, value in before.items():
                context.setLocalProperty(name, value)


def _cancel(context: Any, group: str) -> None:
    """Cancel the jobs of a group, and wait until their last task has ended: until then, tasks may write files."""
    deadline = time.monotonic() + _WAIT
    while time.monotonic() < deadline:
        with suppress(Exception):  # the first call after an interrupt may fail
            if not _is_running(context.statusTracker(), group):
                return
            context.cancelJobGroup(group)
        time.sleep(0.2)


def _is_running(tracker: Any, group: str) -> bool:
    """Return whether a job of a group is active, or a task of such a job, which may go on after its job has failed."""
    jobs = tracker.getJobIdsForGroup(group)
    if set(jobs) & set(tracker.getActiveJobsIds()):
        return True
    known = [info for info in map(tracker.getJobInfo, jobs) if info is not None]
    stages = [tracker.getStageInfo(stage) for info in known for stage in info.stageIds]
    return any(stage is not None and stage.numActiveTasks > 0 for stage in stages)
