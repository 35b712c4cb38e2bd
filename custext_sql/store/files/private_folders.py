"""Folders for what must neither be seen nor be left behind: unfinished outputs, what DuckDB spills, streams.

A folder has a random name and its owner alone may enter it, so that nobody can guess it, plant a link in it or read
what is there. It goes when its work is done. If the process was killed, a later run removes it once it is abandoned:
a process touches its folders every few seconds, so one that has not been touched for ten minutes has no owner any more.
That holds across hosts and containers that share a volume, where process ids mean nothing; times are compared as
the file system itself stamped them, so that no clock needs to agree with another.
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
from multiprocessing.util import Finalize
from pathlib import Path

from custext_sql.errors import OutputError

_BEAT = 20.0  # seconds between two touches
_ABANDONED = 600.0  # seconds without a touch after which a folder has no owner
_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.draft", re.DOTALL)
_MODE = 0o700

_live: set[Path] = set()
_changed = threading.Condition()
_heart: threading.Thread | None = None


@contextmanager
def private_folder(parent: Path, label: str) -> Iterator[Path]:
    """Make a folder of one's own in `parent` and remove it in the end, with all that is in it.

    Abandoned ones in the same place go first.
    """
    folder = _make_folder(parent, label)
    try:
        _remove_abandoned(parent, folder.stat().st_mtime)
        yield folder
    finally:
        with _changed:
            _live.discard(folder)
            _changed.notify_all()
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def process_folder() -> str:
    """Return the path of a folder that this process keeps until it ends, '' where none can be made."""
    stack = ExitStack()
    try:
        folder = stack.enter_context(private_folder(Path(tempfile.gettempdir()), "custext"))
    except (OSError, OutputError):
        return ""
    Finalize(None, stack.close, exitpriority=0)  # unlike atexit, also in workers of multiprocessing, and in no fork
    return str(folder)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a private folder where the system keeps temporary files: for a stream's content, or what DuckDB spills."""
    with private_folder(Path(tempfile.gettempdir()), "custext") as folder:
        yield folder


def remove_private_folders() -> None:
    """Remove all that this process works in, at once: it is about to end, whatever its threads are doing."""
    for folder in tuple(_live):
        shutil.rmtree(folder, ignore_errors=True)


def _make_folder(parent: Path, label: str) -> Path:
    global _heart
    folder = parent / f".{label[:50]}.{secrets.token_hex(8)}.draft"
    with _changed:
        try:
            folder.mkdir(mode=_MODE)  # fails if anything is there, be it a link
        except OSError as error:
            raise OutputError(f"cannot write in {parent}: {error.strerror}") from None
        _live.add(folder)
        if _heart is None or not _heart.is_alive():
            _heart = threading.Thread(target=_beat, name="custext-heart", daemon=True)
            _heart.start()
    return folder


def _beat() -> None:
    """Touch the folders of this process as long as there are any."""
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
    """Start afresh in a fork: the folders are the parent's, and its thread, which may hold the lock, is not there."""
    global _changed, _heart
    _changed, _heart = threading.Condition(), None
    _live.clear()
    process_folder.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _remove_abandoned(parent: Path, now: float) -> None:
    """Remove folders of this user's in `parent` that nobody has touched for long."""
    with suppress(OSError):
        for entry in os.scandir(parent):
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):  # another process may do the same
                    _remove_if_abandoned(Path(entry.path), now)


def _remove_if_abandoned(path: Path, now: float) -> None:
    found = path.lstat()
    is_own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _MODE)
    if stat.S_ISDIR(found.st_mode) and is_own and now - found.st_mtime > _ABANDONED:
        shutil.rmtree(path, ignore_errors=True)
