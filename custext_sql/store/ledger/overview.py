"""The public view of the ledger: releases, and their totals per dataset."""

import csv
import io
import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from custext_sql.errors import OutputError
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import publish_text
from custext_sql.store.ledger.spending import Total, add_up
from custext_sql.store.ledger.table import Release, list_releases


@dataclass(frozen=True)
class Ledger:
    """The ledger of a database, or of one dataset.

    releases: every release, oldest first. totals: what the releases of each dataset spent together.
    """

    releases: list[Release] = field(repr=False)
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
            writer = csv.DictWriter(text, [field.name for field in fields(Release)])
            writer.writeheader()
            writer.writerows(release.to_row() for release in self.releases)
        elif path.suffix.lower() == ".json":
            text.write(json.dumps(self.to_dict()["releases"], ensure_ascii=False, indent=2) + "\n")
        else:
            raise OutputError(f"cannot write {path}: its name must end in .csv or .json")
        publish_text(path, text.getvalue(), force=force)


def read_ledger(database: Database = None, *, dataset: str | None = None) -> Ledger:
    """Return every release in a database, and the total eps of each dataset.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database. dataset: only
    releases of this dataset, by its name, or by a file or table of it. The total of a dataset adds up, over all
    releases of its data, the largest eps that each spent on a row. DatabaseError if the database cannot be read.
    """
    releases = list_releases(database, dataset=dataset)
    return Ledger(releases, add_up(releases))
