"""Detects the format of a vector source, opens the reader for it, and names the embedding after it."""

import codecs
import re
from importlib.metadata import entry_points
from pathlib import Path, PurePath

from custext_sql.errors import SettingError, SourceError
from custext_sql.vectors.array_files import read_binary, read_npz, read_parquet
from custext_sql.vectors.source import FileDigest, Stream, VectorSource, label_of, open_stream, zip_members
from custext_sql.vectors.starter import STARTER, open_starter
from custext_sql.vectors.text_files import find_header, read_text, skip_byte_order_mark

ARRAY_FORMATS = ("npz", "parquet")
VECTOR_FORMATS = ("glove", "word2vec", "word2vec-binary", "fasttext", *ARRAY_FORMATS)
_PLUGINS = "custext_sql.vector_sources"  # entry points: scheme -> function(name) -> VectorSource
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_NUMERIC = re.compile(rb"[0-9eE+\-. \n]")
_SUFFIXES = {".txt", ".vec", ".bin", ".model", ".npz", ".parquet", ".csv", ".tsv", ".gz", ".gzip", ".zip"}
_FORBIDDEN = re.compile(r"[^\w.+-]+")
_LONGEST = 60  # so that the names of mappings, which begin with that of the embedding, are not too long


def open_vectors(source: str, format: str | None = None, member: str | None = None) -> VectorSource:
    """Open a vector file, the shipped vectors ("starter"), or a plugin's source such as `spacy:en_core_web_md`.

    format: one of VECTOR_FORMATS; detected if None. member: the file to read in a zip archive. Raise SourceError if
    there is no such source or it cannot be read.
    """
    if source == STARTER:
        if format is not None or member is not None:
            raise SettingError("format and member apply to files only, not to the starter vectors")
        return open_starter()
    if format is not None and format not in VECTOR_FORMATS:
        raise SourceError(f"format must be one of {', '.join(VECTOR_FORMATS)}; found {format!r}")
    path = Path(source)
    if not _exists(path, source):
        return _open_plugin(source, format, member)
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise SourceError(f"{label_of(source)} is {kind}; expected a vector file")
    if format in ARRAY_FORMATS and member is not None:
        raise SourceError(f"member applies to text and word2vec-binary files in an archive, not to {format} files")
    arrays = format if format in ARRAY_FORMATS else None
    if format is None and member is None:
        arrays = _array_format(path)
    return _open_arrays(path, arrays) if arrays else _open_stream(path, format, member)


def _exists(path: Path, source: str) -> bool:
    try:
        return bool(source) and path.exists()
    except OSError as error:
        raise SourceError(f"cannot read {label_of(source)[:200]}: {error.strerror}") from None


def _open_plugin(source: str, format: str | None, member: str | None) -> VectorSource:
    scheme, colon, name = source.partition(":")
    plugins = entry_points(group=_PLUGINS)
    if not colon or scheme not in plugins.names:
        known = ", ".join(f"{plugin}:NAME" for plugin in sorted(plugins.names))
        missing = label_of(source) or "a file without a name"
        raise SourceError(f"{missing} does not exist; expected a vector file, 'starter', or {known}")
    if format is not None or member is not None:
        raise SourceError(f"format and member apply to files only, not to {source}")
    opened = plugins[scheme].load()(name)
    assert isinstance(opened, VectorSource)
    return opened


def _array_format(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            starts = file.read(4) == b"PAR1"
            file.seek(max(0, path.stat().st_size - 4))
            ends = file.read(4) == b"PAR1"
    except OSError as error:
        raise SourceError(f"cannot read {label_of(path.name)}: {error.strerror}") from None
    if (starts and ends) or (starts and path.suffix == ".parquet"):
        return "parquet"
    members = zip_members(path)
    return "npz" if members and all(member.endswith(".npy") for member in members) else None


def _open_arrays(path: Path, format: str) -> VectorSource:
    share = [0.0]

    def advance(done: float) -> None:
        share[0] = done

    digest = FileDigest(path)
    batches = read_npz(path, advance) if format == "npz" else read_parquet(path, advance)
    return VectorSource(label_of(path.name), format, "row", batches, lambda: share[0], digest, digest.cancel)


def _open_stream(path: Path, format: str | None, member: str | None) -> VectorSource:
    stream = open_stream(path, member)
    digest = FileDigest(path)

    def close() -> None:
        digest.cancel()
        stream.close()

    try:
        skip_byte_order_mark(stream)
        format = format or _stream_format(stream)
    except SourceError:
        close()
        raise
    if format == "word2vec-binary":
        batches, unit = read_binary(stream), "word"
    else:
        batches, unit = read_text(stream, has_header=format != "glove"), "line"
    return VectorSource(stream.label, format, unit, batches, stream.share_read, digest, close)


def _stream_format(stream: Stream) -> str:
    head = stream.peek(1 << 16)
    header = find_header(head)
    if header is None:
        return "glove"
    if _is_binary(head[header.length :]):
        return "word2vec-binary"
    return "fasttext" if ".vec" in stream.label else "word2vec"


def _is_binary(body: bytes) -> bool:
    """Return whether these bytes are float32 values rather than numbers as text, which are mostly digits."""
    if 2 * len(_NUMERIC.findall(body)) > len(body):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # accepts a character that is cut off at the end
    except UnicodeDecodeError:
        return True
    return _CONTROL.search(body) is not None


def name_source(source: str, member: str | None = None) -> str:
    """Return a name for the embedding of a source: that of the file without its suffixes, or of a spaCy pipeline.

    member: the file in an archive that is read, if it is given. "data/glove.6B.300d.txt.gz" gives "glove.6B.300d".
    SettingError if nothing is left of the name.
    """
    if source == STARTER:
        return STARTER
    file = PurePath((member or source.rpartition(":")[2]).replace("\\", "/"))
    while file.suffix.lower() in _SUFFIXES and file.stem:
        file = file.with_suffix("")
    name = _FORBIDDEN.sub("-", file.name).lstrip(".+-")[:_LONGEST].rstrip(".+-")
    if not name:
        raise SettingError("the file has no name that an embedding could have; use --name NAME (in Python: name=...)")
    return name
