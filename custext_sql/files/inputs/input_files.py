"""Finds the files of an input: one file, those in a folder, or those that match a pattern."""

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from custext_sql.errors import SourceError
from custext_sql.files.inputs.file_formats import EXPECTED_NAMES, tell_format
from custext_sql.parameters import find_closest

_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,7}")  # one word with an ending, such as notes.md
_SIBLINGS = 1000  # files of a folder that are compared with a misspelled name


def list_files(path: str) -> list[Path]:
    """Return the file, the files in a folder and its subfolders, or those that match a pattern; no hidden files."""
    if not path:
        raise SourceError("the name of the input is empty")
    given = Path(path)
    if not _may_exist(given):
        raise _explain_missing(path)
    if given.is_dir():
        found = [file for file in sorted(given.rglob("*")) if tell_format(file) and _is_visible(file, given)]
        if not found:
            raise SourceError(f"{path}: no file in this folder has {EXPECTED_NAMES}")
    elif not given.exists() and any(mark in path for mark in "*?["):
        base = Path(given.anchor or ".")
        pattern = str(given.relative_to(given.anchor)) if given.anchor else path
        found = [file for file in sorted(base.glob(pattern)) if file.is_file() and _is_visible(file, base)]
        if not found:
            shown = path if _may_show(path) else "the input"
            raise SourceError(f"{shown}: no file matches this pattern")
    elif not given.exists():
        raise _explain_missing(path)
    elif not given.is_file():
        raise SourceError(
            f"{path} is a pipe or a device, which can be read only once; save the data to a file first (custext "
            "sanitize also reads standard input: -)"
        )
    else:
        found = [given]
    _check_files(path, found)
    return found


def _check_files(path: str, files: list[Path]) -> None:
    """Raise a SourceError for files of different formats, and for a file that appears under two names."""
    known: dict[tuple[int, int], Path] = {}
    for file in files:
        status = file.stat()
        same = known.setdefault((status.st_dev, status.st_ino), file)
        if same is not file:
            raise SourceError(
                f"{path}: {file.name} and {same.name} are the same file; its rows would be released twice"
            )
    formats = {tell_format(file) for file in files}
    if len(formats) > 1:
        found = ", ".join(sorted("unknown" if format is None else format for format in formats))
        raise SourceError(f"{path}: expected files of one format; found {found}")


def _may_exist(path: Path) -> bool:
    """Return whether a file could have that name; a text may be too long for one."""
    try:
        path.exists()
    except OSError:
        return False
    return True


def _explain_missing(path: str) -> SourceError:
    """Return the error for an input that does not exist; it suggests a file of a similar name."""
    if not _may_show(path):
        return SourceError(
            "the input file does not exist; its name is not shown because it could be a text (to sanitize a text, run: "
            "custext sanitize TEXT)"
        )
    given = Path(path)
    with suppress(OSError):
        nearest = find_closest(
            given.name, [file.name for file in islice(given.parent.iterdir(), _SIBLINGS) if tell_format(file.name)]
        )
        if nearest is not None:
            return SourceError(f"{path} does not exist; did you mean {str(given.with_name(nearest))!r}?")
    return SourceError(f"{path} does not exist")


def _may_show(path: str) -> bool:
    """Return whether a message may show the name of a missing input: anything unlike a file name may be a text."""
    is_path = tell_format(path) is not None or ("/" in path and not re.search(r"\s", path)) or _FILE.fullmatch(path)
    return bool(is_path) and path.isprintable() and len(path) < 300


def _is_visible(file: Path, base: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts)
