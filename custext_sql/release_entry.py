"""A release as the ledger knows it: with what settings, what may be spent, pending before its output appears."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from custext_sql import ledger
from custext_sql.database import Database
from custext_sql.drafts import publish_text
from custext_sql.errors import BudgetError, CusTextError, DatabaseError, SettingError
from custext_sql.mechanism import check_epsilon
from custext_sql.receipt import Receipt
from custext_sql.sanitizer import Sanitizer
from custext_sql.sql_functions import Usage

Progress = Callable[[float, int, int], None]  # the share done, rows and words so far


@dataclass(frozen=True)
class Settings:
    """How texts are released. max_row_eps, budget_total: what a row may spend in this release, and in all of them."""

    sanitizer: Sanitizer
    eps: float
    plus: bool
    columns: Sequence[str]
    record_column: str | None = None
    max_row_eps: float | None = None
    budget_total: float | None = None

    @property
    def limits_rows(self) -> bool:
        return self.max_row_eps is not None or self.budget_total is not None

    def check(self) -> None:
        """Refuse what cannot be, before anything is read."""
        check_epsilon(self.eps)
        for name, limit in (("--max-row-eps", self.max_row_eps), ("--budget-total", self.budget_total)):
            if limit is not None and not 0 < limit < math.inf:
                raise SettingError(f"{name} must be greater than 0 and finite; found {limit:g}")
        if self.sanitizer.key is not None:
            self.sanitizer.key.check_setting("eps", self.eps)
            self.sanitizer.key.check_setting("plus", self.plus)


@dataclass(frozen=True)
class Outcome:
    """What came of a release. note: what the user should know of the ledger, if something went wrong with it."""

    rows: int
    receipt: Receipt
    note: str | None = None


class Entry:
    """A release in the ledger: pending before its output appears, complete when it is there."""

    def __init__(self, database: Database, settings: Settings, dataset: str, *, beside: Path | None) -> None:
        sanitizer = settings.sanitizer
        self._database = database
        self._budget_total = settings.budget_total
        self._beside = beside
        self.note: str | None = None
        self.release = ledger.new_release(
            dataset=dataset,
            text_columns=", ".join(settings.columns),
            mapping=sanitizer.mapping.info.name,
            fingerprint=sanitizer.mapping.info.fingerprint,
            eps=settings.eps,
            plus=settings.plus,
            policy=ledger.describe_policy(sanitizer.policy),
            calibration=sanitizer.calibration,
            draws=sanitizer.draws,
            key_id=None if sanitizer.key is None else sanitizer.key.key.name,
            record_column=settings.record_column,
        )

    def use(self, usage: Usage) -> None:
        """Say what a query called the functions with."""
        plus = next(iter(usage.plus)) if len(usage.plus) == 1 else None
        self.release = replace(self.release, plus=plus, eps=max(usage.epsilons, default=None))

    def check(self, largest_row_eps: float) -> None:
        """Refuse early what the budget does not allow; `begin` decides."""
        if self._budget_total is not None:
            release = replace(self.release, largest_row_eps=largest_row_eps)
            ledger.check_budget(ledger.list_releases(self._database), release, self._budget_total)

    def begin(self, receipt: Receipt | None = None) -> None:
        if receipt is not None:
            self.release = self.release.with_counts(receipt)
        try:
            ledger.begin(self._database, self.release, budget_total=self._budget_total)
        except DatabaseError as error:
            if self._budget_total is not None:
                raise
            self._write_beside(error)

    def complete(self, receipt: Receipt) -> None:
        self.release = ledger.finish(self.release.with_counts(receipt))
        if self.note is not None:
            self._write_receipt()
            return
        try:
            ledger.update(self._database, self.release)
        except DatabaseError as error:
            self._write_beside(error)

    def break_off(self, receipt: Receipt) -> None:
        """Enter what was released so far, though not all of it was."""
        self.release = self.release.with_counts(receipt)
        if self.note is None:
            with suppress(DatabaseError):
                ledger.update(self._database, self.release)

    def _withdraw(self) -> None:
        if self.note is None:
            with suppress(DatabaseError):  # it stays pending; what is told is why the output could not appear
                ledger.withdraw(self._database, self.release)

    def _write_beside(self, error: CusTextError) -> None:
        """The ledger cannot be written: leave the receipt where the output is."""
        self.note = f"the ledger was not written: {error}"
        if self._beside is not None:
            self._write_receipt()
            self.note += f"; the receipt is in {self._beside}"

    def _write_receipt(self) -> None:
        if self._beside is not None:
            publish_text(self._beside, ledger.to_json(self.release), force=True, private=True)

    def publish(self, publish: Callable[[], object], receipt: Receipt) -> None:
        """Let an output appear, between the two entries in the ledger.

        If it could not appear, the entry goes; an interrupt may come when it has appeared, so then the entry stays.
        """
        self.begin(receipt)
        try:
            publish()
        except Exception:
            self._withdraw()
            raise
        self.complete(receipt)


def refuse_over(name: str, limit: float | None, largest: float, over: int) -> None:
    """Refuse rows that would spend more than they may."""
    if limit is not None and over:
        raise BudgetError(
            f"{name}: {over:,} rows would spend more than --max-row-eps {limit:g}, up to {largest:g}; "
            "nothing was written"
        )


def receipt_beside(target: Path) -> Path:
    """Where the receipt of an output goes if the ledger cannot be written."""
    return target.with_name(f"{target.name}.receipt.json")
