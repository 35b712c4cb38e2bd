"""A release on its way into the ledger: pending before its output appears, complete when it is there."""

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

    If the ledger cannot be written, `note` says so, and the receipt goes beside the output, if it has a place. With a
    budget, or if the entry `must_be_made`, an unwritable ledger is an error, and nothing is released.
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
            raise SettingError("a release needs the name of its dataset")
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
        """Refuse early what earlier releases do not allow; `begin` decides."""
        dataset = self._dataset
        if largest_row_eps is None or self.release.key_id is not None:  # which may turn out to be an earlier one
            dataset = replace(dataset, budget_total=None)
        largest = None if largest_row_eps is None else ledger.to_decimal(largest_row_eps)
        release = replace(self.release, largest_row_eps=largest)
        with reading(self._database) as connection:
            check_release(connection, ledger.read_releases(connection), release, dataset)

    def begin(self, receipt: Receipt | None = None, keyed_sum: str | None = None) -> None:
        """Enter the release as pending, with what is known of it; once."""
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
        """Enter a release that was complete as pending, since more is to follow."""
        ledger.update(self._database, self._begun)
        self._is_in_ledger = True

    def describe(self, **known: Any) -> None:
        """Say more of the release than was known at first."""
        self.release = replace(self.release, **known)

    def add_note(self, note: str) -> None:
        """Tell the user one thing more."""
        self.note = note if self.note is None else f"{self.note}; {note}"

    def complete(self, receipt: Receipt | None, keyed_sum: str | None = None) -> None:
        """Enter what the release came to."""
        self._count(receipt, keyed_sum)
        self.release = ledger.finish(self.release)
        if not self._is_in_ledger:
            self._write_receipt()
            return
        try:
            ledger.update(self._database, self.release)
        except DatabaseError as error:
            if self._must_be_made:  # it stays pending
                raise
            self._write_beside(error)

    def break_off(self, receipt: Receipt | None, keyed_sum: str | None = None) -> None:
        """Enter what was released so far, though not all of it was."""
        self._count(receipt, keyed_sum)
        if self._is_in_ledger:
            with suppress(DatabaseError):  # it stays pending, with unknown counts
                ledger.update(self._database, self.release)

    def withdraw(self) -> None:
        """Take back what was entered, since nothing was released."""
        if self._is_in_ledger:
            with suppress(DatabaseError):  # it stays pending; what is told is why the output could not appear
                ledger.withdraw(self._database, self.release)

    def publish(self, publish: Callable[[], object], receipt: Receipt | None, keyed_sum: str | None = None) -> None:
        """Let an output appear, between the two entries in the ledger.

        If it could not appear, the entry goes; an interrupt may come when it has appeared, so then the entry stays.
        """
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
        """Leave the receipt where the output is, since the ledger cannot be written."""
        self._is_in_ledger = False
        self.add_note(f"the ledger was not written: {error}")
        self.add_note("do not repeat the release for that: it would be another one")
        if self._beside is not None:
            self._write_receipt()
            self.add_note(f"the receipt is in {self._beside}")

    def _write_receipt(self) -> None:
        if self._beside is not None:
            publish_text(self._beside, ledger.to_json(self.release), force=True, private=True)


def receipt_beside(target: Path) -> Path:
    """Return where the receipt of an output goes if the ledger cannot be written."""
    return target.with_name(f"{target.name}.receipt.json")
