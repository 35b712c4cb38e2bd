"""Streams in place of files: standard input and output, or streams that a caller has open."""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from custext_sql.errors import SettingError
from custext_sql.files.inputs.encodings import renamed_errors
from custext_sql.store.outputs import named_full_disk, scratch_folder

FileOrStream = str | os.PathLike[str] | BinaryIO  # "-" means standard input or output

STANDARD = "-"


def find_input_stream(given: FileOrStream) -> BinaryIO | None:
    """Return the stream to read, None for files."""
    return sys.stdin.buffer if given == STANDARD else _find_stream(given, "input", "read")


def find_output_stream(given: FileOrStream) -> BinaryIO | None:
    """Return the stream to write to, None for a file."""
    return sys.stdout.buffer if given == STANDARD else _find_stream(given, "output", "write")


def _find_stream(given: FileOrStream, what: str, need: str) -> BinaryIO | None:
    if isinstance(given, str | os.PathLike):
        return None
    if not all(hasattr(given, name) for name in (need, "flush", "closed")):
        raise SettingError(f"{what} must be a path or a binary stream; found {type(given).__name__}")
    if given.closed:
        raise SettingError(f"{what} must be an open stream; found a closed one")
    if isinstance(given, io.TextIOBase):
        example = 'open(path, "rb") or sys.stdin.buffer' if need == "read" else 'open(path, "wb") or sys.stdout.buffer'
        raise SettingError(f"{what} must be a binary stream, such as {example}; found a text stream")
    return given


@contextmanager
def spool_input(stream: BinaryIO, format: str, name: str) -> Iterator[Path]:
    """Write a stream to a private file whose name ends like its format; within, errors call the file by `name`."""
    with scratch_folder() as folder:
        spooled = folder / ("input.jsonl" if format == "json" else f"input.{format}")
        with named_full_disk(folder.parent), spooled.open("wb") as file:
            shutil.copyfileobj(stream, file)
        with renamed_errors({str(spooled): name}):
            yield spooled


@contextmanager
def spool_output(stream: BinaryIO) -> Iterator[Path]:
    """Yield the path of a private file to be written; its content is then copied to the stream."""
    with scratch_folder() as folder:
        target = folder / STANDARD  # as the ledger names it
        with renamed_errors({str(target): str(folder.parent)}):
            yield target
        with target.open("rb") as file:
            shutil.copyfileobj(file, stream)
        stream.flush()
