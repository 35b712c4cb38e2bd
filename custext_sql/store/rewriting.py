"""Replaces database files by rewritten ones, all or nothing: upgraded to this version's revision, or compact."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from custext_sql.errors import DatabaseError, OutputError
from custext_sql.store import schema
from custext_sql.store.database import Database, locate
from custext_sql.store.database_files import (
    NO_BAR,
    attach_new,
    connect,
    empty_database,
    find_revision,
    is_interrupt,
    reading_file,
    tell_reason,
)
from custext_sql.store.duckdb_files import NO_ASYNC_WRITES, hold_still
from custext_sql.store.outputs import AtomicOutput, atomic_output
from custext_sql.store.quoting import quote_name, quote_path, quote_text

_MEMORY = "512MB"  # otherwise DuckDB keeps a large database in memory
_MUCH, _MUCH_SHARE = 16_000_000, 0.2  # bytes, and share of a file, that are worth a hint if they are free
_CATALOG = ("schemas", "tables", "columns", "constraints", "indexes", "views", "functions", "sequences", "types")
_DESCRIBES = (  # columns of these lists that describe what they list; IDs and sizes differ between equal databases
    "^(?:(?:schema|table|column|constraint|index|view|function|sequence|type)_name|comment|tags|sql|"
    "column_(?:index|default)|data_type|is_(?:nullable|generated|unique|primary)|generation_expression|"
    "constraint_(?:type|text)|function_type|parameters|parameter_types|macro_definition|last_value|logical_type|labels)$"
)


@dataclass(frozen=True)
class Compaction:
    """What `compact_database` did. bytes_before, bytes_after: the size of the database file."""

    database: str
    bytes_before: int
    bytes_after: int


def compact_database(database: Database = None) -> Compaction:
    """Rewrite a database file to its smallest size, and return its size before and after.

    DuckDB reuses the space of what was dropped or replaced, but gives none of it back. The new file is written beside
    the old one and compared with it, row by row, before it takes its place; so the disk needs room for both. Whatever
    happens, one of the two is there whole. What was dropped is no longer in the file afterwards. DatabaseError if the
    database is missing, in use, or cannot be written; nothing was changed then.
    """
    path = _find_file(database, "compact")
    with reading_file(path):  # it is a custext database of this revision
        pass
    with _rewriting(path, "compact") as (connection, output):
        before = path.stat().st_size
        _copy_database(connection, "old", output.path)
        connection.execute(f"ATTACH {quote_path(output.path)} AS copied (TYPE duckdb, READ_ONLY)")
        different = find_difference(connection, "old", "copied")
        connection.execute("DETACH copied")
        if different is not None:
            raise DatabaseError(
                f"cannot compact {path}: DuckDB's copy of it differs in {different}; nothing was changed"
            )
        after = output.path.stat().st_size
    return Compaction(str(path), before, after)


def upgrade_database(database: Database = None) -> tuple[str, str]:
    """Upgrade a database to this version's revision, all or nothing, and return the revisions before and after.

    The file is rewritten as a whole: DuckDB leaves deleted data readable in the blocks that a migration frees.
    """
    path = _find_file(database, "upgrade")
    newest = schema.REVISIONS[-1]
    connection = connect(path, read_only=False)
    try:
        before = find_revision(connection, path)
    except duckdb.Error as error:
        raise DatabaseError(f"cannot read {path}: {tell_reason(error, path)}") from None
    finally:
        connection.close()
    if before is None:
        raise empty_database(path)
    if before != newest:
        from custext_sql.store import migrating  # loads Alembic

        with _rewriting(path, "upgrade") as (connection, output):
            upgraded = output.path.with_name("upgraded.duckdb")
            _copy_database(connection, "old", upgraded)
            migrating.upgrade(upgraded)
            connection.execute(f"ATTACH {quote_path(upgraded)} AS upgraded (TYPE duckdb, READ_ONLY)")
            _copy_database(connection, "upgraded", output.path)
            connection.execute("DETACH upgraded")
    return before, newest


def suggest_compacting(path: Path) -> str | None:
    """Return how much of a database file is free, with the command that gives it back; None if it is not much."""
    free = measure_free(path)
    if free < max(_MUCH, _MUCH_SHARE * path.stat().st_size):
        return None
    return f"{free / 1e6:.1f} MB of the file is unused; to return it to the disk, run: custext compact"


def measure_free(path: Path) -> int:
    """Return about how many bytes of a database file contain nothing."""
    with reading_file(path) as connection:
        [(used,)] = connection.execute(
            "SELECT used_blocks * block_size FROM pragma_database_size() WHERE database_name = current_database()"
        ).fetchall()
    return max(0, path.stat().st_size - int(used))


def find_difference(connection: duckdb.DuckDBPyConnection, first: str, second: str) -> str | None:
    """Return what differs between two attached databases, such as "the table groups"; None if they are equal.

    It compares all that their catalogs say, and the rows of tables in the order in which they are stored.
    """

    def describe(kind: str, database: str) -> list[tuple[object, ...]]:
        query = f"SELECT COLUMNS('{_DESCRIBES}') FROM duckdb_{kind}() WHERE database_name = ? ORDER BY ALL"
        return connection.execute(query, [database]).fetchall()

    for kind in _CATALOG:
        if describe(kind, first) != describe(kind, second):
            return f"its {kind}"
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL", [first]
    ).fetchall()
    for names in tables:
        one, other = (".".join(map(quote_name, (database, *names))) for database in (first, second))
        [(is_different,)] = connection.execute(
            f"SELECT (SELECT count(*) FROM {one}) <> (SELECT count(*) FROM {other}) OR EXISTS ("
            f"FROM {one} AS custext_first POSITIONAL JOIN {other} AS custext_second "
            "WHERE custext_first IS DISTINCT FROM custext_second)"
        ).fetchall()
        if is_different:
            return f"the table {names[1]}"
    return None


def _find_file(database: Database, verb: str) -> Path:
    """Return the file of a database itself; DatabaseError if it is missing, or cannot be replaced."""
    path = locate(database).resolve()  # a symbolic link would otherwise be replaced by a file
    if not path.exists():
        raise DatabaseError(f"database {path} does not exist")
    if path.stat().st_nlink > 1:
        raise DatabaseError(
            f"cannot {verb} {path}: it has several names (hard links), and only one would be replaced; remove the "
            "others"
        )
    return path


@contextmanager
def _rewriting(path: Path, verb: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, AtomicOutput]]:
    """Yield a connection that has a database attached as `old`, and an output that replaces it at the end.

    No other process and no other thread can open the database meanwhile, so nobody writes to a file that is replaced.
    """
    try:
        with (
            atomic_output(path, force=True, private=True) as output,
            duckdb.connect(config=NO_ASYNC_WRITES) as connection,
            hold_still(connection, path, "old"),
        ):
            connection.execute(NO_BAR)
            connection.execute(f"SET memory_limit = '{_MEMORY}'")
            connection.execute(f"SET temp_directory = {quote_text(str(output.spill))}")
            yield connection, output
            if output.path.with_name(f"{output.path.name}.wal").exists():
                raise DatabaseError(f"cannot {verb} {path}: DuckDB did not write all of it; nothing was changed")
            with suppress(OSError):  # only root can change the owner
                shutil.chown(output.path, path.stat().st_uid, path.stat().st_gid)
            output.publish()
    except (OSError, OutputError, duckdb.Error, RuntimeError) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, RuntimeError):
            raise
        raise DatabaseError(f"cannot {verb} {path}: {tell_reason(error, path)}; nothing was changed") from None


def _copy_database(connection: duckdb.DuckDBPyConnection, name: str, target: Path) -> None:
    """Copy everything in an attached database to a new file."""
    attach_new(connection, target, "copied")
    connection.execute(f"COPY FROM DATABASE {name} TO copied")
    connection.execute("DETACH copied")
