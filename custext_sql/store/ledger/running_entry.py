"""Releases that go on for as long as somebody asks: those of a connection or of a pipeline.

Such a release has no end that anybody announces. It is pending in the ledger before its first text leaves. When nothing
was asked for a second, or the process ends, what it has come to is entered; the next text makes it pending again. So a
process that is killed leaves a release whose counts are unknown, never one that says too little.
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

_REST = 1.0  # seconds without a text, after which counts are entered
_TICK = 0.25  # seconds between two looks
_PATIENCE = 10.0  # seconds that a write of the ledger gets when the process ends


class RunningEntry:
    """The entry of a release that goes on in this process; a fork of the process makes one of its own.

    open_entry: makes an entry, which must be made. count: says what it has come to, None if to nothing. forget: starts
    counting anew, in a fork.
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
        """Make this a part of its own, in a process that was forked."""
        self._start()
        self._forget()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw within: the release is in the ledger before anything is drawn, or an error says why not."""
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
        """Enter what the release has come to, if nothing was drawn for so many seconds; return whether it is."""
        with self._lock:
            if self._is_open and not self._drawing and time.monotonic() - self._rests_since >= rest:
                self._enter_counts()
            return not self._is_open

    def _enter_counts(self) -> None:
        """Enter what the release has come to; while the ledger cannot be written, it stays open."""
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
    """Return the dataset of a release that goes on, which cannot keep a budget: it is not known beforehand."""
    found = choose_dataset(dataset)
    if found.budget_total is not None:
        raise SettingError(
            "dataset: a connection or a pipeline cannot keep a total budget, since nobody knows what will be asked of "
            "it; use Sanitizer.release, or custext sanitize"
        )
    return found


def settle_all() -> None:
    """Enter what all releases of this process have come to that are not drawing now."""
    for release in list(_open):
        release.settle()


def _end() -> None:
    """Settle what is open when the process ends, also if a connection of it still has the database attached."""
    _settler.stop()
    settle_all()
    if _open:
        detach_all()
        settle_all()
    for _ in _open:
        warnings.warn(
            "a release stays pending in the ledger, which could not be written when the process ended",
            PrivacyWarning,
            stacklevel=1,
        )


class _Settler:
    """A thread that enters releases which rest; it ends when none is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._process = 0

    def watch(self) -> None:
        with self._lock:
            if self._process != os.getpid():  # multiprocessing forgets in a child what its parent had to finish
                self._process = os.getpid()
                Finalize(None, _end, exitpriority=10)
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._work, name="custext ledger", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, when the process does."""
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
_open: set[RunningEntry] = set()  # those that are yet to be settled, though nobody else may hold them any more
_settler = _Settler()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
