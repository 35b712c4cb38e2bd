"""Instances of DuckDB that read data and write releases within bounded memory."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb

from custext_sql.sql.queries import KEEP_PROGRESS, close_in_time
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.duckdb_files import SETTINGS, connect_file, private_log, when_free
from custext_sql.store.outputs import scratch_folder

_MEMORY = "150MB"  # DuckDB's limit; what does not fit is spilled into a private folder


@contextmanager
def open_instance(
    data: Path | None = None, *, read_only: bool = False, spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with bounded memory, in memory or to a DuckDB file. spill: a private folder, if any."""
    with scratch_folder() if spill is None else nullcontext(spill) as folder:
        config: dict[str, Any] = {
            **SETTINGS,
            "memory_limit": _MEMORY,
            "temp_directory": str(folder),
            **({"access_mode": "READ_ONLY"} if read_only else {}),
        }
        with safe_errors():
            if data is None:
                connection = duckdb.connect(config=config)
            else:
                connection = when_free(data, lambda: connect_file(data, config))
        connection.execute(KEEP_PROGRESS)
        with nullcontext() if data is None or read_only else private_log(data):
            try:
                yield connection
            finally:
                close_in_time(connection)
