"""Enters a release in the ledger: as pending before its output appears, as complete afterwards."""

import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from custext_sql.errors import CusTextError, DatabaseError, SettingError
from custext_sql.replacing.receipt import Receipt
from custext_sql.store.database import Database, reading
from custext_sql.store.files.atomic_outputs import publish_text
from custext_sql.store.ledger import table as ledger
from custext_sql.store.ledger.checks import check_release
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.table import Release, Terms


class LedgerEntry:
    """A release in the ledger.

    If the ledger cannot be written, `note` says so, and the receipt is written to the file `beside`, if given. With a
    budget, or with `must_be_made`, an unwritable ledger is a DatabaseError, and nothing is released.
    """

    def __init__(
        self,
        database: Database,
        dataset: Dataset,
        terms: Terms,
        *,
        eps: float | None = None,
        plus: bool | None = None,
        columns: Collection[str] = (),
        record_column: str | None = None,
        at_least: bool = False,
        run_id: str | None = None,
        beside: Path | None = None,
        must_be_made: bool = False,
    ) -> None:
        if dataset.name is None:
            raise SettingError("a release needs a dataset with a name: --dataset (in Python: dataset=...)")
        self._database = database
        self._dataset = dataset
        self._beside = beside
        self._must_be_made = must_be_made or dataset.budget_total is not None
        self._lock = threading.Lock()
        self._is_begun = self._is_in_ledger = False
        self.note: str | None = None
        self.release: Release = ledger.new_release(
            terms,
            dataset=dataset.name,
            parts=list(dataset.parts),
            text_columns=", ".join(columns),
            eps=eps,
            plus=plus,
            record_column=record_column,
            at_least=at_least,
            **({} if run_id is None else {"run_id": run_id}),
        )

    def check(self, largest_row_eps: float | None = None) -> None:
        """Raise the errors of `begin` early, as far as possible. largest_row_eps: if it is already known."""
        dataset = self._dataset
        if largest_row_eps is None or self.release.key_id is not None:  # may repeat an earlier keyed release
            dataset = replace(dataset, budget_total=None)
        largest = None if largest_row_eps is None else ledger.to_decimal(largest_row_eps)
        release = replace(self.release, largest_row_eps=largest)
        with reading(self._database) as connection:
            check_release(connection, ledger.read_releases(connection), release, dataset)

    def begin(self, receipt: Receipt | None = None, keyed_sum: str | None = None) -> None:
        """Enter the release as pending, with the counts known so far; further calls do nothing.

        BudgetError or KeyFileError if earlier releases do not allow it.
        """
        if self._is_begun:
            return
        with self._lock:
            if self._is_begun:
                return
            self._count(receipt, keyed_sum)
            self._begun = self.release
            try:
                ledger.enter(
                    self._database,
                    self.release,
                    lambda connection, earlier: check_release(connection, earlier, self.release, self._dataset),
                )
                self._is_in_ledger = True
            except DatabaseError as error:
                if self._must_be_made:
                    raise
                self._write_beside(error)
            self._is_begun = True

    def begin_again(self) -> None:
        """Enter a complete release as pending again, since more is to follow."""
        ledger.update(self._database, self._begun)
        self._is_in_ledger = True

    def describe(self, **known: Any) -> None:
        """Set fields of the release that were unknown at first."""
        self.release = replace(self.release, **known)

    def add_note(self, note: str) -> None:
        """Add a note for the user."""
        self.note = note if self.note is None else f"{self.note}; {note}"

    def complete(self, receipt: Receipt | None, keyed_sum: str | None = None) -> None:
        """Enter the release as complete, with its counts."""
        self._count(receipt, keyed_sum)
        self.release = ledger.finish(self.release)
        if not self._is_in_ledger:
            self._write_receipt()
            return
        try:
            ledger.update(self._database, self.release)
        except DatabaseError as error:
            if self._must_be_made:  # the release stays pending
                raise
            self._write_beside(error)

    def break_off(self, receipt: Receipt | None, keyed_sum: str | None = None) -> None:
        """Enter the counts of a release that stopped before its end; it stays pending."""
        self._count(receipt, keyed_sum)
        if self._is_in_ledger:
            with suppress(DatabaseError):  # its counts stay unknown
                ledger.update(self._database, self.release)

    def withdraw(self) -> None:
        """Remove the entry, since nothing was released."""
        if self._is_in_ledger:
            with suppress(DatabaseError):  # it stays pending; the error of the output matters more
                ledger.withdraw(self._database, self.release)

    def publish(
        self, publish: Callable[[], object] | None, receipt: Receipt | None, keyed_sum: str | None = None
    ) -> None:
        """Enter the release as pending, publish its output, and enter the release as complete.

        If publishing fails, the entry is removed. After an interrupt it stays, since the output may have appeared.
        publish: None if the caller hands out the output after this call; the release is then entered once, as complete.
        """
        if publish is None:
            self.release = ledger.finish(self.release)
            self.begin(receipt, keyed_sum)
            return
        self.begin(receipt, keyed_sum)
        try:
            publish()
        except Exception:
            self.withdraw()
            raise
        self.complete(receipt, keyed_sum)

    def _count(self, receipt: Receipt | None, keyed_sum: str | None) -> None:
        if receipt is not None:
            self.release = replace(self.release.with_counts(receipt), keyed_sum=keyed_sum)

    def _write_beside(self, error: CusTextError) -> None:
        """Write the receipt beside the output, since the ledger cannot be written."""
        self._is_in_ledger = False
        self.add_note(f"the release is not in the ledger: {error}")
        self.add_note("do not repeat it for that reason: that would be another release")
        if self._beside is not None:
            self._write_receipt()
            self.add_note(f"the receipt is in {self._beside}")

    def _write_receipt(self) -> None:
        if self._beside is not None:
            publish_text(self._beside, ledger.to_json(self.release), force=True)


def receipt_beside(target: Path) -> Path:
    """Return the path of the receipt of an output, for when the ledger cannot be written."""
    return target.with_name(f"{target.name}.receipt.json")
