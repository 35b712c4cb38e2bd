"""The ledger as people see it: releases, their totals per dataset, and corrections by a person."""

import csv
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from custext_sql.errors import OutputError, SettingError, SourceError
from custext_sql.kinds import spread_counts
from custext_sql.ledger.checks import Keyed, Total, add_up
from custext_sql.ledger.dataset import resolve_name
from custext_sql.ledger.entries import PENDING, SETTLED, Entry, fold, name_data, now, to_decimal
from custext_sql.ledger.places import LedgerFile, LedgerPlace
from custext_sql.ledger.release import settle_all
from custext_sql.parameters import check_limit, check_path, check_type, count_of
from custext_sql.store.database import Database
from custext_sql.store.outputs import hash_file, publish_text

SHOWN = 8  # characters of an ID that are shown; any unique beginning is accepted
_ID = re.compile(r"[0-9a-f]{1,32}")
_LONGEST = 500  # characters of a reason


@dataclass(frozen=True)
class Ledger:
    """The ledger of a database, or of one dataset.

    releases: every release, oldest first. totals: what the releases of each dataset spent together.
    """

    releases: list[Entry] = field(repr=False)
    totals: list[Total]

    def to_dict(self) -> dict[str, Any]:
        """Return the releases and totals, ready for JSON: times are ISO strings in UTC, eps are floats."""
        return {
            "releases": [release.to_dict() for release in self.releases],
            "totals": [total.to_dict() for total in self.totals],
        }

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write every field of every release to a new file that only its owner can read.

        path: its extension, .csv or .json, decides the format. force: overwrite an existing file. OutputError if the
        extension is not one of these, or the file exists or cannot be written.
        """
        path = Path(path)
        text = io.StringIO(newline="")
        if path.suffix.lower() == ".csv":
            writer = csv.DictWriter(text, [*spread_counts(dict.fromkeys(field.name for field in fields(Entry)))])
            writer.writeheader()
            writer.writerows(release.to_row() for release in self.releases)
        elif path.suffix.lower() == ".json":
            text.write(json.dumps(self.to_dict()["releases"], ensure_ascii=False, indent=2) + "\n")
        else:
            raise OutputError(f"cannot write {path}: its name must end in .csv or .json")
        publish_text(path, text.getvalue(), force=force)


def read_ledger(database: Database = None, *, dataset: str | None = None, ledger: LedgerPlace = None) -> Ledger:
    """Return every release in a ledger, and the total eps of each dataset.

    ledger: a path, or the URL of a PostgreSQL database; by default what CUSTEXT_LEDGER names, else the file beside the
    database. database: a path; by default the file that CUSTEXT_DB names, else the user's default database. dataset:
    only releases of this dataset, by its name, or by a file or table of it. DatabaseError if the ledger cannot be read.
    """
    entries, keyed = read_all(LedgerFile.locate(ledger, database))
    wanted = None if dataset is None else fold(resolve_name(dataset))
    releases = [entry for entry in entries if wanted is None or wanted in name_data(entry)]
    return Ledger(releases, add_up(releases, keyed))


def find_releases(
    file: str | os.PathLike[str], database: Database = None, *, ledger: LedgerPlace = None
) -> list[Entry]:
    """Return the releases that wrote exactly the bytes of a file, oldest first; none if no release did.

    The name of the file does not matter. database, ledger: as in `read_ledger`. SourceError if the file cannot be read.
    """
    check_path(file, "file")
    try:
        found = hash_file(Path(file))
    except OSError as error:
        raise SourceError(f"cannot read {file}: {error.strerror}") from None
    entries, _ = read_all(LedgerFile.locate(ledger, database))
    return [entry for entry in entries if any(output.get("sha256") == found for output in entry.outputs)]


def read_all(place: LedgerFile) -> tuple[list[Entry], Keyed]:
    """Return all entries, oldest first, and the most that each key has spent on any one record."""
    settle_all()
    with place.reading() as connection:
        if connection is None:
            return [], {}
        from custext_sql.ledger.schema import read_entries, read_keyed  # loads SQLAlchemy

        return read_entries(connection), read_keyed(connection)


def strike_release(database: Database = None, *, release: str, reason: str, ledger: LedgerPlace = None) -> Entry:
    """Strike a release through in the ledger, with a reason, and return its entry.

    This is a note, such as "deleted from the server on May 3, nobody had downloaded it". The release counts in all
    totals and budgets as before, because its texts may be out there. A second strike replaces the first one's reason.

    release: the ID of the release, or its first characters if no other ID starts with them. reason: up to 500
    characters. SettingError if there is no such release, or no reason; DatabaseError if the ledger cannot be written.
    """
    check_type(reason, str, "reason must be a string")
    found = " ".join(reason.split())
    if not 0 < len(found) <= _LONGEST:
        raise SettingError(
            f'to strike a release through, give a reason of 1 to {_LONGEST} characters: --reason "..." (in Python: '
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
    of the entry is then "settled". SettingError if there is no such release, it is not pending, or row_eps is missing,
    or is given although what the release spent is known.
    """
    check_limit(row_eps, "--row-eps", "row_eps", or_zero=True)

    def settle(entry: Entry) -> Entry:
        shown, largest = entry.release_id[:SHOWN], entry.largest_row_eps
        if entry.state != PENDING:
            raise SettingError(f"release {shown} is not pending; it is {entry.state}")
        if largest is None and row_eps is None:
            raise SettingError(
                f"what release {shown} spent is unknown; say the most that it may have spent on one row, eps times the "
                "words of the longest row, or 0 if nothing came out: --row-eps NUMBER (in Python: row_eps)"
            )
        if largest is not None and row_eps is not None:
            raise SettingError(
                f"release {shown} spent {largest.normalize():f} on a row and counts as that; leave out --row-eps (in "
                "Python: row_eps)"
            )
        largest = largest if row_eps is None else to_decimal(row_eps)
        return replace(entry, state=SETTLED, completed_at=now(), largest_row_eps=largest)

    return _correct(database, ledger, release, settle)


def _correct(database: Database, ledger: LedgerPlace, given: str, change: Callable[[Entry], Entry]) -> Entry:
    check_type(given, str, "release must be the ID of a release")
    place, start = LedgerFile.locate(ledger, database), given.strip().lower()
    _find(read_all(place)[0], start)  # reading makes no new ledger
    with place.writing() as connection:
        from custext_sql.ledger.schema import read_entries, strike_entry, update_entry

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
            f"{len(found)} releases have IDs that start with {start}; give more characters: "
            f"{', '.join(entry.release_id[: len(start) + 4] for entry in found[:5])}"
        )
    return found[0]
