"""Releases of Spark frames: `sanitize`."""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Unpack

import pyarrow as pa
from pyspark import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

from custext_sql import (
    OutputError,
    PrivacyWarning,
    Receipt,
    ReleaseReport,
    SettingError,
    add_part,
    open_release,
    sanitize_part,
)
from custext_sql.release.opening import OtherOptions, check_chosen, check_ids, check_record_column
from custext_sql.spark.arrow_functions import make_arrow_function
from custext_sql.spark.columns import check_names, find_column, find_new_name, list_names, quote
from custext_sql.spark.errors import own_errors
from custext_sql.spark.folders import draft_folder
from custext_sql.spark.jobs import own_jobs
from custext_sql.spark.shipping import Shipped, open_shipped, ship

_COUNTED, _ROWS = "counted", "rows"  # folders: the rows with their counts, and the rows to publish
_COMMIT = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}  # version 2 can keep files of failed tasks
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)


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
    if not isinstance(frame, DataFrame):
        raise SettingError(f"expected a Spark frame; found {type(frame).__name__}")
    target = os.fspath(output) if isinstance(output, str | os.PathLike) else None
    if not target or not isinstance(target, str):
        raise SettingError(f"output must be the path of a folder; found {type(output).__name__}")
    spark = frame.sparkSession
    if not hasattr(spark, "sparkContext") or not hasattr(spark, "_jvm"):
        raise SettingError("sanitize needs a classic Spark session; found a Spark Connect session")
    if frame.isStreaming:
        raise SettingError("sanitize needs a batch frame; found a streaming one")
    check_names(frame)
    chosen = [find_column(frame, name, StringType) for name in list_names(columns)]
    record = options.get("record_column")
    if record is not None:
        record = options["record_column"] = find_column(frame, record, (StringType, *_INTEGERS))
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
    with own_errors(), draft_folder(spark, target, force=force) as draft, own_jobs(spark):
        if draft.is_replaced(frame.inputFiles()):
            raise OutputError(f"{output} is read by the frame; give the output another name")
        for left in draft.left:
            warnings.warn(left, PrivacyWarning, stacklevel=2)
        counts = find_new_name(frame, "custext_counts")
        sanitized = spark.sparkContext.accumulator(0)  # Spark adds up the rows of tasks that succeeded, each task once
        rows = _sanitize_rows(frame, chosen, record, shipped, counts, sanitized)
        rows.write.options(**_COMMIT).parquet(draft.path(_COUNTED))
        committed = spark.read.parquet(draft.path(_COUNTED))
        if record is not None:
            # sanitized IDs are no IDs; those of the frame are not written anywhere, not even for a moment
            check_ids(release.name, record, 0, _count_repeated(frame if record in chosen else committed, record))
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
    chosen: Sequence[str],
    record: str | None,
    shipped: Shipped,
    counts: str,
    sanitized: Accumulator[int],
) -> DataFrame:
    """Return the sanitized frame with another column: the counts of each batch, on the first row of the batch.

    sanitized: adds up the rows when the frame is written.
    """
    fields = [f"c{number} string" for number in range(len(chosen))]
    make = make_arrow_function(_make_rows(shipped, list(chosen), sanitized), f"{', '.join(fields)}, counts binary")
    texts = [sf.col(quote(name)) for name in chosen]
    ids = [] if record is None else [sf.col(quote(record)).cast("string")]
    made = find_new_name(frame, "custext_made")
    new = {name: sf.col(f"{made}.c{number}").alias(name) for number, name in enumerate(chosen)}
    rows = [new.get(name, sf.col(quote(name))) for name in frame.columns]
    whole = frame.withColumn(made, make.asNondeterministic()(*texts, *ids))  # or else Spark may call it twice per row
    return whole.select(*rows, sf.col(f"{made}.counts").alias(counts))


def _make_rows(shipped: Shipped, names: list[str], sanitized: Accumulator[int]) -> Callable[..., pa.Array]:
    def custext_rows(*columns: pa.Array) -> pa.Array:
        texts, ids = dict(zip(names, columns, strict=False)), columns[len(names) :]
        done, counts = sanitize_part(open_shipped(shipped), texts, *ids)
        sanitized.add(len(columns[0]))
        made = [text.cast(pa.string()) for text in done.values()]
        made.append(pa.array([counts, *[None] * (len(columns[0]) - 1)], pa.binary()))
        return pa.StructArray.from_arrays(made, names=[*(f"c{number}" for number in range(len(names))), "counts"])

    return custext_rows


def _count_repeated(frame: DataFrame, record: str) -> int:
    """Return how many IDs occur more than once."""
    return frame.groupBy(sf.col(quote(record)).cast("string")).count().where("count > 1").count()
