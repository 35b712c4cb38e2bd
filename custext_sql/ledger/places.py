"""Where the ledger is: a SQLite file, by default beside the custext database, or a PostgreSQL database."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from custext_sql.errors import DatabaseError
from custext_sql.parameters import check_path
from custext_sql.store.database import Database, locate, warn_if_open

if TYPE_CHECKING:
    from sqlalchemy import Connection

LedgerPlace = str | os.PathLike[str] | None  # a path or a URL; None for CUSTEXT_LEDGER, else beside the database

_POSTGRES = ("postgresql", "postgresql+psycopg", "postgres")


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

    @contextmanager
    def reading(self) -> "Iterator[Connection | None]":
        """Yield a connection that reads one state of the ledger; None if there is no ledger yet.

        DatabaseError if it cannot be read.
        """
        from custext_sql.ledger.connections import open_for_reading  # loads SQLAlchemy

        if self.path is not None and not self.exists():
            yield None
            return
        with open_for_reading(self) as connection:
            yield connection

    @contextmanager
    def writing(self, otherwise: str = "") -> "Iterator[Connection]":
        """Yield a connection in a transaction that no other process writes during; a new ledger is made if need be.

        DatabaseError if it cannot be written; nothing was changed then. otherwise: what the error says about that.
        """
        from custext_sql.ledger.connections import open_for_writing

        self.exists()
        with open_for_writing(self, otherwise) as connection:
            yield connection

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
