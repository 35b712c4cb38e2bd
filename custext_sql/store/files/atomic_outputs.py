"""Outputs that appear whole or not at all: each is written in a private folder beside its target, then moved."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from custext_sql.errors import OutputError
from custext_sql.store.files.private_folders import is_private, named_full_disk, private_folder

_OVERWRITE = "to overwrite it, use --force (in Python: force=True)"


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
        self.spill.mkdir(mode=0o700)
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
            self._link()
        with suppress(OSError):  # not every system can open folders
            _sync(self.target.parent, os.O_RDONLY)

    def _link(self) -> None:
        try:
            os.link(self.path, self.target)  # unlike a rename, this never replaces an existing file
        except FileExistsError:
            raise OutputError(f"another process created {self.target} in the meantime; {_OVERWRITE}") from None
        except OSError:  # the file system has no links
            self.path.replace(self.target)

    def describe(self) -> list[dict[str, str]]:
        """Return the name and the SHA-256 of the file, for the ledger; without its path if it does not stay there."""
        target = self.target.absolute()
        return [{"name": target.name if is_private(target) else str(target), "sha256": hash_file(self.path)}]


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
