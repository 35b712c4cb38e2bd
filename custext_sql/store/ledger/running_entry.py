"""Enters releases without a defined end in the ledger: those of a connection or of a pipeline.

Such a release is entered as pending before its first text is drawn. After one second without a text, or when the
process ends, its counts are entered; the next text makes it pending again. So a process that is killed leaves a release
with unknown counts, never one with counts that are too low.
"""

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from weakref import WeakSet

from custext_sql.errors import DatabaseError, PrivacyWarning, SettingError
from custext_sql.replacing.receipt import Receipt
from custext_sql.store.files.duckdb_files import detach_all
from custext_sql.store.ledger.dataset import Dataset, choose_dataset
from custext_sql.store.ledger.entry import LedgerEntry

_REST = 1.0  # seconds without a text after which counts are entered
_TICK = 0.25  # seconds between checks
_PATIENCE = 10.0  # seconds to wait for a write to the ledger when the process ends


class RunningEntry:
    """The entry of a running release in this process; a fork of the process makes its own entry.

    open_entry: returns a new entry, which must_be_made. count: returns the receipt and keyed sum so far, or None if
    nothing was drawn. forget: resets the counts, in a fork.
    """

    def __init__(
        self,
        open_entry: Callable[[], LedgerEntry],
        count: Callable[[LedgerEntry], tuple[Receipt, str | None] | None],
        forget: Callable[[], None],
    ) -> None:
        self._open_entry, self._count, self._forget = open_entry, count, forget
        self._start()
        _all.add(self)

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._entry: LedgerEntry | None = None
        self._is_open = False
        self._drawing = 0
        self._rests_since = 0.0

    def start_anew(self) -> None:
        """Start a new part of the release, in a fork."""
        self._start()
        self._forget()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Yield once the release is in the ledger, so that the caller may draw; an error if it cannot be entered."""
        with self._lock:
            if not self._is_open:
                if self._entry is None:
                    entry = self._open_entry()
                    entry.begin()
                    self._entry = entry
                else:
                    self._entry.begin_again()
                self._is_open = True
                _open.add(self)
            self._drawing += 1
        _settler.watch()
        try:
            yield
        finally:
            with self._lock:
                self._drawing -= 1
                self._rests_since = time.monotonic()

    def settle(self, *, rest: float = 0.0) -> bool:
        """Enter the counts if nothing was drawn for `rest` seconds, and return whether the ledger is up to date."""
        with self._lock:
            if self._is_open and not self._drawing and time.monotonic() - self._rests_since >= rest:
                self._enter_counts()
            return not self._is_open

    def _enter_counts(self) -> None:
        """Enter the counts; if the ledger cannot be written, the release stays open."""
        assert self._entry is not None
        counted = self._count(self._entry)
        if counted is None:
            self._entry.withdraw()
            self._entry = None
        else:
            try:
                self._entry.complete(*counted)
            except DatabaseError:
                return
        self._is_open = False
        _open.discard(self)


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
    """Enter the counts of all releases of this process that are not drawing at the moment."""
    for release in list(_open):
        release.settle()


def _end() -> None:
    """Enter the counts of open releases when the process ends, even if a connection has the database attached."""
    _settler.stop()
    settle_all()
    if _open:
        detach_all()
        settle_all()
    for _ in _open:
        warnings.warn(
            "a release stays pending in the ledger, because the ledger could not be written when the process ended",
            PrivacyWarning,
            stacklevel=1,
        )


class _Settler:
    """A thread that enters the counts of idle releases; it ends when none is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._process = 0

    def watch(self) -> None:
        """Start the thread, unless it runs, and register what to do at the end of the process."""
        with self._lock:
            if self._process != os.getpid():  # a child process forgets the finalizers of its parent
                self._process = os.getpid()
                Finalize(None, _end, exitpriority=10)
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._work, name="custext ledger", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, at the end of the process."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _work(self) -> None:
        while not self._stopped.wait(_TICK):
            with self._lock:
                resting = [release.settle(rest=_REST) for release in list(_open)]
                if all(resting):
                    self._thread = None
                    return


def _start_anew() -> None:
    global _settler
    _settler = _Settler()
    _open.clear()
    for release in list(_all):
        release.start_anew()


_all: WeakSet[RunningEntry] = WeakSet()
_open: set[RunningEntry] = set()  # yet to be settled; keeps them alive until then
_settler = _Settler()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
