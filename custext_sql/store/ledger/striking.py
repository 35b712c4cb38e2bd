"""Strikes releases through in the ledger: a note for readers. They count in every total, as before."""

import re

import duckdb

from custext_sql.errors import SettingError
from custext_sql.parameters import check_type, count_of
from custext_sql.store.database import Database, writing
from custext_sql.store.ledger.table import Release, now, read_releases

SHOWN = 8  # characters of an ID that are shown; any that are unique are accepted
_ID = re.compile(r"[0-9a-f]{1,32}")
_LONGEST = 500


def strike_release(database: Database = None, *, release: str, reason: str) -> Release:
    """Strike a release through in the ledger, with a reason, and return it.

    This is a note, such as "deleted from the server on May 3, nobody had downloaded it". The release counts in all
    totals and budgets as before, because its texts may be out there. A second strike replaces the first one's reason.

    release: the ID of the release, or its first characters if no other ID starts with them. reason: up to 500
    characters. SettingError if there is no such release, or no reason; DatabaseError if the ledger cannot be written.
    """
    return _write(database, release, _check_reason(reason))


def unstrike_release(database: Database = None, *, release: str) -> Release:
    """Undo `strike_release`, and return the release. SettingError if there is no such release, or it is not struck."""
    return _write(database, release, None)


def _check_reason(reason: str) -> str:
    check_type(reason, str, "reason must be a text")
    found = " ".join(reason.split())
    if not 0 < len(found) <= _LONGEST:
        raise SettingError(
            f'a release is struck through with a reason of 1 to {_LONGEST} characters: --reason "..." (in Python: '
            f"reason=...); found {count_of(len(found), 'character')}"
        )
    return found


def _write(database: Database, given: str, reason: str | None) -> Release:
    check_type(given, str, "release must be the ID of a release")
    with writing(database) as connection:
        found = _find(connection, given.strip().lower())
        if reason is None and found.struck_at is None:
            raise SettingError(f"release {found.release_id[:SHOWN]} is not struck through")
        connection.execute(
            "UPDATE releases SET struck_at = ?, struck_reason = ? WHERE release_id = ?",
            [None if reason is None else now(), reason, found.release_id],
        )
        return _find(connection, found.release_id)


def _find(connection: duckdb.DuckDBPyConnection, start: str) -> Release:
    """Return the only release whose ID starts with these characters."""
    if not _ID.fullmatch(start):
        raise SettingError(
            "expected the ID of a release, such as 1f3a9c02: digits and the letters a to f; to see all, run: custext "
            "ledger"
        )
    found = [release for release in read_releases(connection) if release.release_id.startswith(start)]
    if not found:
        raise SettingError(f"no release has an ID that starts with {start}; to see all, run: custext ledger")
    if len(found) > 1:
        raise SettingError(
            f"{len(found)} releases have IDs that start with {start}; give more of it: "
            f"{', '.join(release.release_id[: len(start) + 4] for release in found[:5])}"
        )
    return found[0]
