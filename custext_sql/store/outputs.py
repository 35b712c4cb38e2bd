"""Outputs that appear whole or not at all, and private folders for what nobody else may see and that must not stay.

A private folder has a random name and only its owner can enter it, so nobody else can guess it, plant a link in it or
read its files. It is deleted when its work is done. If the process is killed, a later run in the same place deletes it.
A process holds a lock on each of its folders, even while it is stopped or the machine sleeps. Ten minutes after it was
made, a folder without a lock is abandoned; where the file system has no locks, after a day. Only timestamps of that
file system are compared, so clocks of machines that share it need not agree.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from custext_sql.errors import FULL_BY_SPILLING, OutputError, QueryError, tell_failure, tell_system_error

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_OVERWRITE = "to overwrite it, use --force (in Python: force=True)"
_ABANDONED, _ABANDONED_WITHOUT_LOCKS = 600.0, 86_400.0  # seconds
_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.draft", re.DOTALL)
_ATTEMPTS = 3  # to delete a folder that other threads may still write to
_MODE = 0o700
_NO_ROOM = (
    FULL_BY_SPILLING,
    *(tell_failure(os.strerror(number)) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
)

_live: dict[Path, int | None] = {}  # the private folders of this process, and descriptors that hold their locks


class AtomicOutput:
    """An unfinished file. Until it is published, its target is unchanged.

    target: where the file will appear. path: where to write it. spill: a folder for what does not fit into memory.
    private: only the owner will be able to read it.
    """

    def __init__(self, target: Path, folder: Path, *, force: bool, private: bool) -> None:
        self.target = target
        self.path = folder / target.name
        self._folder = _identify(folder)
        self.spill = folder / "spill"
        self.spill.mkdir(mode=_MODE)
        self._force, self._private = force, private

    def publish(self) -> None:
        """Write the file to the disk and move it to its target; OutputError if that is no longer possible."""
        if _identify(self.path.parent) != self._folder:
            raise OutputError(
                f"{self.path.parent} was replaced by someone else who can write to {self.target.parent}; nothing was "
                "written"
            )
        _sync(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        if self._private:
            self.path.chmod(0o600)
        if self._force:
            self.path.replace(self.target)
        else:
            try:
                os.link(self.path, self.target)  # unlike a rename, this never replaces an existing file
            except FileExistsError:
                raise OutputError(f"another process created {self.target} in the meantime; {_OVERWRITE}") from None
            except OSError:  # the file system has no links
                self.path.replace(self.target)
        with suppress(OSError):  # not every system can open folders
            _sync(self.target.parent, os.O_RDONLY)

    def describe(self) -> list[dict[str, str]]:
        """Return the name and the SHA-256 of the file, for the ledger; without its path if it does not stay there."""
        target = self.target.absolute()
        is_private = not _live.keys().isdisjoint(target.parents)
        return [{"name": target.name if is_private else str(target), "sha256": hash_file(self.path)}]


def _identify(folder: Path) -> tuple[int, int]:
    """Return the device and inode, which differ if another folder takes the same name."""
    status = folder.lstat()
    return status.st_dev, status.st_ino


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_place(target: Path, *, force: bool) -> None:
    """Raise OutputError if a file cannot be written there. Call this before any long work.

    force: whether an existing file may be overwritten.
    """
    try:
        if target.is_dir():
            raise OutputError(f"{target} is a folder; name a file")
        if os.path.lexists(target) and not force:
            raise OutputError(f"{target} already exists; {_OVERWRITE}")
        if target.exists() and not target.is_file():
            raise OutputError(f"{target} is not a regular file; name another one")
        if not target.parent.is_dir():
            raise OutputError(f"folder {target.parent} does not exist")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise OutputError(f"cannot write {str(target)[:200]!a}: {reason}") from None


@contextmanager
def atomic_output(target: Path, *, force: bool, private: bool = False) -> Iterator[AtomicOutput]:
    """Yield an unfinished file; if it is not published, it is deleted at the end.

    private: only the owner can read the file, as for databases, ledgers and lists of words, which are not released.
    Unfinished files that killed processes left in the same folder are deleted too. OutputError as in `check_place`, and
    if the disk is full.
    """
    check_place(target, force=force)
    with private_folder(target.parent, target.name) as folder, named_full_disk(target):
        yield AtomicOutput(target, folder, force=force, private=private)


def publish_text(target: Path, text: str, *, force: bool) -> None:
    """Write a text to a file that only its owner can read, whole or not at all."""
    with atomic_output(target, force=force, private=True) as output:
        output.path.write_bytes(text.encode())
        output.publish()


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
                _unlock(_live.pop(folder))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a private folder in the system's temporary folder, for streams or for data that DuckDB spills."""
    parent = Path(tempfile.gettempdir())
    with private_folder(parent, "custext") as folder, named_full_disk(parent, [FULL_BY_SPILLING]):
        yield folder


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


def remove_private_folders() -> None:
    """Delete all private folders of this process at once. Call this right before the process ends."""
    for folder in tuple(_live):
        _remove(folder)


def _forget_parent() -> None:
    """Leave the folders of the parent alone, in a fork."""
    for descriptor in _live.values():
        _unlock(descriptor)  # the parent keeps the lock
    _live.clear()
    process_folder.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _make_folder(folder: Path) -> None:
    _live[folder] = None
    try:
        folder.mkdir(mode=_MODE)  # fails if anything of that name exists, even a link
    except OSError as error:
        del _live[folder]
        raise OutputError(f"cannot write in {folder.parent}: {tell_system_error(error)}") from None
    with suppress(OSError):  # not every file system opens folders
        _live[folder] = _lock(folder)


def _remove(folder: Path) -> None:
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():  # it does if another thread wrote a file meanwhile
            return


def _remove_abandoned(parent: Path, now: float) -> None:
    """Delete this user's abandoned folders in `parent`."""
    with suppress(OSError):
        for entry in os.scandir(parent):
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):  # another process may use it, or delete it too
                    _remove_if_abandoned(Path(entry.path), now)


def _remove_if_abandoned(path: Path, now: float) -> None:
    found = path.lstat()
    # a folder may have inherited the set-group-ID bit from its parent
    is_own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and found.st_mode & 0o777 == _MODE)
    if not stat.S_ISDIR(found.st_mode) or not is_own or now - found.st_mtime <= _ABANDONED:
        return
    descriptor = _lock(path)
    try:
        if descriptor is not None or now - found.st_mtime > _ABANDONED_WITHOUT_LOCKS:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        _unlock(descriptor)


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
