"""How texts are released from files and tables, and what came of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from custext_sql.errors import BudgetError, SettingError
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import Entry

Progress = Callable[[float, int, int], None]  # the share done, rows and words so far


@dataclass(frozen=True)
class Settings:
    """How texts are released. max_row_eps: what a row may spend in this release."""

    sanitizer: Sanitizer
    eps: float
    plus: bool
    columns: Sequence[str]
    record_column: str | None = None
    max_row_eps: float | None = None
    dataset: Dataset = field(default_factory=Dataset)

    @property
    def limits_rows(self) -> bool:
        return self.max_row_eps is not None or self.dataset.budget_total is not None

    def check(self) -> None:
        """Refuse what cannot be, before anything is read."""
        check_epsilon(self.eps)
        if self.max_row_eps is not None and not 0 < self.max_row_eps < math.inf:
            raise SettingError(f"--max-row-eps must be greater than 0 and finite; found {self.max_row_eps:g}")
        if self.sanitizer.key is not None:
            self.sanitizer.key.check_setting("eps", self.eps)
            self.sanitizer.key.check_setting("plus", self.plus)

    def open_entry(self, database: Database, *, beside: Path | None = None) -> Entry:
        """Return an entry for the release, and refuse early what the ledger does not allow."""
        entry = Entry(
            database,
            self.dataset,
            self.sanitizer.terms,
            eps=self.eps,
            plus=self.plus,
            columns=self.columns,
            record_column=self.record_column,
            beside=beside,
        )
        entry.check()
        return entry

    def publish(self, entry: Entry, publish: Callable[[], object], tally: Tally, name: str) -> Receipt:
        """Let an output appear, if no row of it has spent too much, and enter it.

        What was drawn counts, not what was foreseen: the data may have changed since.
        """
        receipt = self.sanitizer.receipt(tally, self.eps, self.plus)
        limit = self.max_row_eps
        if limit is not None and receipt.largest_row_eps > limit:
            refuse_over(name, limit, receipt.largest_row_eps)
        entry.publish(publish, receipt, tally.keyed_sum)
        return receipt


@dataclass(frozen=True)
class Outcome:
    """What came of a release.

    made: what there is now, as people call it. copied: columns that were copied as they were. note: what the user
    should know of the ledger, if something went wrong with it.
    """

    rows: int
    receipt: Receipt
    made: str = ""
    copied: tuple[str, ...] = ()
    note: str | None = None


def refuse_over(name: str, limit: float, largest: float, over: int | None = None) -> None:
    """Refuse rows that would spend more than they may; over: how many, if that is known."""
    rows = "a row" if over is None else f"{over:,} {'row' if over == 1 else 'rows'}"
    raise BudgetError(
        f"{name}: {rows} would spend more than --max-row-eps {limit:g}, up to {largest:g}; nothing was written"
    )
