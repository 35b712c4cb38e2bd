"""Where the ledger is, and connections to it: one writer at a time, each change on the disk before it counts.

The ledger is a SQLite file, by default beside the custext database, or a PostgreSQL database. SQLAlchemy and the tables
are loaded when a ledger is opened.
"""

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custext_sql.errors import DatabaseError
from custext_sql.parameters import check_path
from custext_sql.store.database import Database, locate, warn_if_open

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LedgerPlace = str | os.PathLike[str] | None  # a path or a URL; None for CUSTEXT_LEDGER, else beside the database

_POSTGRES = ("postgresql", "postgresql+psycopg", "postgres")
_LOCK = 0x637573746578740A  # PostgreSQL's number for the lock of the ledger
PATIENCE = 60  # seconds to wait for another process to finish writing
_TICK = 0.02  # seconds between attempts
_REASONS = {  # what SQLite says -> what a user can act on
    "database is locked": "another process is still writing to it",
    "unable to open database file": "the file cannot be opened, or its folder cannot be written to, as SQLite needs",
}


@dataclass(frozen=True)
class LedgerFile:
    """The place of a ledger. It holds no connection: each `with` block opens one, and closes it at the end."""

    url: str = field(repr=False)  # may have a password

    @classmethod
    def locate(cls, ledger: LedgerPlace = None, database: Database = None) -> "LedgerFile":
        """Return the place of a ledger. DatabaseError if it is neither a path nor a valid URL of a PostgreSQL database.

        database: the custext database that the ledger is beside, unless it is named or CUSTEXT_LEDGER is set.
        """
        named = ledger if ledger is not None else os.environ.get("CUSTEXT_LEDGER") or None
        if named is None:
            beside = locate(database).resolve()  # links to a database share its ledger
            name = f"{beside.name.removesuffix('.duckdb')}.ledger.sqlite"
            return cls(f"sqlite:///{beside.with_name(name)}")
        check_path(named, "ledger")
        scheme, mark, rest = os.fspath(named).partition("://")
        if mark and scheme in _POSTGRES:
            _check_url(f"postgresql://{rest}")
            return cls(f"postgresql+psycopg://{rest}")
        path = rest.removeprefix("/") if mark and scheme == "sqlite" else os.fspath(named)
        is_other_url = re.match(r"\w\w+(\+\w+)?:", path) is not None  # not quoted: it may have a password
        if is_other_url or not path or "\0" in path or path.startswith(":memory:"):
            raise DatabaseError(
                "the ledger must be the path of a SQLite file, or a URL such as postgresql://user@host/database: "
                "--ledger, CUSTEXT_LEDGER (in Python: ledger)"
            )
        file = Path(path).absolute()
        if file.is_dir() or not file.parent.is_dir():
            problem = "is a folder" if file.is_dir() else "is in a folder that does not exist"
            raise DatabaseError(
                f"the ledger {file} {problem}; name the path of a SQLite file, which is made if it does not exist: "
                "--ledger, CUSTEXT_LEDGER (in Python: ledger)"
            )
        return cls(f"sqlite:///{file}")

    def __str__(self) -> str:
        """Return the path, or the URL without a password or options."""
        if self.path is not None:
            return str(self.path)
        from sqlalchemy import make_url

        url = make_url(self.url).set(drivername="postgresql", password=None)
        return url.difference_update_query(url.query.keys() - {"host", "port"}).render_as_string()

    @property
    def path(self) -> Path | None:
        """The path of a SQLite file, None for PostgreSQL."""
        return Path(self.url.removeprefix("sqlite:///")) if self.url.startswith("sqlite:") else None

    def exists(self) -> bool:
        """Return whether there is a ledger, as far as one can see without opening it; warn if others can read it."""
        if self.path is None:
            return True
        try:
            if self.path.is_file():
                warn_if_open(self.path, 0o600)
            return self.path.exists()
        except OSError:  # opening it says why
            return True

    @contextmanager
    def reading(self) -> "Iterator[Connection | None]":
        """Yield a connection that reads one state of the ledger; None if there is no ledger yet, or it is empty.

        DatabaseError if it cannot be read.
        """
        if not self.exists():
            yield None
            return
        with self._connect("read") as connection:
            from custext_sql.ledger.schema import is_current

            if self.path is None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            connection.begin()
            yield connection if is_current(connection, self) else None

    @contextmanager
    def writing(self, otherwise: str = "") -> "Iterator[Connection]":
        """Yield a connection in a transaction that is the only one to write; it commits at the end.

        A new ledger is made if need be. DatabaseError if it cannot be written; nothing was changed then. otherwise:
        what the error says about that.
        """
        self.exists()
        with self._connect("write", otherwise) as connection:
            from sqlalchemy import text

            from custext_sql.ledger.schema import create, is_current

            if self.path is not None:
                _prepare(connection.connection.driver_connection)
                connection.info["writes"] = True
            else:  # each statement sees what others entered while this one waited for the lock
                connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                if self.path is None:
                    connection.execute(text("SET LOCAL synchronous_commit = on"))
                    connection.execute(text(f"SET LOCAL lock_timeout = '{PATIENCE}s'"))
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
                if not is_current(connection, self):
                    create(connection)
                yield connection

    def upgrade(self) -> tuple[str, str]:
        """Upgrade the ledger to this version's revision, in one transaction; return the revisions before and after."""
        from custext_sql.ledger import schema

        newest = schema.REVISIONS[-1]
        if not self.exists():
            return newest, newest
        with self._connect("upgrade") as connection:
            connection.info["writes"] = self.path is not None
            with connection.begin():
                before = schema.find_revision(connection, self) or newest
                if before != newest:
                    from custext_sql.store.migrating import run_migrations  # loads Alembic

                    run_migrations(connection, "ledger", newest, schema.VERSION_TABLE)
                return before, newest

    @contextmanager
    def _connect(self, verb: str, otherwise: str = "") -> "Iterator[Connection]":
        """Yield a connection; errors say what to do, and quote neither SQL nor values."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            if verb == "write" and self.path is not None:
                with suppress(FileExistsError):  # SQLite would let other users read a new file
                    os.close(os.open(os.path.realpath(self.path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with _make_engine(self.url).connect() as connection:
                yield connection
        except ModuleNotFoundError as error:
            if error.name != "psycopg":
                raise
            raise DatabaseError(
                "a ledger on PostgreSQL needs psycopg; in a checkout of custext-sql, run: pip install '.[postgres]'"
            ) from None
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise DatabaseError(
                f"cannot {verb} the ledger {self}: {_tell_reason(error)}{otherwise}. Repair that, or name another "
                "ledger: --ledger PATH or URL, CUSTEXT_LEDGER (in Python: ledger)"
            ) from None


def _check_url(url: str) -> None:
    """Raise DatabaseError unless it is a valid URL. What is wrong with it is not quoted: it may be the password."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        found = make_url(url)
        valid = "@" not in (found.host or "") and not {"@", "/"} & set(found.database or "")
    except (ArgumentError, ValueError):
        valid = False
    if not valid:
        raise DatabaseError(
            "the URL of the ledger is not valid; expected postgresql://user@host/database, with %40 for an @ in the "
            "password, and so on: --ledger, CUSTEXT_LEDGER (in Python: ledger)"
        )


@cache
def _make_engine(url: str) -> "Engine":
    """Return the engine of a URL. It keeps no connection open, so that a fork shares none."""
    from sqlalchemy import URL, NullPool, create_engine, event

    if not url.startswith("sqlite:"):
        return create_engine(url, poolclass=NullPool)
    file = URL.create("sqlite", database=url.removeprefix("sqlite:///"))  # as a string, ? and % would mean more
    engine = create_engine(file, poolclass=NullPool, connect_args={"timeout": PATIENCE})

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin below, not where the driver thinks they should
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: "Connection") -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.info.pop("writes", False) else "BEGIN")

    return engine


def _prepare(connection: Any) -> None:
    """Set a new file to WAL, so that readers and the writer do not wait for each other. Others may do so just now."""
    deadline = time.monotonic() + PATIENCE
    while connection.execute("PRAGMA schema_version").fetchone() == (0,):  # no table yet
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # SQLite itself does not wait for this
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_TICK)


def _tell_reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    original = error if isinstance(error, sqlite3.Error) else getattr(error, "orig", None)
    first, *_ = [*str(original or "").strip().splitlines(), type(error).__name__]
    reason = first.rstrip(".")
    return _REASONS.get(reason, reason)
