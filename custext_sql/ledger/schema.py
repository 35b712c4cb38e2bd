"""The tables of the ledger: the single source of truth. New ledgers are made from it; a test compares the migrations.

Their names begin with custext_, since a PostgreSQL database may belong to others too. They contain no text, no query
and no word of a user; IDs of rows only as digests that need the key.
"""

from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from types import UnionType
from typing import Any, get_args, get_origin

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    TypeDecorator,
    text,
)

from custext_sql.ledger.entries import Entry

REVISIONS = ("0001",)
VERSION_TABLE = "custext_ledger_version"

metadata = MetaData()


class Exact(TypeDecorator[Decimal]):
    """A decimal number with all its digits, as text: SQLite has no decimals."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        return None if value is None else f"{value:f}"

    def process_result_value(self, value: str | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


_TYPES: dict[Any, Any] = {
    str: String,
    datetime: DateTime,
    list: JSON,
    dict: JSON(none_as_null=True),
    int: BigInteger,
    float: Double,
    bool: Boolean,
    Decimal: Exact,
}


def _make_column(name: str, kind: Any) -> Column[Any]:
    """Return the column of a field of an entry, of that type or with None."""
    optional = isinstance(kind, UnionType)
    base = get_args(kind)[0] if optional else kind
    return Column(name, _TYPES[get_origin(base) or base], primary_key=name == "release_id", nullable=optional)


releases = Table("custext_releases", metadata, *(_make_column(field.name, field.type) for field in fields(Entry)))

keyed = Table(
    "custext_keyed",
    metadata,
    Column("key_id", String, primary_key=True),
    Column("dataset", String, primary_key=True, comment="as names are compared"),
    Column("version", BigInteger, nullable=False, comment="how often it changed"),
    Column("largest_row_eps", Exact, nullable=False, comment="the most that the key spent on one record"),
    Column("parts", JSON, nullable=False, comment="the parts of custext_records that count"),
)

records = Table(
    "custext_records",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("part", String, nullable=False, index=True, comment="digests that were added together"),
    Column("low", SmallInteger, nullable=False, comment="first byte of the smallest record in it"),
    Column("high", SmallInteger, nullable=False, comment="first byte of the largest record in it"),
    Column("written_at", DateTime, nullable=False, comment="UTC"),
    Column(
        "drawn", LargeBinary, nullable=False, comment="digests of record and text, and the words drawn: 8 + 8 + 4 bytes"
    ),
)


def create(connection: Connection) -> None:
    """Create all tables in the caller's transaction, and stamp them with the newest revision."""
    metadata.create_all(connection)
    connection.execute(
        text(
            f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
            f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
        )
    )
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:revision)"), {"revision": REVISIONS[-1]})
