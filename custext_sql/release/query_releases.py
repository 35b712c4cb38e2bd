"""Queries that sanitize: run, counted and entered in the ledger, wherever their rows go."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import duckdb

from custext_sql.errors import OutputError, QueryError
from custext_sql.release.duckdb_instances import open_instance
from custext_sql.release.new_tables import NewTable, find_new_table
from custext_sql.replacing.receipt import Receipt
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.sql.functions import watch
from custext_sql.sql.nested_query import NestedQuery, Shown, open_for_query
from custext_sql.sql.query_errors import safe_errors
from custext_sql.sql.usage import Usage
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import atomic_output
from custext_sql.store.files.private_folders import named_full_disk, private_folder
from custext_sql.store.files.quoting import quote_path
from custext_sql.store.ledger.dataset import QUERY, Dataset
from custext_sql.store.ledger.entry import LedgerEntry, receipt_beside
from custext_sql.store.ledger.table import RAW

_Result = TypeVar("_Result")
_Progress = Callable[[float], None]

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}
_CALL = "custext_sanitize"  # how the names of both functions that sanitize begin
_DRAFT = "custext_draft.main.result"
_UNPROTECTED: dict[str, Any] = {"draws": RAW, "key_id": None, "eps": None, "plus": None, "at_least": False}


@dataclass(frozen=True)
class Answer(Generic[_Result]):
    """The result of a query. receipt: None if nothing was drawn; note: what went wrong with the ledger."""

    result: _Result
    receipt: Receipt | None
    note: str | None


class QueryRelease:
    """One query that is run and entered in the ledger.

    data: a DuckDB file; attached: more of them, by name. settings: those of `Sanitizer.load`. allow_raw: write rows
    even if nothing was sanitized.
    """

    def __init__(
        self,
        query: str,
        database: Database = None,
        data: str | None = None,
        dataset: Dataset | None = None,
        *,
        attached: Mapping[str, str] | None = None,
        allow_raw: bool = False,
        **settings: Any,
    ) -> None:
        self._query = NestedQuery(query)
        self._database, self._data, self._attached = database, data, attached
        self._dataset = (dataset or Dataset()).or_called(QUERY)
        self._allow_raw = allow_raw
        self._sanitizer = Sanitizer.load(database, **settings)

    def show(self, limit: int) -> Answer[Shown]:
        """Run the query and return its first rows."""
        return self._run(lambda connection: self._query.show(connection, limit))

    def fetch(self) -> Answer[list[Any]]:
        """Run the query and return all its rows, as objects for JSON."""
        return self._run(self._query.fetch_objects)

    def write(self, target: Path, *, force: bool = False, progress: _Progress | None = None) -> Answer[int]:
        """Write the result of the query to a new file, and return the number of rows."""
        format = _choose_format(target)
        with atomic_output(target, force=force) as output:
            return self._run(
                lambda connection: self._query.copy_to(connection, output.path, format, progress),
                publish=output.publish,
                spill=output.spill,
                beside=receipt_beside(target),
            )

    def write_table(
        self, table: str, *, append: bool = False, force: bool = False, progress: _Progress | None = None
    ) -> Answer[int]:
        """Write the result of the query to a table of the data, and return the number of rows.

        The table is new, unless `append` adds the rows to it or `force` replaces it. The rows are first written to a
        draft beside the data, then copied in one transaction.
        """
        if self._data is None:
            raise QueryError("a table needs a DuckDB file to be in: --data FILE")
        data = Path(self._data)
        with private_folder(data.parent, data.name) as folder, named_full_disk(data):
            draft = folder / "draft.duckdb"
            if data.exists():  # before the query takes long; again when the table is written
                with open_instance(data, read_only=True, spill=folder) as connection:
                    _check_target(connection, table, append=append, force=force)
            return self._run(
                lambda connection: self._query.create_table(connection, _DRAFT, draft, progress),
                publish=lambda: _copy_draft(draft, data, table, folder, append=append, force=force),
                spill=folder,
                beside=data.with_name(f"{data.name}.{table}.receipt.json"),
                draft=draft,
            )

    def _run(
        self,
        run: Callable[[duckdb.DuckDBPyConnection], _Result],
        *,
        publish: Callable[[], None] | None = None,
        spill: Path | None = None,
        beside: Path | None = None,
        draft: Path | None = None,
    ) -> Answer[_Result]:
        """Run the query and enter it in the ledger before its result leaves. publish: makes the output appear."""
        entry = LedgerEntry(self._database, self._dataset, self._sanitizer.terms, at_least=True, beside=beside)
        if _CALL in self._query.text.lower():
            entry.check()  # before a long run; what a view calls is only known afterwards
        usage = Usage()
        with open_for_query(
            self._sanitizer, self._database, self._data, self._attached, spill=spill, draft=draft
        ) as connection:
            watch(connection, usage)
            result = run(connection)
        if usage.was_called:
            receipt = usage.describe(entry, self._sanitizer)
            entry.publish(publish or _nothing, receipt, usage.keyed_sum)
            if self._sanitizer.key is not None and not usage.is_keyed:
                entry.add_note("custext_sanitize does not use the key; custext_sanitize_keyed does")
            return Answer(result, receipt, entry.note)
        if publish is not None and result:
            if not self._allow_raw:
                raise QueryError(
                    "nothing was written: the query sanitizes nothing, so its result is the original data; sanitize "
                    "the text column with custext_sanitize(column, eps, plus), or use --allow-raw to write it "
                    "unprotected"
                )
            entry.describe(**_UNPROTECTED)
            entry.publish(publish, None)
            entry.add_note("nothing was sanitized; the rows are entered as unprotected")
        elif publish is not None:
            publish()  # a result without rows
        return Answer(result, None, entry.note)


def _choose_format(target: Path) -> str:
    format = _FORMATS.get(target.suffix.lower())
    if format is None:
        raise QueryError(f"{target}: cannot tell the format; expected a name that ends in {', '.join(_FORMATS)}")
    return format


def _check_target(connection: duckdb.DuckDBPyConnection, table: str, *, append: bool, force: bool) -> NewTable:
    """Return the table to write; OutputError or QueryError if that is not possible."""
    with safe_errors():
        names = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        if names >= {"alembic_version", "mappings", "score_rows"}:
            raise QueryError("queries cannot change a custext database; name another file: --data FILE")
        target = find_new_table(connection, table)
        if not append:
            target.check(connection, force=force)
        elif not target.exists(connection, "table"):
            other = (
                "is a view" if target.exists(connection, "view") else "does not exist; to create it, leave out --append"
            )
            raise OutputError(f"table {target} {other}")
    return target


def _copy_draft(draft: Path, data: Path, table: str, spill: Path, *, append: bool, force: bool) -> None:
    """Copy the rows of the draft to a table, in one transaction."""
    with open_instance(data, spill=spill) as connection:
        target = _check_target(connection, table, append=append, force=force)
        with safe_errors():
            connection.execute(f"ATTACH {quote_path(draft)} AS custext_draft (TYPE duckdb, READ_ONLY)")
            if append:
                _check_columns(connection, target)
            made = "INSERT INTO {} BY NAME" if append else f"CREATE {'OR REPLACE ' if force else ''}TABLE {{}} AS"
            connection.execute(f"BEGIN; {made.format(target.quoted)} FROM {_DRAFT}; COMMIT")


def _check_columns(connection: duckdb.DuckDBPyConnection, target: NewTable) -> None:
    """Raise an OutputError unless the draft has the columns of the table, in any order."""
    expected, found = (
        [row[0].lower() for row in connection.execute(f"DESCRIBE {name}").fetchall()]
        for name in (target.quoted, _DRAFT)
    )
    if sorted(expected) != sorted(found):
        raise OutputError(f"the query must return the columns of table {target}: {', '.join(expected)}")


def _nothing() -> None:
    """Do nothing: the result of the query goes to the caller."""
