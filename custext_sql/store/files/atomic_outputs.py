"""Output that appears whole or not at all: written in a private folder beside its place, then moved there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from custext_sql.errors import OutputError
from custext_sql.store.files.private_folders import private_folder

_ANYBODY, _OWNER = 0o666, 0o600  # who may read a file, before the umask


class AtomicOutput:
    """A file in the making. Until it is published, nothing is at its place, or what was there before."""

    def __init__(self, target: Path, folder: Path, *, force: bool) -> None:
        self.target = target
        self.path = folder / target.name
        self._folder = _identify(folder)
        self.spill = folder / "spill"  # a folder for what does not fit into memory
        self.spill.mkdir(mode=0o700)
        self._force = force

    def publish(self) -> None:
        """Put the file in its place, once all of it is on the disk."""
        if _identify(self.path.parent) != self._folder:
            raise OutputError(
                f"{self.path.parent} was replaced by someone else who can write to {self.target.parent}; nothing was "
                "published"
            )
        _sync(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        if self._force:
            self.path.replace(self.target)
        else:
            self._link()
        with suppress(OSError):  # not every system opens folders
            _sync(self.target.parent, os.O_RDONLY)

    def _link(self) -> None:
        try:
            os.link(self.path, self.target)  # unlike a rename, this never replaces a file that appeared meanwhile
        except FileExistsError:
            raise OutputError(
                f"{self.target} was created by another process in the meantime; --force replaces it"
            ) from None
        except OSError:  # a file system without links
            self.path.replace(self.target)


def check_place(target: Path, *, force: bool) -> None:
    """Refuse a file that may not be made; asked before what takes long."""
    try:
        if target.is_dir():
            raise OutputError(f"{target} is a folder; name a file")
        if os.path.lexists(target) and not force:
            raise OutputError(f"{target} exists already; --force replaces it")
        if target.exists() and not target.is_file():
            raise OutputError(f"{target} is not a regular file; name another")
        if not target.parent.is_dir():
            raise OutputError(f"there is no folder {target.parent}")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is not a valid file name"
        raise OutputError(f"cannot write {str(target)[:200]!a}: {reason}") from None


@contextmanager
def atomic_output(target: Path, *, force: bool) -> Iterator[AtomicOutput]:
    """Yield a file in the making; what is left of it in the end goes, as does what others abandoned."""
    check_place(target, force=force)
    with private_folder(target.parent, target.name) as folder:
        yield AtomicOutput(target, folder, force=force)


def publish_text(target: Path, text: str, *, force: bool, private: bool = False) -> None:
    """Put a file with that text in its place; private: only its owner may read it."""
    with atomic_output(target, force=force) as output:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(output.path, flags, _OWNER if private else _ANYBODY), "wb") as file:
            file.write(text.encode())
        output.publish()


def _identify(folder: Path) -> tuple[int, int]:
    """Return what tells a folder from any other that may take its name."""
    status = folder.lstat()
    return status.st_dev, status.st_ino


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
