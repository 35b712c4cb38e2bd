"""Releases of this process without a defined end, such as those of a connection or of a pipeline.

Such a release is in the ledger as pending, with an unknown amount, before its first text is drawn. It is settled when
the process ends, and before this process reads the ledger; the next text makes it pending again. So a process that is
killed leaves a release with unknown counts, never one with counts that are too low.
"""

import os
import warnings
from multiprocessing.util import Finalize
from typing import Protocol
from weakref import WeakSet

from custext_sql.errors import DatabaseError, PrivacyWarning, SettingError
from custext_sql.ledger.dataset import Dataset, choose_dataset


class Running(Protocol):
    """A release without a defined end."""

    def settle(self) -> bool: ...

    def forget(self) -> None: ...


_open: set[Running] = set()  # yet to be settled; keeps them alive until then
_all: WeakSet[Running] = WeakSet()
_process = 0


def check_running(dataset: str | Dataset) -> Dataset:
    """Return the dataset of a running release; SettingError if it has a budget, which cannot be kept."""
    found = choose_dataset(dataset)
    if found.budget_total is not None:
        raise SettingError(
            "a connection or a pipeline cannot keep budget_total, since what it will draw is not known in advance; use "
            "Sanitizer.release, or custext sanitize"
        )
    return found


def watch(release: Running) -> None:
    """Settle a release when the process ends, at the latest."""
    global _process
    _open.add(release)
    _all.add(release)
    if _process != os.getpid():  # a child process forgets the finalizers of its parent
        _process = os.getpid()
        Finalize(None, _end, exitpriority=10)


def forget(release: Running) -> None:
    """Forget a release, since it is settled."""
    _open.discard(release)


def settle_all() -> None:
    """Settle all releases of this process that are not drawing at the moment."""
    for release in list(_open):
        release.settle()


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
