"""Ships a sanitizer to the workers of a Spark session, as one file. Keys are never shipped."""

import secrets
import tempfile
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pyspark import SparkFiles

import custext_sql
from custext_sql import Sanitizer
from custext_sql.errors import KeyFileError, SettingError
from custext_sql.store.key_files import read_key_file

_OPEN = 4  # sanitizers that a worker keeps open


@dataclass(frozen=True)
class Shipped:
    """What a task needs to find a sanitizer. It becomes part of plans, so it holds nothing secret.

    file: the name of the sanitizer's file among the files of the session. sha256: the digest of that file.
    version: the version of custext-sql, which workers must share, so that all tasks replace words alike.
    key_file: where every worker finds the key, if there is one. key_name: the name of that key, as in the ledger.
    """

    file: str
    sha256: str
    version: str
    key_file: str | None = None
    key_name: str | None = None

    def without_key(self) -> "Shipped":
        """Return the same sanitizer with fresh draws."""
        return replace(self, key_file=None, key_name=None)


def ship(spark: Any, sanitizer: Sanitizer) -> Shipped:
    """Send a sanitizer, without its key, to all workers of a session; SettingError if this is not a Spark session."""
    if not hasattr(spark, "addArtifact") or not hasattr(spark, "udf"):
        raise SettingError(f"expected a Spark session of PySpark 4.1 or later; found {type(spark).__name__}")
    folder = Path(_keep_folder().name)
    unnamed = folder / secrets.token_hex(8)
    sha256 = sanitizer.save(unnamed)
    file = f"custext-{sha256}"  # a session's files cannot be replaced, so each content gets its own name
    unnamed.replace(folder / file)
    sent: set[str] = vars(spark).setdefault("_custext_files", set())
    if file not in sent:
        spark.addArtifact(str(folder / file), file=True)
        sent.add(file)
    key = sanitizer.key
    shipped = Shipped(file, sha256, _find_version())
    return shipped if key is None else replace(shipped, key_file=str(key.path), key_name=key.key.name)


@lru_cache(_OPEN)
def open_shipped(shipped: Shipped) -> Sanitizer:
    """Return the sanitizer, in a worker, with its key if it has one; each worker reads and checks the files once."""
    if shipped.version != _find_version():
        raise SettingError(
            f"this worker has custext-sql {_find_version()}, but the driver has {shipped.version}; install the same one"
        )
    if shipped.key_file is None:
        return Sanitizer.open(SparkFiles.get(shipped.file), sha256=shipped.sha256)
    key = read_key_file(shipped.key_file)
    if key.key.name != shipped.key_name:
        raise KeyFileError(
            f"{shipped.key_file} has another key on this worker; expected key {shipped.key_name}, that of the driver"
        )
    return open_shipped(shipped.without_key()).with_key(key)


def _find_version() -> str:
    return str(getattr(custext_sql, "__version__", "of unknown version"))


@cache
def _keep_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that lasts as long as this process, because workers may fetch a file at any time."""
    return tempfile.TemporaryDirectory(prefix="custext-", ignore_cleanup_errors=True)
