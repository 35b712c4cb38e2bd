"""Queries that sanitize: run, counted and entered in the ledger, wherever their rows go."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import duckdb

from custext_sql.errors import OutputError, QueryError
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.files.inputs.source import is_custext
from custext_sql.files.new_tables import NewTable, check_same_columns, find_new_table
from custext_sql.ledger.dataset import QUERY, Dataset
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.receipt import Receipt
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sql.nested_query import DRAFT, NestedQuery, Shown, open_for_query
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.outputs import atomic_output, named_full_disk, private_folder
from custext_sql.store.quoting import quote_path

_Result = TypeVar("_Result")
_Progress = Callable[[float], None]

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}
_CALL = "custext_sanitize"  # how the names of both functions that sanitize begin


@dataclass(frozen=True)
class Answer(Generic[_Result]):
    """The result of a query. receipt: None if nothing was drawn; note: what the user should know about it."""

    result: _Result
    receipt: Receipt | None
    note: str | None


class ReleasingQuery:
    """One query that is run and entered in the ledger.

    data: a DuckDB file; attached: more of them, by name. allow_raw: write rows even if nothing was sanitized.
    """

    def __init__(
        self,
        query: str,
        sanitizer: Sanitizer,
        data: str | None = None,
        dataset: Dataset | None = None,
        *,
        attached: Mapping[str, str] | None = None,
        allow_raw: bool = False,
    ) -> None:
        self._query = NestedQuery(query)
        self._data, self._attached, self._allow_raw = data, attached, allow_raw
        self._release = Release(sanitizer, (dataset or Dataset()).or_called(QUERY), name="the query", at_least=True)

    def show(self, limit: int) -> Answer[Shown]:
        """Run the query and return its first rows."""
        return self._run(lambda connection: self._query.show(connection, limit))

    def fetch(self) -> Answer[list[Any]]:
        """Run the query and return all its rows, as objects for JSON."""
        return self._run(self._query.fetch_objects)

    def write(self, target: Path, *, force: bool = False, progress: _Progress | None = None) -> Answer[int]:
        """Write the result of the query to a new file, and return the number of rows."""
        format = _FORMATS.get(target.suffix.lower())
        if format is None:
            raise QueryError(f"{target}: cannot tell the format; expected a name that ends in {', '.join(_FORMATS)}")
        with atomic_output(target, force=force) as output:
            return self._run(
                lambda connection: self._query.write(connection, output.path, format, progress),
                publish=output.publish,
                describe=output.describe,
                spill=output.spill,
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
                lambda connection: self._query.write(connection, draft, None, progress),
                publish=lambda: _copy_draft(draft, data, table, folder, append=append, force=force),
                describe=lambda: [{"name": f"{data.resolve()}, table {table}"}],
                spill=folder,
                draft=draft,
            )

    def _run(
        self,
        run: Callable[[duckdb.DuckDBPyConnection], _Result],
        *,
        publish: Callable[[], None] | None = None,
        describe: Callable[[], list[dict[str, str]]] = list,
        spill: Path | None = None,
        draft: Path | None = None,
    ) -> Answer[_Result]:
        """Run the query and enter it in the ledger before its result leaves.

        publish: makes the output appear. describe: returns what the ledger says about it.
        """
        release = self._release
        if _CALL in self._query.text.lower():
            release.check()  # before a long run; what a view calls is only known afterwards
        with open_for_query(release, self._data, self._attached, spill=spill, draft=draft) as connection:
            result = run(connection)
        if release.was_called:
            receipt = release.publish(publish, describe())
            unused = release.sanitizer.key is not None and not release.is_keyed
            note = "custext_sanitize does not use the key; custext_sanitize_keyed does" if unused else None
            return Answer(result, receipt, note)
        if publish is None:
            return Answer(result, None, None)
        rows = int(result)  # type: ignore[call-overload]
        if rows and not self._allow_raw:
            raise QueryError(
                "nothing was written: the query sanitizes nothing, so its result is the original data; sanitize the "
                "text column with custext_sanitize(column, eps, plus), or use --allow-raw to write it unprotected"
            )
        release.publish_unsanitized(publish, describe(), rows)
        return Answer(result, None, "nothing was sanitized; the rows are entered as unprotected" if rows else None)


def _check_target(connection: duckdb.DuckDBPyConnection, table: str, *, append: bool, force: bool) -> NewTable:
    """Return the table to write; OutputError or QueryError if that is not possible."""
    with safe_errors():
        if is_custext(connection):
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
                check_same_columns(connection, target, f"FROM {DRAFT}")
            made = "INSERT INTO {} BY NAME" if append else f"CREATE {'OR REPLACE ' if force else ''}TABLE {{}} AS"
            connection.execute(f"BEGIN; {made.format(target.quoted)} FROM {DRAFT}; COMMIT")
