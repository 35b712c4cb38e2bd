"""The public view of the ledger: releases, and their totals per dataset."""

import csv
import io
import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from custext_sql.errors import OutputError, SourceError
from custext_sql.kinds import spread_counts
from custext_sql.ledger import running
from custext_sql.ledger.dataset import resolve_name
from custext_sql.ledger.entries import Entry, fold, name_data
from custext_sql.ledger.places import LedgerFile, LedgerPlace
from custext_sql.ledger.spending import Keyed, Total, add_up
from custext_sql.parameters import check_path
from custext_sql.store.database import Database
from custext_sql.store.outputs import hash_file, publish_text


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
    """Return all entries, oldest first, and what each key has spent on one record."""
    from custext_sql.ledger.store import read_entries, read_keyed  # loads SQLAlchemy

    running.settle_all()
    with place.reading() as connection:
        return ([], {}) if connection is None else (read_entries(connection), read_keyed(connection))
