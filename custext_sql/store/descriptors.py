"""Finds out which files this process has open, without opening any: closing one would release the locks on it."""

import os
from contextlib import suppress
from pathlib import Path

_FOLDERS = (Path("/proc/self/fd"), Path("/dev/fd"))  # where the system lists the descriptors of this process

FileID = tuple[int, int]  # device and inode


def identify(path: Path) -> FileID:
    """Return what identifies a file, whatever its name; OSError if it does not exist."""
    status = path.stat()
    return status.st_dev, status.st_ino


def is_open_here(path: Path) -> bool:
    """Return whether this process has the file open."""
    return bool(list_descriptors(path))


def was_replaced(path: Path) -> bool:
    """Return whether the file that this process has just opened is no longer at its path.

    False on systems that do not list descriptors; they do not let a file be replaced while it is open.
    """
    return _find_folder() is not None and not is_open_here(path)


def list_descriptors(path: Path) -> list[int]:
    """Return the descriptors of a file in this process."""
    with suppress(OSError):  # the file does not exist
        wanted = identify(path)
        return [descriptor for descriptor, found in _identify_all().items() if found == wanted]
    return []


def list_open_files() -> frozenset[FileID]:
    """Return every file that this process has open."""
    return frozenset(_identify_all().values())


def find_open_name(path: Path) -> Path | None:
    """Return the path under which this process has a file open, or None if the system does not tell."""
    for descriptor in list_descriptors(path):
        with suppress(OSError):
            name = (_FOLDERS[0] / str(descriptor)).readlink()
            if name.samefile(path):
                return name
    return None


def _identify_all() -> dict[int, FileID]:
    """Return the file of each descriptor; none on systems where closing one releases no lock of another."""
    folder = _find_folder()
    names = [] if folder is None else [entry.name for entry in folder.iterdir()]
    found = {}
    for descriptor in map(int, filter(str.isdecimal, names)):
        with suppress(OSError):
            status = os.fstat(descriptor)
            found[descriptor] = (status.st_dev, status.st_ino)
    return found


def _find_folder() -> Path | None:
    return next((folder for folder in _FOLDERS if folder.is_dir()), None)
