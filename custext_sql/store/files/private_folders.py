"""Private folders for data that nobody else may see and that must not stay: unfinished outputs, spilled data, streams.

A folder has a random name and only its owner can enter it, so nobody else can guess it, plant a link in it or read its
files. It is deleted when its work is done. If the process is killed, a later run deletes it: a process touches its
folders every few seconds, so a folder that was not touched for ten minutes is abandoned. This also works across hosts
and containers that share a volume, where process IDs mean nothing. Only timestamps of that file system are compared, so
clocks need not agree.
"""

import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from custext_sql.errors import OutputError

_BEAT = 20.0  # seconds between touches
_ABANDONED = 600.0  # seconds without a touch after which a folder counts as abandoned
_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.draft", re.DOTALL)
_ATTEMPTS = 3  # to delete a folder that other threads may still write to
_MODE = 0o700

_live: set[Path] = set()
_changed = threading.Condition()
_heart: threading.Thread | None = None


@contextmanager
def private_folder(parent: Path, label: str) -> Iterator[Path]:
    """Create a private folder in `parent`, and delete it with its files at the end. label: a part of its name.

    Abandoned folders in `parent` are deleted first. OutputError if the folder cannot be created.
    """
    folder = parent / f".{label[:50]}.{secrets.token_hex(8)}.draft"
    try:  # from before the folder exists: an interrupt may come at any time
        _make_folder(folder)
        _remove_abandoned(parent, folder.stat().st_mtime)
        yield folder
    finally:
        if folder in _live:
            try:
                _remove(folder)
            finally:  # only now: if the process must end at once, `remove_private_folders` deletes what is left
                with _changed:
                    _live.discard(folder)
                    _changed.notify_all()


@lru_cache(maxsize=1)
def process_folder() -> str:
    """Return the path of a private folder that lasts as long as this process; '' if it cannot be created."""
    stack = ExitStack()
    try:
        folder = stack.enter_context(private_folder(Path(tempfile.gettempdir()), "custext"))
    except (OSError, OutputError):
        return ""
    from multiprocessing.util import Finalize

    Finalize(None, stack.close, exitpriority=0)  # unlike atexit, runs in multiprocessing workers but not in forks
    return str(folder)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a private folder in the system's temporary folder, for streams or for data that DuckDB spills."""
    with private_folder(Path(tempfile.gettempdir()), "custext") as folder:
        yield folder


def remove_private_folders() -> None:
    """Delete all private folders of this process at once. Call this right before the process ends."""
    for folder in tuple(_live):
        _remove(folder)


def _remove(folder: Path) -> None:
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():  # it does if another thread wrote a file meanwhile
            return


def _make_folder(folder: Path) -> None:
    global _heart
    with _changed:
        _live.add(folder)
        try:
            folder.mkdir(mode=_MODE)  # fails if anything of that name exists, even a link
        except OSError as error:
            _live.discard(folder)
            raise OutputError(f"cannot write in {folder.parent}: {error.strerror}") from None
        if _heart is None or not _heart.is_alive():
            _heart = threading.Thread(target=_beat, name="custext-heart", daemon=True)
            _heart.start()


def _beat() -> None:
    """Touch the folders of this process, until there are none."""
    global _heart
    while True:
        with _changed:
            if not _changed.wait_for(lambda: not _live, timeout=_BEAT):
                for folder in _live:
                    with suppress(OSError):
                        os.utime(folder)
                continue
            _heart = None
            return


def _forget_parent() -> None:
    """Reset the state in a fork: the folders belong to the parent, and its thread, which may hold the lock, is gone."""
    global _changed, _heart
    _changed, _heart = threading.Condition(), None
    _live.clear()
    process_folder.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _remove_abandoned(parent: Path, now: float) -> None:
    """Delete this user's abandoned folders in `parent`."""
    with suppress(OSError):
        for entry in os.scandir(parent):
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):  # another process may delete it too
                    _remove_if_abandoned(Path(entry.path), now)


def _remove_if_abandoned(path: Path, now: float) -> None:
    found = path.lstat()
    is_own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _MODE)
    if stat.S_ISDIR(found.st_mode) and is_own and now - found.st_mtime > _ABANDONED:
        shutil.rmtree(path, ignore_errors=True)
