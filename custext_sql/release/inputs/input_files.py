"""Which files an input means: one, those of a folder, those that match a pattern."""

import re
from pathlib import Path

from custext_sql.errors import SourceError
from custext_sql.release.inputs.file_formats import EXPECTED_NAMES, tell_format


def list_files(path: str) -> list[Path]:
    """Return the file, those of a folder and of its folders, or those that a pattern matches; none that is hidden."""
    if not path:
        raise SourceError("the name of the file is empty")
    given = Path(path)
    if not _may_exist(given):
        raise SourceError(f"{_show_input(path)}: there is no such file")
    if given.is_dir():
        found = [file for file in sorted(given.rglob("*")) if tell_format(file) and _is_visible(file, given)]
        if not found:
            raise SourceError(f"{path}: there is no file to read in this folder: {EXPECTED_NAMES}")
    elif not given.exists() and any(mark in path for mark in "*?["):
        base = Path(given.anchor or ".")
        pattern = str(given.relative_to(given.anchor)) if given.anchor else path
        found = [file for file in sorted(base.glob(pattern)) if file.is_file() and _is_visible(file, base)]
        if not found:
            raise SourceError(f"{_show_input(path)}: no file matches")
    elif not given.exists():
        raise SourceError(f"{_show_input(path)}: there is no such file")
    else:
        found = [given]
    _check_files(path, found)
    return found


def _check_files(path: str, files: list[Path]) -> None:
    """Refuse files of several formats, and a file under two names."""
    known: dict[tuple[int, int], Path] = {}
    for file in files:
        status = file.stat()
        same = known.setdefault((status.st_dev, status.st_ino), file)
        if same is not file:
            raise SourceError(f"{path}: {file.name} is the same file as {same.name}; its rows would be released twice")
    formats = {tell_format(file) for file in files}
    if len(formats) > 1:
        raise SourceError(f"{path}: expected files of one format; found {', '.join(sorted(map(str, formats)))}")


def _may_exist(path: Path) -> bool:
    """Return whether a file could have that name, which may be too long for one."""
    try:
        path.exists()
    except OSError:
        return False
    return True


def _show_input(path: str) -> str:
    """Return how a message names an input that is not there: what does not look like a file may be a text."""
    is_path = tell_format(path) is not None or ("/" in path and not re.search(r"\s", path))
    return path if is_path and path.isprintable() and len(path) < 300 else "the input"


def _is_visible(file: Path, base: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts)
