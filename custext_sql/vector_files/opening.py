"""Recognizes what a source is and opens the reader for it."""

import hashlib
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from custext_sql.errors import SourceError
from custext_sql.vector_files.arrays import read_npz, read_parquet
from custext_sql.vector_files.binary import read_binary
from custext_sql.vector_files.source import VectorSource
from custext_sql.vector_files.streams import Stream, open_stream, zip_members
from custext_sql.vector_files.text import find_header, read_text

FORMATS = ("glove", "word2vec", "word2vec-binary", "fasttext", "npz", "parquet")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_PLUGINS = "custext_sql.vector_sources"  # entry points: scheme -> function(name) -> VectorSource


def open_vectors(source: str, format: str | None = None, member: str | None = None) -> VectorSource:
    """Open a file, or `scheme:name` where an installed plugin serves that scheme (`spacy:en_core_web_md`)."""
    path = Path(source)
    if not path.exists():
        scheme, colon, name = source.partition(":")
        plugins = entry_points(group=_PLUGINS)
        if colon and scheme in plugins.names:
            opened = plugins[scheme].load()(name)
            assert isinstance(opened, VectorSource)
            return opened
        raise SourceError(f"there is no file {source}; expected a vector file, 'starter', or spacy:PIPELINE")
    if path.is_dir():
        raise SourceError(f"{source} is a folder; expected a vector file")
    if format is not None and format not in FORMATS:
        raise SourceError(f"format must be one of {', '.join(FORMATS)}; found {format!r}")
    if member is None and (format in ("npz", "parquet") or format is None):
        arrays = format or _array_format(path)
        if arrays is not None:
            return _open_arrays(path, arrays)
    return _open_stream(path, format, member)


def _array_format(path: Path) -> str | None:
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return "parquet"
    members = zip_members(path)
    return "npz" if members and all(member.endswith(".npy") for member in members) else None


def _open_arrays(path: Path, format: str) -> VectorSource:
    share = [0.0]

    def advance(done: float) -> None:
        share[0] = done

    batches = read_npz(path, advance) if format == "npz" else read_parquet(path, advance)
    return VectorSource(path.name, format, "row", batches, lambda: share[0], _digest(path))


def _open_stream(path: Path, format: str | None, member: str | None) -> VectorSource:
    stream = open_stream(path, member)
    try:
        format = format or _stream_format(stream)
    except SourceError:
        stream.close()
        raise
    if format == "word2vec-binary":
        batches, unit = read_binary(stream), "word"
    else:
        batches, unit = read_text(stream, has_header=format != "glove"), "line"
    return VectorSource(stream.label, format, unit, batches, stream.share_read, _digest(path), stream.close)


def _stream_format(stream: Stream) -> str:
    head = stream.peek(1 << 16)
    if find_header(head) is None:
        return "glove"
    if _CONTROL.search(head):  # float32 values are full of bytes that no text has
        return "word2vec-binary"
    return "fasttext" if ".vec" in stream.label else "word2vec"


def _digest(path: Path) -> Callable[[], str]:
    def digest() -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return digest
