"""What is to be released: by which sanitizer, which columns, within which limits, as which dataset."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from custext_sql.errors import BudgetError, SettingError
from custext_sql.parameters import check_positive
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import LedgerEntry

RowProgress = Callable[[float, int, int], None]  # the share done, rows and words so far


@dataclass(frozen=True)
class ReleasePlan:
    """What is to be released.

    database: whose ledger knows of it. record_column: what rows are known by, with a key. max_row_eps: what a row may
    spend in this release. dataset: what the ledger calls the data, and what it checks.
    """

    sanitizer: Sanitizer
    database: Database = None
    columns: Sequence[str] = ()
    record_column: str | None = None
    max_row_eps: float | None = None
    dataset: Dataset = field(default_factory=Dataset)

    def __post_init__(self) -> None:
        check_positive(self.max_row_eps, "--max-row-eps", "max_row_eps")

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
        """Return a plan for what was given; its sanitizer settles what was not."""
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
            columns=(columns,) if isinstance(columns, str) else tuple(columns or ()),
            record_column=record_column,
            max_row_eps=max_row_eps,
            dataset=_make_dataset(dataset, budget_total, second_mapping, reuse_key),
        )

    @property
    def limits_rows(self) -> bool:
        """Return whether something limits what a row may spend."""
        return self.max_row_eps is not None or self.dataset.budget_total is not None

    def open_entry(self, *, beside: Path | None = None) -> LedgerEntry:
        """Return an entry for the release, and refuse early what the ledger does not allow.

        beside: where the receipt goes if the ledger cannot be written.
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
        )
        entry.check()
        return entry

    def publish(self, entry: LedgerEntry, publish: Callable[[], object], tally: Tally, name: str) -> Receipt:
        """Let an output appear, if no row of it has spent too much, and enter it.

        What was drawn counts, not what was foreseen: the data may have changed since.
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
        raise SettingError("budget_total, second_mapping and reuse_key are parts of the Dataset that was given")
    return dataset


def refuse_over(name: str, limit: float, largest: float, over: int | None = None) -> None:
    """Refuse rows that would spend more than they may; over: how many, if that is known."""
    rows = "a row" if over is None else f"{over:,} {'row' if over == 1 else 'rows'}"
    raise BudgetError(
        f"{name}: {rows} would spend more than --max-row-eps {limit:g}, up to {largest:g}; nothing was written"
    )
