"""Private folders for data that nobody else may see and that must not stay: unfinished outputs, spilled data, streams.

A folder has a random name and only its owner can enter it, so nobody else can guess it, plant a link in it or read its
files. It is deleted when its work is done. If the process is killed, a later run deletes it, once two signs of life are
gone. A process holds a lock on each of its folders, even while it is stopped or the machine sleeps; other machines do
not see the lock. It also touches them every few seconds, which all machines that share the file system can see; after
ten minutes without a touch, a folder without a lock is abandoned. Only timestamps of that file system are compared, so
clocks need not agree.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from custext_sql.errors import FULL_BY_SPILLING, OutputError, QueryError, tell_failure, tell_system_error

try:
    import fcntl
except ImportError:  # Windows, where touches are the only sign of life
    fcntl = None  # type: ignore[assignment]

_BEAT = 20.0  # seconds between touches
_ABANDONED = 600.0  # seconds without a touch after which a folder counts as abandoned
_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.draft", re.DOTALL)
_ATTEMPTS = 3  # to delete a folder that other threads may still write to
_MODE = 0o700
_NO_ROOM = (
    FULL_BY_SPILLING,
    *(tell_failure(os.strerror(number)) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
)

_live: dict[Path, int | None] = {}  # the folders of this process, and descriptors that hold their locks
_changed = threading.Condition()
_heart: threading.Thread | None = None


def make_private_folders(folder: Path) -> list[Path]:
    """Make a folder that only its owner can enter, with such parents; return the new ones, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=_MODE, exist_ok=True)
    return missing


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
                    _unlock(_live.pop(folder))
                    _changed.notify_all()


def is_private(path: Path) -> bool:
    """Return whether a path is in a private folder of this process."""
    return not _live.keys().isdisjoint(path.parents)


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
    parent = Path(tempfile.gettempdir())
    with private_folder(parent, "custext") as folder, named_full_disk(parent, [FULL_BY_SPILLING]):
        yield folder


@contextmanager
def named_full_disk(path: Path, reasons: Collection[str | None] = _NO_ROOM) -> Iterator[None]:
    """Turn errors about a full disk into an OutputError that names `path`, the file being written."""
    try:
        yield
    except (OSError, QueryError) as error:
        told = tell_system_error(error) if isinstance(error, OSError) else str(error)
        if told not in reasons:
            raise
        raise OutputError(f"cannot write {path}: {told}") from None


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
        _live[folder] = None
        try:
            folder.mkdir(mode=_MODE)  # fails if anything of that name exists, even a link
        except OSError as error:
            del _live[folder]
            raise OutputError(f"cannot write in {folder.parent}: {tell_system_error(error)}") from None
        with suppress(OSError):  # not every file system opens folders
            _live[folder] = _lock(folder)
        if _heart is None or not _heart.is_alive():
            _heart = threading.Thread(target=_beat, name="custext-heart", daemon=True)
            _heart.start()


def _lock(folder: Path) -> int | None:
    """Lock a folder until the returned descriptor is closed; BlockingIOError if somebody else holds the lock.

    None if the file system has no locks.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


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
    for descriptor in _live.values():
        _unlock(descriptor)  # the parent keeps the lock
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
    # a folder may have inherited the set-group-ID bit from its parent
    is_own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and found.st_mode & 0o777 == _MODE)
    if stat.S_ISDIR(found.st_mode) and is_own and now - found.st_mtime > _ABANDONED:
        descriptor = _lock(path)
        try:
            shutil.rmtree(path, ignore_errors=True)
        finally:
            _unlock(descriptor)
