"""What is to be released: with which sanitizer, which columns, within which limits, as which dataset."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from custext_sql.errors import BudgetError, SettingError, SourceError
from custext_sql.parameters import check_limit, count_of
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.store.database import Database
from custext_sql.store.key_files import KeyFile
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import LedgerEntry

RowProgress = Callable[[float, int, int], None]  # takes the share done, and the rows and words so far


@dataclass(frozen=True)
class ReleasePlan:
    """What is to be released.

    database: the one with the ledger. columns: those to sanitize. record_column: with a key, the column of IDs.
    max_row_eps: the most that a row may spend in this release. dataset: the name of the data in the ledger, and what
    the ledger checks.
    """

    sanitizer: Sanitizer
    database: Database = None
    columns: Sequence[str] = ()
    record_column: str | None = None
    max_row_eps: float | None = None
    dataset: Dataset = field(default_factory=Dataset)

    def __post_init__(self) -> None:
        check_limit(self.max_row_eps, "--max-row-eps", "max_row_eps", or_zero=True)

    @classmethod
    def make(
        cls,
        database: Database,
        *,
        mapping: str | None = None,
        eps: float | None = None,
        plus: bool | None = None,
        policy: str | Policy | None = None,
        calibration: str | None = None,
        language: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        columns: str | Sequence[str] | None = (),
        record_column: str | None = None,
        max_row_eps: float | None = None,
        budget_total: float | None = None,
        dataset: str | Dataset | None = None,
        second_mapping: bool = False,
        reuse_key: bool = False,
    ) -> "ReleasePlan":
        """Return a plan for the given settings; the sanitizer settles those that are None."""
        sanitizer = Sanitizer.load(
            database,
            mapping=mapping,
            eps=eps,
            plus=plus,
            policy=policy,
            calibration=calibration,
            language=language,
            key_file=key_file,
            seed=seed,
        )
        return cls(
            sanitizer=sanitizer,
            database=database,
            columns=_check_columns(columns, record_column),
            record_column=record_column,
            max_row_eps=max_row_eps,
            dataset=_make_dataset(dataset, budget_total, second_mapping, reuse_key),
        )

    def check_record_column(self) -> None:
        """Raise SettingError unless there is a column of IDs with a key, and none without one."""
        check_record_column(self.sanitizer.key, self.record_column)

    @property
    def limits_rows(self) -> bool:
        """Whether there is a limit on what a row may spend."""
        return self.max_row_eps is not None or self.dataset.budget_total is not None

    def open_entry(self, *, beside: Path | None = None, must_be_made: bool = False) -> LedgerEntry:
        """Return a ledger entry for the release; raise an error early if the ledger does not allow it.

        beside: where the receipt goes if the ledger cannot be written. must_be_made: nothing is released in that case.
        """
        entry = LedgerEntry(
            self.database,
            self.dataset,
            self.sanitizer.terms,
            eps=self.sanitizer.settings.eps,
            plus=self.sanitizer.settings.plus,
            columns=self.columns,
            record_column=self.record_column,
            beside=beside,
            must_be_made=must_be_made,
        )
        entry.check()
        return entry

    def publish(self, entry: LedgerEntry, publish: Callable[[], object] | None, tally: Tally, name: str) -> Receipt:
        """Make an output appear and enter it; BudgetError if a row of it has spent too much. publish: see LedgerEntry.

        The limit applies to what was drawn, not to the earlier estimate: the data may have changed since.
        """
        receipt = self.sanitizer.receipt(tally)
        limit = self.max_row_eps
        if limit is not None and receipt.largest_row_eps > limit:
            refuse_over(name, limit, receipt.largest_row_eps)
        entry.publish(publish, receipt, tally.keyed_sum)
        return receipt


def _make_dataset(
    dataset: str | Dataset | None, budget_total: float | None, second_mapping: bool, reuse_key: bool
) -> Dataset:
    if not isinstance(dataset, Dataset):
        return Dataset(dataset, budget_total, second_mapping, reuse_key)
    if budget_total is not None or second_mapping or reuse_key:
        raise SettingError("set budget_total, second_mapping and reuse_key in the given Dataset, not beside it")
    return dataset


def refuse_over(name: str, limit: float, largest: float, over: int | None = None) -> NoReturn:
    """Raise a BudgetError for rows that would spend more than the limit. over: how many rows, if known."""
    rows = "a row" if over is None else count_of(over, "row")
    raise BudgetError(
        f"{name}: {rows} would spend more than --max-row-eps {limit:g} (in Python: max_row_eps), up to {largest:g}; "
        "nothing was written"
    )


def check_chosen(chosen: Sequence[str], name: str, hint: str) -> None:
    """Raise SettingError unless columns were chosen, each once. name: of the data; hint: which columns it has."""
    if not chosen:
        raise SettingError(f"{name}: name the columns to sanitize: --column NAME (in Python: columns=[...]); {hint}")
    if len(set(chosen)) < len(chosen):
        raise SettingError("--column (in Python: columns) names a column twice")


def check_record_column(key: KeyFile | None, record_column: str | None) -> None:
    """Raise SettingError unless there is a column of IDs with a key, and none without one."""
    if key is not None and record_column is None:
        raise SettingError(
            "draws from a key need a column of IDs, one per row: --record-column NAME (in Python: record_column=...)"
        )
    if key is None and record_column is not None:
        raise SettingError(
            "--record-column (in Python: record_column) is for draws from a key; name the key: --key-file PATH (in "
            "Python: key_file=...)"
        )


def check_ids(name: str, column: str, missing: int, repeated: int) -> None:
    """Raise SourceError unless every row has an ID of its own. missing: rows without; repeated: IDs of several rows."""
    if missing:
        raise SourceError(f"{name}: column {column!r} is NULL in {count_of(missing, 'row')}; every row needs an ID")
    if repeated:
        occur = "occurs" if repeated == 1 else "occur"
        raise SourceError(
            f"{name}: {count_of(repeated, 'value')} of column {column!r} {occur} more than once; IDs must be unique"
        )


def _check_columns(columns: str | Sequence[str] | None, record_column: str | None) -> tuple[str, ...]:
    """Return the names of columns as a tuple; SettingError for values that are not names."""
    if record_column is not None and not isinstance(record_column, str):
        raise SettingError(f"record_column must be the name of a column; found {type(record_column).__name__}")
    if isinstance(columns, str):
        return (columns,)
    if columns is not None and not isinstance(columns, Iterable):
        raise SettingError(f"columns must be a name or a list of names; found {type(columns).__name__}")
    names = tuple(columns or ())
    wrong = next((type(name).__name__ for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise SettingError(f"columns must be names of columns; found {wrong}")
    return names
