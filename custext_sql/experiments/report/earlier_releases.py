"""What the ledger knows about texts before they are released."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from custext_sql.experiments.text_files import DataFiles, DataTable, Texts
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.inputs.texts import open_texts
from custext_sql.store.database import Database
from custext_sql.store.ledger.spending import add_up
from custext_sql.store.ledger.table import Release, list_releases


@dataclass(frozen=True)
class Earlier:
    """Earlier releases. spent: the largest eps on a row; None if it is unknown, infinite if data was unprotected."""

    releases: int
    spent: float | None


def find_earlier(database: Database, data: Texts | None) -> Earlier | None:
    """Return what was released before from these files or this table; None for texts that are neither."""
    names = [] if data is None else _name_parts(data)
    if not names:
        return None
    found: dict[str, Release] = {}
    for name in names:
        found |= {str(release.release_id): release for release in list_releases(database, dataset=name)}
    totals = add_up(list(found.values()))
    if any(total.raw for total in totals):
        return Earlier(len(found), math.inf)
    known = [float(total.total_eps) for total in totals if total.total_eps is not None]
    return Earlier(len(found), max(known, default=0.0) if len(known) == len(totals) else None)


def _name_parts(data: Texts) -> list[str]:
    """Return the names under which the ledger has files or a table."""
    if isinstance(data, DataTable):
        with open_texts(data) as opened:
            assert opened.source.table is not None
            schema, table = opened.source.table
        file = Path(data.path).resolve()
        return [f"{file}:{data.table}", f"{file}:{table}" if schema == "main" else f"{file}:{schema}.{table}"]
    path = data.path if isinstance(data, DataFiles) else data
    if not isinstance(path, (str, os.PathLike)):
        return []
    return [str(file.resolve()) for file in list_files(os.fspath(path))]
