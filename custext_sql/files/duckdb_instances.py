"""Instances of DuckDB that read data and write releases within bounded memory."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.files.inputs.source import Source
from custext_sql.sql.queries import KEEP_PROGRESS, close_in_time
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.duckdb_files import SETTINGS, connect_file, private_log, when_free
from custext_sql.store.outputs import scratch_folder

_SPILL = "SET operator_memory_limit = '150MB'"  # beyond it, sorts and hash tables go to a private folder
_MOST = 1 << 30  # bytes of DuckDB's limit for a release; one that needs more gets DuckDB's own
_LEAST, _BUFFERS, _COPIES = 50 << 20, 128 << 20, 4  # per thread: bytes, those to read text files, copies of a row group
_SAMPLE = 2048  # rows


@contextmanager
def open_instance(
    data: Path | None = None, *, read_only: bool = False, spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection whose sorts are bounded, in memory or to a DuckDB file. spill: a private folder, if any."""
    with scratch_folder() if spill is None else nullcontext(spill) as folder:
        config: dict[str, Any] = {
            **SETTINGS,
            "temp_directory": str(folder),
            **({"access_mode": "READ_ONLY"} if read_only else {}),
        }
        with safe_errors():
            if data is None:
                connection = duckdb.connect(config=config)
            else:
                connection = when_free(data, lambda: connect_file(data, config))
        connection.execute(f"{KEEP_PROGRESS}; {_SPILL}")
        with nullcontext() if data is None or read_only else private_log(data):
            try:
                yield connection
            finally:
                close_in_time(connection)


def limit_memory(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    """Give DuckDB little memory for a release, but enough for the row groups of its source, going by the first rows.

    To keep the order of rows, DuckDB holds whole row groups, and fails if there is no room for them. With more room, it
    only reads further ahead of what it has written.
    """
    with safe_errors():
        [(length, threads)] = connection.execute(
            "SELECT avg(strlen(CAST(row(*COLUMNS(*)) AS VARCHAR))), current_setting('threads') "
            f"FROM (FROM {source.reader} LIMIT {_SAMPLE})"
        ).fetchall()
    buffers = 0 if source.format in ("parquet", "table") else _BUFFERS
    needed = threads * (buffers + max(_LEAST, round(_COPIES * source.row_group * (length or 0))))
    if needed <= _MOST:
        connection.execute(f"SET memory_limit = '{needed >> 20}MiB'")
