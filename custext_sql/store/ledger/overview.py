"""The ledger as people read it: releases, and what they add up to."""

import csv
import io
import json
import os
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from custext_sql.errors import OutputError
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import publish_text
from custext_sql.store.ledger.spending import Total, add_up
from custext_sql.store.ledger.table import Release, list_releases


@dataclass(frozen=True)
class Ledger:
    """What was released, the oldest first, and what the releases of each dataset spent together."""

    releases: list[Release]
    totals: list[Total]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, with numbers as JSON has them."""
        return {
            "releases": [release.to_dict() for release in self.releases],
            "totals": [total.to_dict() for total in self.totals],
        }

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write every column of every release to a new file that only its owner can read, .csv or .json by its name."""
        path, rows = Path(path), self.to_dict()["releases"]
        text = io.StringIO(newline="")
        if path.suffix.lower() == ".csv":
            writer = csv.DictWriter(text, [field.name for field in fields(Release)])
            writer.writeheader()
            writer.writerows(rows)
        elif path.suffix.lower() == ".json":
            text.write(json.dumps(rows, default=datetime.isoformat, ensure_ascii=False, indent=2) + "\n")
        else:
            raise OutputError(f"cannot tell the format of {path}; its name must end in .csv or .json")
        publish_text(path, text.getvalue(), force=force, private=True)


def read_ledger(database: Database = None, *, dataset: str | None = None) -> Ledger:
    """Return every release, and the total eps of each dataset. dataset: only releases of data of that name or part.

    A total is what all releases of a dataset's data spent together on the row on which each spent most.
    """
    releases = list_releases(database, dataset=dataset)
    return Ledger(releases, add_up(releases))
