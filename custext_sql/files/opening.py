"""Opens releases: with which settings, which columns, within which limits, as which dataset."""

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypedDict, Unpack

from custext_sql.errors import ReleaseWarning, SettingError, SourceError
from custext_sql.ledger.dataset import Dataset
from custext_sql.ledger.places import LedgerPlace
from custext_sql.ledger.release import Release
from custext_sql.parameters import check_type, count_of
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.receipt import Receipt
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.store.database import Database
from custext_sql.store.key_files import KeyFile

RowProgress = Callable[[float, int, int], None]  # takes the share done, and the rows and words so far


class OtherOptions(TypedDict, total=False):
    """The options of a release, apart from columns, eps and plus."""

    policy: str | Policy | None
    calibration: str | None
    mapping: str | None
    language: str | None
    key_file: str | os.PathLike[str] | None
    record_column: str | None
    max_row_eps: float | None
    budget_total: float | None
    dataset: str | Dataset | None
    second_mapping: bool
    reuse_key: bool
    seed: int | None
    database: Database
    ledger: LedgerPlace


class ReleaseOptions(OtherOptions, total=False):
    """What every function that releases takes, all of it by name and optional; see `sanitize_file`."""

    columns: str | Sequence[str] | None
    eps: float | None
    plus: bool | None


@dataclass(frozen=True)
class ReleaseReport:
    """The result of a release.

    rows: the number of rows. receipt: what was drawn, let through and spent. output: what was written, such as a path;
    None if it went to a stream or to the caller. copied: columns that were copied unchanged.
    """

    rows: int
    receipt: Receipt
    output: str | None = None
    copied: tuple[str, ...] = ()

    def warn(self, stacklevel: int = 2) -> None:
        """Issue a ReleaseWarning for each thing that passed in the clear."""
        for message in self.receipt.warnings:
            warnings.warn(message, ReleaseWarning, stacklevel=stacklevel + 1)


def open_release(name: str, **options: Unpack[ReleaseOptions]) -> Release[Sanitizer]:
    """Return a release with the given settings, counted but not yet made; see `Release`. name: what messages call it.

    Raise a CusTextError if a setting is wrong.
    """
    given: dict[str, Any] = {**options}
    known = {field: given.pop(field, None) for field in ("columns", "record_column", "max_row_eps")}
    limits = {field: given.pop(field) for field in ("budget_total", "second_mapping", "reuse_key") if field in given}
    dataset = given.pop("dataset", None)
    if not isinstance(dataset, Dataset):
        dataset = Dataset(dataset, **limits)
    elif limits.pop("budget_total", None) is not None or any(limits.values()):
        raise SettingError("set budget_total, second_mapping and reuse_key in the given Dataset, not beside it")
    known["columns"] = _check_columns(known["columns"], known["record_column"])
    sanitizer = Sanitizer.load(given.pop("database", None), **given)
    return sanitizer.open_release(dataset, name=name, **known)


def check_chosen(chosen: Sequence[str], name: str, hint: str) -> None:
    """Raise SettingError unless columns were chosen, each once. name: of the data; hint: which columns it has."""
    if not chosen:
        raise SettingError(f"{name}: name the columns to sanitize: --column NAME (in Python: columns=[...]); {hint}")
    if len(set(chosen)) < len(chosen):
        raise SettingError("--column (in Python: columns) names a column twice")


def check_record_column(key: KeyFile | None, record_column: str | None, *, append: bool = False) -> None:
    """Raise SettingError unless there is a column of IDs with a key or to append rows, and none otherwise."""
    if record_column is None and append:
        raise SettingError(
            "--append needs a column of IDs, to find the rows that are new: --record-column NAME (in Python: "
            "record_column=...)"
        )
    if key is not None and record_column is None:
        raise SettingError(
            "draws from a key need a column of IDs, one per row: --record-column NAME (in Python: record_column=...)"
        )
    if key is None and record_column is not None and not append:
        raise SettingError(
            "--record-column (in Python: record_column) is for draws from a key; name the key: --key-file PATH (in "
            "Python: key_file=...)"
        )


def check_ids(name: str, column: str, missing: int, repeated: int) -> None:
    """Raise SourceError unless every row has its own ID.

    missing: how many rows have none. repeated: how many IDs occur more than once.
    """
    if missing:
        raise SourceError(f"{name}: column {column!r} is NULL in {count_of(missing, 'row')}; every row needs an ID")
    if repeated:
        occur = "occurs" if repeated == 1 else "occur"
        raise SourceError(
            f"{name}: {count_of(repeated, 'value')} of column {column!r} {occur} more than once; IDs must be unique"
        )


def _check_columns(columns: str | Sequence[str] | None, record_column: str | None) -> tuple[str, ...]:
    """Return the names of columns as a tuple; SettingError for values that are not names."""
    check_type(record_column, (str, NoneType), "record_column must be the name of a column")
    check_type(columns, (Iterable, NoneType), "columns must be a name or a list of names")
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    for name in names:
        check_type(name, str, "columns must be names of columns")
    return names
