"""Reads and writes entries of the ledger. Loads SQLAlchemy."""

from dataclasses import fields
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from custext_sql.ledger.entries import PENDING, Entry
from custext_sql.ledger.schema import keyed, releases

_FIXED = {"release_id", "struck_at", "struck_reason"}  # others may strike a running release


def read_entries(connection: Connection) -> list[Entry]:
    """Return all entries, oldest first."""
    rows = connection.execute(select(releases).order_by(releases.c.started_at, releases.c.release_id))
    return [Entry(**row) for row in rows.mappings()]


def read_keyed(connection: Connection) -> dict[tuple[str, str], Decimal]:
    """Return what each key has spent on one record, by key and data."""
    rows = connection.execute(select(keyed.c.key_id, keyed.c.dataset, keyed.c.largest_row_eps))
    return {(key_id, dataset): eps for key_id, dataset, eps in rows}


def insert_entry(connection: Connection, entry: Entry) -> None:
    """Enter a release."""
    connection.execute(insert(releases).values(_list_values(entry)))


def update_entry(connection: Connection, entry: Entry, *, only: str | None = None) -> bool:
    """Write the current state of an entry, and return whether it was there. only: unless its state is another one."""
    values = {name: value for name, value in _list_values(entry).items() if name not in _FIXED}
    statement = update(releases).where(releases.c.release_id == entry.release_id).values(values)
    if only is not None:
        statement = statement.where(releases.c.state == only)
    return bool(connection.execute(statement).rowcount)


def strike_entry(connection: Connection, entry: Entry) -> None:
    """Write when and why an entry was struck through."""
    struck = {"struck_at": entry.struck_at, "struck_reason": entry.struck_reason}
    connection.execute(update(releases).where(releases.c.release_id == entry.release_id).values(struck))


def delete_entry(connection: Connection, release_id: str) -> None:
    """Remove the entry of a release that was not made."""
    connection.execute(delete(releases).where(releases.c.release_id == release_id, releases.c.state == PENDING))


def _list_values(entry: Entry) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in fields(entry)}
