"""Corrections of the ledger by a person: releases struck through, and pending ones settled."""

import re
from collections.abc import Callable
from dataclasses import replace

from custext_sql.errors import SettingError
from custext_sql.ledger import running
from custext_sql.ledger.entries import PENDING, SETTLED, Entry, now, to_decimal
from custext_sql.ledger.places import LedgerFile, LedgerPlace
from custext_sql.parameters import check_limit, check_type, count_of
from custext_sql.store.database import Database

SHOWN = 8  # characters of an ID that are shown; any that are unique are accepted
_ID = re.compile(r"[0-9a-f]{1,32}")
_LONGEST = 500


def strike_release(database: Database = None, *, release: str, reason: str, ledger: LedgerPlace = None) -> Entry:
    """Strike a release through in the ledger, with a reason, and return its entry.

    This is a note, such as "deleted from the server on May 3, nobody had downloaded it". The release counts in all
    totals and budgets as before, because its texts may be out there. A second strike replaces the first one's reason.

    release: the ID of the release, or its first characters if no other ID starts with them. reason: up to 500
    characters. SettingError if there is no such release, or no reason; DatabaseError if the ledger cannot be written.
    """
    check_type(reason, str, "reason must be a text")
    found = " ".join(reason.split())
    if not 0 < len(found) <= _LONGEST:
        raise SettingError(
            f'a release is struck through with a reason of 1 to {_LONGEST} characters: --reason "..." (in Python: '
            f"reason=...); found {count_of(len(found), 'character')}"
        )
    return _correct(database, ledger, release, lambda entry: replace(entry, struck_at=now(), struck_reason=found))


def unstrike_release(database: Database = None, *, release: str, ledger: LedgerPlace = None) -> Entry:
    """Undo `strike_release`, and return the entry. SettingError if there is no such release, or it is not struck."""

    def unstrike(entry: Entry) -> Entry:
        if entry.struck_at is None:
            raise SettingError(f"release {entry.release_id[:SHOWN]} is not struck through")
        return replace(entry, struck_at=None, struck_reason=None)

    return _correct(database, ledger, release, unstrike)


def settle_release(
    database: Database = None, *, release: str, row_eps: float | None = None, ledger: LedgerPlace = None
) -> Entry:
    """Settle a release that stayed pending, such as one whose process was killed, and return its entry.

    If what it spent is in the ledger, it counts as that. If not, row_eps says what it counts as: the most that it may
    have spent on one row, which is eps times the number of words of the longest row; 0 if nothing came out. The state
    of the entry is "settled" then. SettingError if there is no such release, it is not pending, or row_eps is missing
    or not needed.
    """
    check_limit(row_eps, "--row-eps", "row_eps", or_zero=True)

    def settle(entry: Entry) -> Entry:
        shown = entry.release_id[:SHOWN]
        if entry.state != PENDING:
            raise SettingError(f"release {shown} is not pending; it is {entry.state}")
        if entry.largest_row_eps is None and row_eps is None:
            raise SettingError(
                f"what release {shown} spent is unknown; say the most that it may have spent on one row, eps times the "
                "words of the longest row, or 0 if nothing came out: --row-eps NUMBER (in Python: row_eps)"
            )
        if entry.largest_row_eps is not None and row_eps is not None:
            raise SettingError(
                f"release {shown} spent {entry.largest_row_eps.normalize():f} on a row and counts as that; leave out "
                "--row-eps (in Python: row_eps)"
            )
        largest = entry.largest_row_eps if row_eps is None else to_decimal(row_eps)
        return replace(entry, state=SETTLED, completed_at=now(), largest_row_eps=largest)

    return _correct(database, ledger, release, settle)


def _correct(database: Database, ledger: LedgerPlace, given: str, change: Callable[[Entry], Entry]) -> Entry:
    from custext_sql.ledger.store import read_entries, strike_entry, update_entry  # loads SQLAlchemy

    check_type(given, str, "release must be the ID of a release")
    running.settle_all()
    place = LedgerFile.locate(ledger, database)
    start = given.strip().lower()
    with place.reading() as found:
        _find([] if found is None else read_entries(found), start)  # reading makes no new ledger
    with place.writing() as connection:
        entry = change(_find(read_entries(connection), start))
        update_entry(connection, entry)
        strike_entry(connection, entry)
    return entry


def _find(entries: list[Entry], start: str) -> Entry:
    """Return the only release whose ID starts with these characters."""
    if not _ID.fullmatch(start):
        raise SettingError(
            "expected the ID of a release, such as 1f3a9c02: digits and the letters a to f; to see all, run: custext "
            "ledger"
        )
    found = [entry for entry in entries if entry.release_id.startswith(start)]
    if not found:
        raise SettingError(f"no release has an ID that starts with {start}; to see all, run: custext ledger")
    if len(found) > 1:
        raise SettingError(
            f"{len(found)} releases have IDs that start with {start}; give more of it: "
            f"{', '.join(entry.release_id[: len(start) + 4] for entry in found[:5])}"
        )
    return found[0]
