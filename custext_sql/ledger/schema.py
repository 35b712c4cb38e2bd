"""The tables of the ledger, the single source of truth, and their entries. Loads SQLAlchemy.

New ledgers are made from these tables; a test compares the migrations. Names begin with custext_, since a PostgreSQL
database may belong to others too. The tables contain no text, no query and no word of a user; IDs of rows only as
digests that need the key.
"""

from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from types import UnionType
from typing import Any, get_args, get_origin

import sqlalchemy as sa

from custext_sql.errors import DatabaseError
from custext_sql.ledger.entries import PENDING, Entry

REVISIONS = ("0001",)
VERSION_TABLE = "custext_ledger_version"

metadata = sa.MetaData()


class Exact(sa.TypeDecorator[Decimal]):
    """A decimal number with all its digits, as text: SQLite has no decimals."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: sa.Dialect) -> Any:
        return None if value is None else f"{value:f}"

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


_TYPES: dict[Any, Any] = {
    str: sa.String,
    datetime: sa.DateTime,
    list: sa.JSON,
    dict: sa.JSON(none_as_null=True),
    int: sa.BigInteger,
    float: sa.Double,
    bool: sa.Boolean,
    Decimal: Exact,
}


def _make_column(name: str, kind: Any) -> sa.Column[Any]:
    """Return the column of a field of an entry, of that type or with None."""
    optional = isinstance(kind, UnionType)
    base = get_args(kind)[0] if optional else kind
    return sa.Column(name, _TYPES[get_origin(base) or base], primary_key=name == "release_id", nullable=optional)


releases = sa.Table("custext_releases", metadata, *(_make_column(field.name, field.type) for field in fields(Entry)))

keyed = sa.Table(
    "custext_keyed",
    metadata,
    sa.Column("key_id", sa.String, primary_key=True),
    sa.Column("dataset", sa.String, primary_key=True, comment="as names are compared"),
    sa.Column("version", sa.BigInteger, nullable=False, comment="how often it changed"),
    sa.Column("largest_row_eps", Exact, nullable=False, comment="the most that the key spent on one record"),
    sa.Column("parts", sa.JSON, nullable=False, comment="the parts of custext_records that count"),
)

_DRAWN = "digests of record and text, and the words drawn: 8 + 8 + 4 bytes"
records = sa.Table(
    "custext_records",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("part", sa.String, nullable=False, index=True, comment="digests that were added together"),
    sa.Column("low", sa.SmallInteger, nullable=False, comment="first byte of the smallest record in it"),
    sa.Column("high", sa.SmallInteger, nullable=False, comment="first byte of the largest record in it"),
    sa.Column("written_at", sa.DateTime, nullable=False, comment="UTC"),
    sa.Column("drawn", sa.LargeBinary, nullable=False, comment=_DRAWN),
)


_FIXED = {"release_id", "struck_at", "struck_reason"}  # others may strike a running release


def create(connection: sa.Connection) -> None:
    """Create all tables in the caller's transaction, and stamp them with the newest revision."""
    metadata.create_all(connection)
    connection.exec_driver_sql(
        f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    connection.exec_driver_sql(f"INSERT INTO {VERSION_TABLE} VALUES ('{REVISIONS[-1]}')")


def is_current(connection: sa.Connection, ledger: object) -> bool:
    """Return whether a ledger has this version's tables; False if it is empty, DatabaseError if it has others."""
    revision, newest = find_revision(connection, ledger), REVISIONS[-1]
    if revision not in (None, newest):
        raise DatabaseError(
            f"the ledger {ledger} is at revision {revision} and this version needs {newest}; run: custext upgrade"
        )
    return revision is not None


def find_revision(connection: sa.Connection, ledger: object) -> str | None:
    """Return the revision of a ledger, or None if it is empty. ledger: what messages call it.

    Raises DatabaseError if it belongs to another program or to a newer version.
    """
    inspector = sa.inspect(connection)
    if not inspector.has_table(VERSION_TABLE):
        if connection.dialect.name == "sqlite" and inspector.get_table_names():
            raise DatabaseError(
                f"{ledger} has tables of another program; name another ledger: --ledger (in Python: ledger)"
            )
        return None
    revision = str(connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar_one())
    if revision not in REVISIONS:
        raise DatabaseError(
            f"the ledger {ledger} was made by a newer version of custext-sql (revision {revision}); run: pip install "
            "--upgrade custext-sql"
        )
    return revision


def read_entries(connection: sa.Connection) -> list[Entry]:
    """Return all entries, oldest first."""
    rows = connection.execute(sa.select(releases).order_by(releases.c.started_at, releases.c.release_id))
    return [Entry(**row) for row in rows.mappings()]


def read_keyed(connection: sa.Connection) -> dict[tuple[str, str], Decimal]:
    """Return what each key has spent on one record, by key and data."""
    rows = connection.execute(sa.select(keyed.c.key_id, keyed.c.dataset, keyed.c.largest_row_eps))
    return {(key_id, dataset): eps for key_id, dataset, eps in rows}


def insert_entry(connection: sa.Connection, entry: Entry) -> None:
    """Enter a release."""
    connection.execute(sa.insert(releases).values(vars(entry)))


def update_entry(connection: sa.Connection, entry: Entry, *, only: str | None = None) -> bool:
    """Update an entry, and return whether it was there. only: the state that it must be in, if any."""
    values = {name: value for name, value in vars(entry).items() if name not in _FIXED}
    statement = sa.update(releases).where(releases.c.release_id == entry.release_id).values(values)
    if only is not None:
        statement = statement.where(releases.c.state == only)
    return bool(connection.execute(statement).rowcount)


def strike_entry(connection: sa.Connection, entry: Entry) -> None:
    """Write when and why an entry was struck through."""
    struck = {"struck_at": entry.struck_at, "struck_reason": entry.struck_reason}
    connection.execute(sa.update(releases).where(releases.c.release_id == entry.release_id).values(struck))


def delete_entry(connection: sa.Connection, release_id: str) -> None:
    """Remove the entry of a release that was not made."""
    connection.execute(sa.delete(releases).where(releases.c.release_id == release_id, releases.c.state == PENDING))
