"""One release, however it is made: what the ledger forbids, what was drawn, the entry, the output.

A release of a connection or a pipeline runs: it has no defined end. It is in the ledger as pending, with an unknown
amount, before its first text is drawn. It is settled when the process ends, and before this process reads the ledger;
the next text makes it pending again. So a process that is killed leaves a release with unknown counts, never one with
counts that are too low.
"""

import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from custext_sql.errors import BudgetError, DatabaseError, PrivacyWarning, SettingError
from custext_sql.ledger.checks import check_budget, check_release, name_scope
from custext_sql.ledger.dataset import Dataset, choose_dataset, is_nameless
from custext_sql.ledger.entries import COMPLETE, PENDING, RAW, Entry, Terms, finish, new_entry, new_id, to_decimal
from custext_sql.ledger.places import LedgerFile
from custext_sql.parameters import check_limit
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.receipt import Guarantee, Receipt
from custext_sql.sanitizer.tally import Counts, Tally


class Drawer(Protocol):
    """What a release needs of its sanitizer."""

    database: Path | None
    ledger: LedgerFile | None

    @property
    def policy(self) -> Policy: ...

    @property
    def terms(self) -> Terms: ...

    def guarantee(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee: ...


_Drawer = TypeVar("_Drawer", bound=Drawer)

_open: set["Release[Any]"] = set()  # yet to be settled; keeps them alive until then
_all: WeakSet["Release[Any]"] = WeakSet()
_process = 0


class Release(Generic[_Drawer]):
    """A release. Add what is drawn to its `tally`, then publish; or draw within `drawing`, which has no defined end.

    sanitizer: what draws. dataset: its name in the ledger, and what the ledger checks; None for a release that is only
    counted. name: what messages call the data. budgets, plus: every eps at which words may be drawn, and whether
    stopwords are kept; none if each call says so, see `note_call`. listed: the only words that are drawn, if there is a
    list. columns: those to sanitize; `copied` is for those that are copied unchanged, and `appends_to` for the name of
    an output that exists and gets more rows. record_column: with a key, the column of IDs. max_row_eps: the most that a
    row may spend. at_least: whether a row may be drawn more than once.
    runs: whether it has no defined end. run_id: the same in processes that each make a part of one run.
    """

    def __init__(
        self,
        sanitizer: _Drawer,
        dataset: Dataset | None,
        *,
        name: str = "the texts",
        budgets: Collection[float] = (),
        plus: Collection[bool] = (),
        listed: frozenset[str] | None = None,
        columns: Sequence[str] = (),
        record_column: str | None = None,
        max_row_eps: float | None = None,
        at_least: bool = False,
        runs: bool = False,
        run_id: str | None = None,
    ) -> None:
        check_limit(max_row_eps, "--max-row-eps", "max_row_eps", or_zero=True)
        if dataset is not None and sanitizer.ledger is None:
            raise SettingError("this sanitizer was not loaded from a database, so it has no ledger; use Sanitizer.load")
        self.sanitizer, self.dataset, self.name = sanitizer, dataset or Dataset(), name
        self._place = None if dataset is None else sanitizer.ledger
        self._given = (frozenset(budgets), frozenset(plus), listed)
        self.columns, self.record_column = tuple(columns), record_column
        self.copied: tuple[str, ...] = ()
        self.appends_to: str | None = None
        self._max_row_eps, self._at_least, self.runs = max_row_eps, at_least, runs
        self._known: dict[str, Any] = {} if run_id is None else {"run_id": run_id}
        self.forget()

    def forget(self) -> None:
        """Start anew, without counts and with an entry of its own: in a new release, and in a fork of the process."""
        self.tally = Tally()
        self._budgets, self._plus = set(self._given[0]), set(self._given[1])
        self._calls = {"keyed": False, "fresh": False}
        self._lock = threading.RLock()
        self._entry: Entry | None = None
        self._is_open = False  # drawn from since the entry was last brought up to date
        self._drawing = 0

    @property
    def has_limit(self) -> bool:
        """Whether there is a limit on what a row may spend."""
        return self._max_row_eps is not None or self.dataset.budget_total is not None

    def describe(self, **known: Any) -> None:
        """Set fields of the entry, such as the columns, as soon as they are known."""
        self._known |= known

    def check(self) -> None:
        """Raise BudgetError or KeyFileError if the ledger already forbids the release; call it before a long run."""
        if self._place is None:
            return
        settle_all()
        entry = replace(self._make_entry(), largest_row_eps=Decimal())
        with self._place.reading() as connection:
            if connection is not None:
                self._check(connection, entry, None)

    def note_call(self, *, keyed: bool, eps: Any, plus: Any) -> None:
        """Note at which eps and plus a call drew, and whether with the key, if that is for the caller to decide."""
        with self._lock:
            epsilons = self._budgets | {float(np.max(eps, initial=0.0)), float(np.min(eps, initial=np.inf))}
            self._budgets = {max(epsilons), *epsilons & {0.0}}  # at 0 nothing is drawn, unlike at any other eps
            self._plus.update(np.unique(plus).tolist())
            self._calls["keyed" if keyed else "fresh"] = True

    @property
    def was_called(self) -> bool:
        """Whether a call was noted."""
        return any(self._calls.values())

    @property
    def is_keyed(self) -> bool:
        """Whether all draws come from the key."""
        return self.sanitizer.terms.key_id is not None and not self._calls["fresh"]

    @property
    def receipt(self) -> Receipt:
        """The receipt of all that was drawn so far in this process."""
        return self.make_receipt(self.tally)

    def make_receipt(self, counted: Tally | Counts) -> Receipt:
        """Return the receipt of some of the texts alone."""
        tally = counted if isinstance(counted, Tally) else Tally()
        if isinstance(counted, Counts):
            tally.add(counted)
        budgets, plus = self._budgets or {0.0}, self._plus or {False}
        return tally.receipt(self.sanitizer.policy, self.sanitizer.guarantee(budgets, plus, self._given[2]))

    def publish(self, publish: Callable[[], object] | None = None, outputs: Iterable[dict[str, str]] = ()) -> Receipt:
        """Enter the release as pending, call `publish`, which makes the output appear, and enter it as complete.

        publish: None if the caller hands out the output after this call. outputs: see `Entry`. BudgetError if a row
        spent too much, DatabaseError if the ledger cannot be written; nothing was published then. If `publish` fails,
        the entry is removed. After an interrupt it stays, since the output may have appeared.
        """
        receipt = self.receipt
        if self._max_row_eps is not None and receipt.largest_row_eps > self._max_row_eps:
            raise BudgetError(
                f"{self.name}: a row would spend more than --max-row-eps {self._max_row_eps:g} (in Python: "
                f"max_row_eps), up to {receipt.largest_row_eps:g}; nothing was written"
            )
        self.describe(outputs=list(outputs))
        self._publish(publish, self._make_entry().with_counts(receipt))
        return receipt

    def publish_unsanitized(self, publish: Callable[[], object], outputs: Iterable[dict[str, str]], rows: int) -> None:
        """Publish an output of which nothing was drawn; if it has rows, they are entered as unprotected."""
        self.describe(outputs=list(outputs), row_count=rows, at_least=False)
        if rows:
            self.describe(draws=RAW, key_id=None)
        else:
            self.describe(largest_row_eps=Decimal())
        self._publish(publish, self._make_entry())

    def _publish(self, publish: Callable[[], object] | None, entry: Entry) -> None:
        if self._place is not None:
            self._enter(entry if publish is not None else finish(entry))
        if self._place is None or publish is None:
            if publish is not None:
                publish()
            return
        from custext_sql.ledger.schema import delete_entry, update_entry  # loads SQLAlchemy

        try:
            publish()
        except Exception:
            with suppress(DatabaseError), self._place.writing() as connection:  # it stays pending
                delete_entry(connection, entry.release_id)
            raise
        try:
            with self._place.writing() as connection:
                update_entry(connection, finish(self._entered), only=PENDING)
        except DatabaseError:
            warnings.warn(
                f"the output is complete and counts, but its entry {entry.release_id[:8]} stays pending, since the "
                f"ledger {self._place} cannot be written any more; when it can be, run: custext ledger settle "
                f"{entry.release_id[:8]}",
                PrivacyWarning,
                stacklevel=4,
            )

    @contextmanager
    def drawing(self) -> Iterator[Tally]:
        """Yield the tally to add counts to, and draw within.

        A release that runs is in the ledger by then, its amount unknown. It is settled when the process ends, or before
        this process reads the ledger.
        """
        if self.runs and self._place is not None:
            with self._lock:
                if not self._is_open:
                    self._begin()
                    self._is_open = True
                    _watch(self)
                self._drawing += 1
        try:
            yield self.tally
        finally:
            with self._lock:
                self._drawing -= 1

    def settle(self, *, complete: bool = True) -> bool:
        """Enter what was drawn, unless something is drawing at the moment; return whether the ledger is up to date.

        complete: False for a release that stopped before its end; it stays pending, with its counts.
        """
        with self._lock:
            if not self._is_open or self._drawing or self._place is None:
                return not self._is_open
            assert self._entry is not None
            if self._given[0] or self.was_called:
                entry = self._same_entry().with_counts(self.receipt)
                entry = replace(entry, by_record=self._entry.by_record and entry.key_id is not None)
                self._enter(finish(entry) if complete else entry, again=True)
                self._entry = self._entered
            else:
                from custext_sql.ledger.schema import delete_entry

                with self._place.writing() as connection:
                    delete_entry(connection, self._entry.release_id)
                self._entry = None
            self._is_open = False
            _open.discard(self)
            return True

    def _begin(self) -> None:
        """Enter the release as pending, with an unknown amount."""
        from custext_sql.ledger.schema import update_entry

        assert self._place is not None
        if self._entry is not None:
            with self._place.writing() as connection:
                if update_entry(connection, self._same_entry(), only=COMPLETE):
                    return
        entry = self._make_entry()
        self._enter(entry)
        self._entry = entry

    def _same_entry(self) -> Entry:
        assert self._entry is not None
        same = {name: getattr(self._entry, name) for name in ("release_id", "run_id", "started_at")}
        return replace(self._make_entry(), **same)

    def _enter(self, entry: Entry, *, again: bool = False) -> None:
        """Enter the release, with what its key has spent on each record. again: it is in the ledger, as pending."""
        from custext_sql.ledger.records import SpentRecords
        from custext_sql.ledger.schema import insert_entry, update_entry

        assert self._place is not None
        spent = None
        if entry.key_id is not None and entry.eps and self.tally.records:
            log, eps = self.tally.records, to_decimal(entry.eps)
            entry = replace(entry, by_record=True)
            spent = SpentRecords(self._place, name_scope(entry), log, eps)
        try:
            entered = False
            while not entered:  # again if another release by the same key comes in between
                if spent is not None:
                    spent.measure()
                with self._place.writing("" if again else "; nothing was released") as connection:
                    if not again:
                        self._check(connection, entry, None if spent is None else spent.largest)
                    entered = spent is None or spent.enter(connection)
                    if entered and not (again and update_entry(connection, entry, only=PENDING)):
                        if again:  # a person settled it in between, which stays as it is
                            entry = replace(entry, release_id=new_id())
                        insert_entry(connection, entry)
        except BaseException:
            if spent is not None:
                spent.forget()
            raise
        self._entered = entry
        self.tally.records.clear()

    def _check(self, connection: Any, entry: Entry, keyed_eps: Decimal | None) -> None:
        """Raise an error if earlier releases forbid this one. keyed_eps: what its key then has spent on a record."""
        from custext_sql.ledger.schema import read_entries, read_keyed

        budget = self.dataset.budget_total
        if is_nameless(entry.dataset) and budget is None:
            return
        earlier = read_entries(connection)
        check_release(earlier, entry, self.dataset, self.sanitizer.database, self.appends_to)
        if budget is not None:
            keyed = read_keyed(connection)
            after = keyed if keyed_eps is None else {**keyed, name_scope(entry): keyed_eps}
            check_budget(earlier, keyed, entry, budget, after)

    def _make_entry(self) -> Entry:
        eps = max(self._budgets, default=None)
        known: dict[str, Any] = {"dataset": self.dataset.name, "parts": list(self.dataset.parts), "eps": eps}
        known |= {"sanitized": list(self.columns), "copied": list(self.copied), "record_column": self.record_column}
        known |= {"plus": next(iter(self._plus)) if len(self._plus) == 1 else None}
        known |= {"at_least": self._at_least and eps != 0}
        terms = self.sanitizer.terms
        if terms.key_id is not None and not self.is_keyed:
            terms = replace(terms, draws="fresh", key_id=None)
        return new_entry(terms, **(known | self._known))


def check_running(dataset: str | Dataset) -> Dataset:
    """Return the dataset of a running release; SettingError if it has a budget, which cannot be kept."""
    found = choose_dataset(dataset)
    if found.budget_total is not None:
        raise SettingError(
            "a connection or a pipeline cannot keep budget_total, since what it will draw is not known in advance; use "
            "Sanitizer.release, or custext sanitize"
        )
    return found


def settle_all() -> None:
    """Settle all releases of this process that are not drawing at the moment."""
    for release in list(_open):
        release.settle()


def _watch(release: Release[Any]) -> None:
    """Settle a release when the process ends, at the latest."""
    global _process
    _open.add(release)
    _all.add(release)
    if _process != os.getpid():  # a child process forgets the finalizers of its parent
        _process = os.getpid()
        Finalize(None, _end, exitpriority=10)


def _end() -> None:
    for release in list(_open):
        reason = "something was still drawing when the process ended"
        try:
            if release.settle():
                continue
        except DatabaseError as error:
            reason = str(error)
        warnings.warn(f"a release stays pending in the ledger: {reason}", PrivacyWarning, stacklevel=1)


def _start_anew() -> None:
    _open.clear()
    for release in list(_all):
        release.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
