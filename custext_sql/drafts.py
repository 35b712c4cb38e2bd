"""Output that appears whole or not at all: written beside its place, then moved there."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from custext_sql.errors import OutputError

_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<process>\d+)\.draft(?:\.spill)?")

_SPOOL = "custext-"


class Draft:
    """A file in the making. Until it is published, nothing is at its place, or what was there before."""

    def __init__(self, target: Path, *, force: bool) -> None:
        self.target = target
        self.path = target.with_name(f".{target.name}.{os.getpid()}.draft")
        self.spill = self.path.with_name(f"{self.path.name}.spill")  # a folder for what does not fit into memory
        self._force = force

    def publish(self) -> None:
        """Put the file in its place, once all of it is on the disk."""
        with self.path.open("rb") as written:
            os.fsync(written.fileno())
        if self._force:
            self.path.replace(self.target)
            return
        try:
            os.link(self.path, self.target)  # unlike a rename, this never replaces a file that appeared meanwhile
        except FileExistsError:
            raise OutputError(f"{self.target} was made by another process meanwhile; --force replaces it") from None
        except OSError:  # a file system without links
            self.path.replace(self.target)

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        shutil.rmtree(self.spill, ignore_errors=True)


def check_place(target: Path, *, force: bool) -> None:
    """Refuse a file that may not be made; asked before what takes long."""
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file")
    if target.exists() and not force:
        raise OutputError(f"{target} exists already; --force replaces it")
    if not target.parent.is_dir():
        raise OutputError(f"there is no folder {target.parent}")


@contextmanager
def draft_of(target: Path, *, force: bool) -> Iterator[Draft]:
    """A draft of a file that may be made; what is left of it in the end goes, as do drafts of processes that died."""
    check_place(target, force=force)
    remove_stale_drafts(target)
    draft = Draft(target, force=force)
    try:
        yield draft
    finally:
        draft.remove()


def publish_text(target: Path, text: str, *, force: bool) -> None:
    """A file with that text, in its place."""
    with draft_of(target, force=force) as draft:
        draft.path.write_text(text, encoding="utf-8", newline="")
        draft.publish()


def remove_stale_drafts(target: Path) -> None:
    """Remove drafts of a file whose process is no more."""
    for other in target.parent.iterdir():
        found = _DRAFT.fullmatch(other.name)
        if found and found["name"] == target.name and not _is_running(int(found["process"])):
            with suppress(OSError):
                shutil.rmtree(other) if other.is_dir() else other.unlink(missing_ok=True)


@contextmanager
def spool_folder() -> Iterator[Path]:
    """A folder of one's own for a stream's content, gone in the end; those of processes that died go first."""
    for other in Path(tempfile.gettempdir()).glob(f"{_SPOOL}*-*"):
        process = other.name.removeprefix(_SPOOL).partition("-")[0]
        if process.isdecimal() and not _is_running(int(process)):
            shutil.rmtree(other, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_SPOOL}{os.getpid()}-") as name:
        yield Path(name)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
