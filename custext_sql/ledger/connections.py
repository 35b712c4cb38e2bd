"""Connections to the ledger: one writer at a time, each change on the disk before it counts. Loads SQLAlchemy."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from custext_sql.errors import DatabaseError
from custext_sql.ledger import schema

_PATIENCE = 60  # seconds to wait for another process to finish writing
_TICK = 0.02  # seconds between attempts
_REASONS = {  # what SQLite says -> what a user can act on
    "database is locked": "another process is still writing to it",
    "unable to open database file": "the file cannot be opened, or its folder cannot be written to, as SQLite needs",
}
_LOCK = 0x637573746578740A  # PostgreSQL's number for the lock of the ledger


class Place(Protocol):
    """What is needed of a `LedgerFile`."""

    @property
    def url(self) -> str: ...

    @property
    def path(self) -> Path | None: ...

    def exists(self) -> bool: ...


@contextmanager
def open_for_reading(place: Place) -> Iterator[Connection | None]:
    """Yield a connection that reads one state of a ledger that exists; None if it is empty."""
    with _own_errors(place, "read"), _make_engine(place.url).connect() as connection:
        if place.path is None:
            connection.execution_options(isolation_level="REPEATABLE READ")
        connection.begin()
        yield connection if _is_current(connection, place) else None


@contextmanager
def open_for_writing(place: Place, otherwise: str = "") -> Iterator[Connection]:
    """Yield a connection in a transaction that is the only one to write; it commits at the end.

    otherwise: what errors say about the consequence.
    """
    with _own_errors(place, "write", otherwise):
        if place.path is not None:
            with suppress(FileExistsError):  # SQLite would let other users read a new file
                os.close(os.open(os.path.realpath(place.path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with _make_engine(place.url).connect() as connection:
            if place.path is not None:
                _prepare(connection.connection.driver_connection)
                connection.info["writes"] = True
            else:  # each statement sees what others entered while this one waited for the lock
                connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                if place.path is None:
                    connection.execute(text("SET LOCAL synchronous_commit = on"))
                    connection.execute(text(f"SET LOCAL lock_timeout = '{_PATIENCE}s'"))
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
                if not _is_current(connection, place):
                    schema.create(connection)
                yield connection


def upgrade_ledger(place: Place) -> tuple[str, str]:
    """Upgrade a ledger to this version's revision, in one transaction; return the revisions before and after."""
    if place.path is not None and not place.exists():
        return schema.REVISIONS[-1], schema.REVISIONS[-1]
    with _own_errors(place, "upgrade"), _make_engine(place.url).connect() as connection:
        connection.info["writes"] = place.path is not None
        with connection.begin():
            before, newest = _find_revision(connection, place), schema.REVISIONS[-1]
            if before is not None and before != newest:
                from custext_sql.store.migrating import run_migrations  # loads Alembic

                run_migrations(connection, "ledger", newest, schema.VERSION_TABLE)
            return before or newest, newest


@cache
def _make_engine(url: str) -> Engine:
    """Return the engine of a URL. It keeps no connection open, so that a fork shares none."""
    if not url.startswith("sqlite:"):
        return create_engine(url, poolclass=NullPool)
    file = URL.create("sqlite", database=url.removeprefix("sqlite:///"))  # as a string, ? and % would mean more
    engine = create_engine(file, poolclass=NullPool, connect_args={"timeout": _PATIENCE})

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin below, not where the driver thinks they should
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.info.pop("writes", False) else "BEGIN")

    return engine


def _prepare(connection: Any) -> None:
    """Set a new file to WAL, so that readers and the writer do not wait for each other. Others may do so just now."""
    deadline = time.monotonic() + _PATIENCE
    while connection.execute("PRAGMA schema_version").fetchone() == (0,):  # no table yet
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # SQLite itself does not wait for this
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_TICK)


def _is_current(connection: Connection, place: Place) -> bool:
    revision, newest = _find_revision(connection, place), schema.REVISIONS[-1]
    if revision is not None and revision != newest:
        raise DatabaseError(
            f"the ledger {place} is at revision {revision} and this version needs {newest}; run: custext upgrade"
        )
    return revision is not None


def _find_revision(connection: Connection, place: Place) -> str | None:
    """Return the revision of a ledger, None if it is empty; DatabaseError if it is none."""
    inspector = inspect(connection)
    if not inspector.has_table(schema.VERSION_TABLE):
        if place.path is not None and inspector.get_table_names():
            raise DatabaseError(
                f"{place} has tables of another program; name another ledger: --ledger (in Python: ledger)"
            )
        return None
    revision = str(connection.execute(text(f"SELECT version_num FROM {schema.VERSION_TABLE}")).scalar_one())
    if revision not in schema.REVISIONS:
        raise DatabaseError(
            f"the ledger {place} was made by a newer version of custext-sql (revision {revision}); run: pip install "
            "--upgrade custext-sql"
        )
    return revision


@contextmanager
def _own_errors(place: Place, verb: str, otherwise: str = "") -> Iterator[None]:
    """Turn errors of the database into a DatabaseError that says what to do. They quote neither SQL nor values."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise DatabaseError(
            "a ledger on PostgreSQL needs psycopg; in a checkout of custext-sql, run: pip install '.[postgres]'"
        ) from None
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise DatabaseError(
            f"cannot {verb} the ledger {place}: {_tell_reason(error)}{otherwise}. Repair that, or name another ledger: "
            "--ledger PATH or URL, CUSTEXT_LEDGER (in Python: ledger)"
        ) from None


def _tell_reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    original = error if isinstance(error, sqlite3.Error) else getattr(error, "orig", None)
    lines = str(original or type(error).__name__).strip().splitlines()
    reason = lines[0].rstrip(".") if lines else type(error).__name__
    return _REASONS.get(reason, reason)
