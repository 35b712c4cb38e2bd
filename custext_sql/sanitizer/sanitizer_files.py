"""Sanitizers as single files, for machines without the database: the mapping, the stopwords and the settings.

A file is Arrow data with one row per word. Equal sanitizers give equal bytes, so a file is known by its digest. It
never contains a key.
"""

import hashlib
import json
import os
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from custext_sql.errors import MappingError, OutputError, SettingError, tell_failure
from custext_sql.mapping.mapping import Mapping, MappingInfo, find_flaw
from custext_sql.parameters import check_path
from custext_sql.sanitizer.policy import Policy
from custext_sql.sanitizer.settings import Settings
from custext_sql.store.mappings import read_integers, read_lists
from custext_sql.store.outputs import atomic_output

_FORMAT = 2
_HEADER = b"custext_sanitizer"  # the key of our JSON in the metadata of the Arrow schema
_DIGEST = b"custext_sanitizer_sha256"  # the key of its digest, which shows accidental changes only
_SCHEMA = pa.schema(
    [("word", pa.string()), ("group_id", pa.int32()), ("rank", pa.int32()), ("units", pa.list_(pa.int32()))]
)
_SETTINGS = ("eps", "plus", "calibration", "language")
# What other or damaged files raise, in Arrow and here. Arrow reports some of them as failures of the system.
_UNREADABLE = (
    *(pa.ArrowException, OSError, MemoryError, RecursionError),
    *(LookupError, TypeError, ValueError, ArithmeticError, SettingError),
)


def write_sanitizer_file(
    path: str | os.PathLike[str], mapping: Mapping, stopwords: frozenset[str], settings: Settings, *, force: bool
) -> str:
    """Write a sanitizer without its key to a new file, whole or not at all, and return the SHA-256 of the file.

    force: replace an existing file. OutputError if the file cannot be written.
    """
    check_path(path, "the sanitizer file")
    settings = settings.without_key()
    described = {name: getattr(settings, name) for name in _SETTINGS} | {"policy": settings.policy.to_dict()}
    info = asdict(mapping.info) | {"created_at": mapping.info.created_at.isoformat()}
    header = {"format": _FORMAT, "mapping": info, "settings": described, "stopwords": sorted(stopwords)}
    content = _encode(mapping, json.dumps(header, sort_keys=True).encode())
    try:
        with atomic_output(Path(path), force=force) as output:
            output.path.write_bytes(content)
            output.publish()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise OutputError(f"cannot write {path}: {reason}") from None
    return hashlib.sha256(content).hexdigest()


def read_sanitizer_file(
    path: str | os.PathLike[str], sha256: str | None = None
) -> tuple[Mapping, frozenset[str], Settings]:
    """Return the contents of a file; MappingError if it cannot be read or was changed.

    sha256: the digest that the file must have. It is checked before anything else is read from the file.
    """
    check_path(path, "the sanitizer file")
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = tell_failure(str(error)) or "it cannot be opened"
        raise MappingError(f"cannot read the sanitizer file {path}: {reason}") from None
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise _changed(path, "its SHA-256 differs")
    try:
        table = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        table.validate(full=True)
        metadata = table.schema.metadata or {}
        header = json.loads(metadata[_HEADER])
        json.dumps(header, ensure_ascii=False).encode()  # everything must be text that can be written
        if header["format"] != _FORMAT:
            raise MappingError(f"{path} was written by another version of custext; write it again with Sanitizer.save")
        if metadata[_DIGEST] != _digest(metadata[_HEADER]):
            raise _changed(path, "its settings or stopwords differ")
        mapping, settings = _read_mapping(table, header["mapping"]), _read_settings(header)
        stopwords = header["stopwords"]
        if not isinstance(stopwords, list) or not all(isinstance(word, str) for word in stopwords):
            raise TypeError
        flaw = find_flaw(mapping)
    except _UNREADABLE:
        raise MappingError(f"{path} is not a sanitizer file, or is damaged; write one with Sanitizer.save") from None
    if flaw is not None:
        raise _changed(path, flaw)
    return mapping, frozenset(stopwords), settings


def _encode(mapping: Mapping, header: bytes) -> bytes:
    sizes = np.repeat(mapping.sizes, mapping.sizes)  # of the group of each word
    bounds = np.append(0, np.cumsum(sizes)).astype(np.int32)
    columns = {
        "word": pa.array(mapping.words, pa.string()),
        "group_id": np.repeat(np.arange(len(mapping.sizes), dtype=np.int32), mapping.sizes),
        "rank": mapping.ranks.astype(np.int32),
        "units": pa.ListArray.from_arrays(bounds, mapping.scores),
    }
    schema = _SCHEMA.with_metadata({_HEADER: header, _DIGEST: _digest(header)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(pa.table(columns, schema=schema))
    return bytes(sink.getvalue())


def _digest(header: bytes) -> bytes:
    return hashlib.sha256(header).hexdigest().encode()


def _read_mapping(table: pa.Table, described: dict[str, Any]) -> Mapping:
    """Return the mapping in a table; ValueError or TypeError if the table does not hold one."""
    if not table.schema.equals(_SCHEMA):
        raise TypeError
    info = MappingInfo(**(described | {"created_at": datetime.fromisoformat(described["created_at"])}))
    if not all(isinstance(getattr(info, field.name), cast(type, field.type)) for field in fields(info)):
        raise TypeError
    group_of = read_integers(table.column("group_id"))
    if not np.isin(np.diff(group_of, prepend=0), (0, 1)).all():
        raise ValueError
    sizes = np.bincount(group_of).astype(np.int64)
    lengths, scores = read_lists(table.column("units"))
    if scores is None or (lengths != sizes[group_of]).any() or table.column("word").null_count:
        raise ValueError
    ranks = read_integers(table.column("rank")).astype(np.int64)
    return Mapping(info, tuple(table.column("word").to_pylist()), sizes, scores, ranks)


def _read_settings(header: dict[str, Any]) -> Settings:
    described = header["settings"] | {"policy": Policy(**header["settings"]["policy"])}
    if set(described) != {*_SETTINGS, "policy"} or not isinstance(described["language"], str):
        raise TypeError
    return Settings(mapping=header["mapping"]["name"], **described)


def _changed(path: str | os.PathLike[str], how: str) -> MappingError:
    return MappingError(
        f"{path} was changed after it was written ({how}), so it cannot be used; write it again with Sanitizer.save"
    )
