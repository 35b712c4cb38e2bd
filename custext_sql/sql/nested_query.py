"""One query of a user, nested in `SELECT * FROM (...)`, so that it can return rows but not write any.

A statement's type does not tell what it writes: to DuckDB, a CTE that inserts rows or copies them to a file is a
SELECT. Within a subquery, DuckDB refuses all of them, as long as it does not split the query into several statements,
as it does for a PIVOT without a list of values. The databases are attached for reading only, and settings are locked,
since some make DuckDB write logs. What is left is a function that runs SQL of its own. The plan shows it, even if a
view hides it, and is the same each time, because functions that turn values into SQL are refused. So the rows of a
query go only where this program writes them.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from duckdb import StatementType

from custext_sql.errors import ForeignFileError, QueryError
from custext_sql.ledger.release import Release
from custext_sql.parameters import count_of
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.functions import register_sanitizer
from custext_sql.sql.queries import KEEP_PROGRESS, close_in_time, fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.sql.query_words import find_calls, find_words, strip_ending
from custext_sql.store.database import attach, locate
from custext_sql.store.duckdb_files import SETTINGS, attach_file, refuse_second
from custext_sql.store.outputs import scratch_folder
from custext_sql.store.quoting import quote_name, quote_text

DRAFT = "custext_draft.main.result"  # a table in a new DuckDB file, beside the data

_CONFIG: dict[str, Any] = {
    **SETTINGS,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # variables of this program are not tables
}
_RUNS_SQL = re.compile(
    r'"(?:name|Function)": "(?:json_execute_serialized_sql|\w+_external_resource(?:_type)?) ?"', re.IGNORECASE
)
_TURN_INTO_SQL = {"query", "query_table"}
_ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")
_NUMBERS = re.compile(r"U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL")
_TAKEN = {"main", "memory", "temp", "system", "custext", "custext_draft"}
_PYTHON = "use custext_sql.connect() in Python"
_INTO = "write the rows of a query to a table with --into TABLE --data FILE"
_INSTEAD = {  # what to do instead of a statement that is not a query
    **dict.fromkeys(
        (StatementType.COPY, StatementType.EXPORT), "write the rows of a query to a file with --output FILE"
    ),
    **dict.fromkeys((StatementType.CREATE, StatementType.INSERT, StatementType.MERGE_INTO), _INTO),
    StatementType.ATTACH: "attach a database with --attach NAME=FILE",
    StatementType.MULTI: "a PIVOT needs a list of values: PIVOT ... ON column IN (value, ...)",
}


@dataclass(frozen=True)
class Shown:
    """The first rows of a result as text; None stands for NULL. goes_on: there are more rows."""

    columns: list[str]
    is_number: list[bool]
    rows: list[tuple[str | None, ...]]
    goes_on: bool


class NestedQuery:
    """One query that can only return rows. QueryError if the text is not one query."""

    def __init__(self, query: str) -> None:
        try:
            query.encode()
        except UnicodeEncodeError:
            raise QueryError("the query is not valid UTF-8") from None
        with safe_errors(query), duckdb.connect() as parser:
            statements = parser.extract_statements(query)
            if not statements:
                raise QueryError("the query is empty")
            if len(statements) > 1:
                raise QueryError(
                    f"expected one query, found {count_of(len(statements), 'statement')}; put earlier steps into a "
                    f"WITH clause, or {_PYTHON}"
                )
            self.text = query
            self.nested = f"SELECT * FROM (\n{strip_ending(query)}\n)"
            kind = statements[0].type
            try:
                kinds = [kind, *(statement.type for statement in parser.extract_statements(self.nested))]
            except duckdb.ParserException:
                kinds = []
            if kinds != [StatementType.SELECT] * 2:
                found = (
                    "" if kind == StatementType.MULTI else f"expected a query, found {kind.name}; ".replace("_", " ")
                )
                raise QueryError(f"{found}{_INSTEAD.get(kind, _PYTHON)}")

    def show(self, connection: duckdb.DuckDBPyConnection, limit: int) -> Shown:
        """Run the query and return its first rows."""
        with safe_errors(self.text):
            self.check(connection)
            described = connection.execute(f"DESCRIBE {self.nested}").fetchall()
            rows = fetch(connection, f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({self.nested})", limit + 1)
        is_number = [bool(_NUMBERS.match(column[1])) for column in described]
        return Shown([column[0] for column in described], is_number, rows[:limit], len(rows) > limit)

    def fetch_objects(self, connection: duckdb.DuckDBPyConnection) -> list[Any]:
        """Run the query and return all its rows, each as an object for JSON."""
        with safe_errors(self.text):
            self.check(connection)
            rows = fetch(connection, f"SELECT to_json(custext_row) FROM ({self.nested}) AS custext_row")
        try:
            return [json.loads(row, parse_constant=str) for (row,) in rows]
        except RecursionError:
            raise QueryError("a value is nested too deeply for JSON; cast it to VARCHAR") from None

    def write(
        self,
        connection: duckdb.DuckDBPyConnection,
        path: Path,
        format: str | None,
        progress: Callable[[float], None] | None = None,
    ) -> int:
        """Write the result of the query to a file, or without a format to the draft; return the number of rows.

        ENUMs become texts: their type lists all values, even those of rows that are left out.
        """
        with safe_errors(self.text):
            self.check(connection)
            texts = [
                f"CAST({quote_name(name)} AS {_ENUM.sub('VARCHAR', kind)}) AS {quote_name(name)}"
                for name, kind, *_ in connection.execute(f"DESCRIBE {self.nested}").fetchall()
                if _ENUM.search(kind)
            ]
            query = f"SELECT * REPLACE ({', '.join(texts)}) FROM ({self.nested})" if texts else self.nested
            statement = f"CREATE TABLE {DRAFT} AS {query}"
            if format is not None:
                statement = f"COPY ({query}) TO {quote_text(str(path))} ({choose_copy_options(format)})"
            [(rows,)] = fetch(connection, statement, writes=path, progress=progress)
        return int(rows)

    def check(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Raise a QueryError if DuckDB refuses the query, or if it uses a function that runs SQL of its own."""
        if _TURN_INTO_SQL & set().union(*map(find_calls, self._list_sql(connection))):
            raise QueryError(f"query() and query_table() turn values into SQL, which may write; {_PYTHON}")
        [(_, plan)] = fetch(connection, f"EXPLAIN (FORMAT json) {self.nested}")
        if _RUNS_SQL.search(plan):
            raise QueryError(f"the query uses a function that runs SQL of its own, which may write; {_PYTHON}")

    def _list_sql(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        """Return the query, and the views and macros whose names occur in it, or in one of these."""
        stored = connection.execute(
            "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL SELECT function_name, "
            "macro_definition FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL"
        ).fetchall()
        found = [self.text]
        for sql in found:  # it grows meanwhile
            words = find_words(sql)
            found += [text for name, text in stored if name.lower() in words and text not in found]
        return found


@contextmanager
def open_for_query(
    release: Release[Sanitizer],
    data: str | os.PathLike[str] | None = None,
    attached: Mapping[str, str] | None = None,
    *,
    spill: Path | None = None,
    draft: Path | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection in memory with the functions, for a nested query that makes a release.

    The DuckDB file `data` is attached for reading, or without one the custext database; so are the files in `attached`,
    by name. spill: a private folder for what does not fit into memory, if there is one. draft: a new DuckDB file, to be
    attached for writing as `custext_draft`. Errors of DuckDB quote no data.
    """
    with safe_errors(), scratch_folder() if spill is None else nullcontext(spill) as folder:
        connection = duckdb.connect(config={**_CONFIG, "temp_directory": str(folder)})
        try:
            database = release.sanitizer.database
            if data is None or Path(data).resolve() == locate(database).resolve():
                attach(connection, database)
            else:
                stem = Path(data).name.partition(".")[0]
                name = f"{stem}_db" if stem.lower() in _TAKEN else stem  # as DuckDB itself does
                _attach_data(connection, Path(data), name, "--data needs a DuckDB file")
                connection.execute(f"SET search_path = {quote_text(f'{quote_name(name)}.main,memory.main')}")
            for name, file in (attached or {}).items():
                _attach_data(connection, Path(file), name, "--attach needs NAME=FILE, a DuckDB file")
            if draft is not None:
                connection.execute(f"ATTACH {quote_text(str(draft))} AS custext_draft (TYPE duckdb)")
            register_sanitizer(connection, release.sanitizer, release)
            connection.execute(KEEP_PROGRESS)
            connection.execute("SET lock_configuration = true")
            yield connection
        finally:
            close_in_time(connection)


def _attach_data(connection: duckdb.DuckDBPyConnection, path: Path, name: str, needed: str) -> None:
    if not path.is_file():
        raise QueryError(f"{path} {'is not a file' if path.exists() else 'does not exist'}; {needed}")
    attached = connection.execute("SELECT database_name, path FROM duckdb_databases()").fetchall()
    if name.lower() in _TAKEN or name.lower() in {taken.lower() for taken, _ in attached}:
        raise QueryError(f"a database cannot be called {name!r} here: the name is taken; choose another")
    if any(file and path.samefile(file) for _, file in attached):
        raise QueryError(f"{path} is attached already; name each file once")
    try:
        if not attach_file(connection, path, name):
            raise refuse_second(path)
    except ForeignFileError:
        raise QueryError(f"{path} is not a DuckDB file; name other files in the query: FROM '{path.name}'") from None
