"""What the ledger knows about texts before they are released."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from custext_sql.ledger.checks import SecondMapping, find_second_mapping
from custext_sql.ledger.dataset import Dataset
from custext_sql.ledger.entries import Terms, new_entry
from custext_sql.ledger.overview import read_all
from custext_sql.ledger.places import LedgerFile
from custext_sql.ledger.spending import add_up, find_related
from custext_sql.mapping.mapping import Mapping
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.inputs.texts import DataFiles, DataTable, Texts, open_texts
from custext_sql.store.database import Database


@dataclass(frozen=True)
class Earlier:
    """Earlier releases of some texts.

    spent: the largest eps on a row; None if it is unknown, infinite if data was unprotected. second: the other mapping
    that they used, for which `custext sanitize` would refuse this release; None if it would not.
    """

    releases: int
    spent: float | None
    second: SecondMapping | None = None


def find_earlier(
    database: Database, data: Texts | None, dataset: Dataset, mapping: Mapping, *, plus: bool
) -> Earlier | None:
    """Return what was released before from these texts; None for texts that are neither files, a table nor named.

    dataset: with their name in the ledger, if it is not that of the files or the table. mapping, plus: those of the
    release to come.
    """
    named = _name(data, dataset)
    if named is None:
        return None
    info = mapping.info
    terms = Terms(info.name, info.fingerprint, policy="", calibration="", draws="fresh", key_id=None)
    release = new_entry(terms, dataset=named.name, parts=list(named.parts), eps=None, plus=plus)
    every, keyed = read_all(LedgerFile.locate(None, database))
    second = find_second_mapping(every, release, database, mapping)
    found = find_related(every, release)
    totals = add_up(found, keyed)
    if any(total.raw for total in totals):
        return Earlier(len(found), math.inf, second)
    known = [float(total.total_eps) for total in totals if total.total_eps is not None]
    return Earlier(len(found), max(known, default=0.0) if len(known) == len(totals) else None, second)


def _name(data: Texts | None, dataset: Dataset) -> Dataset | None:
    """Return the dataset as a release of these texts would name it."""
    if dataset.name is not None:
        return dataset.or_called("")
    if isinstance(data, DataTable):
        with open_texts(data) as opened:
            assert opened.source.table is not None
            return dataset.or_table(Path(data.path), *opened.source.table)
    path = data.path if isinstance(data, DataFiles) else data
    if not isinstance(path, (str, os.PathLike)):
        return None
    return dataset.or_files(os.fspath(path), list_files(os.fspath(path)))
