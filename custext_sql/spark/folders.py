"""Output folders in the file systems of Spark: hidden while they are written, renamed when they are complete.

Nothing but the release itself deletes its hidden folders: their names are not those of private_folders.py, and a later
release only reports those that are left. Beside output NAME, new rows are in .NAME.ID.spark-draft; while they take the
place of an earlier output, that one is in .NAME.ID.spark-replaced.
"""

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from custext_sql.errors import OutputError

_OWNER = "700"
_MARK = "_custext"  # an empty file in every output; readers skip names that begin with an underscore
_DRAFT, _REPLACED = "spark-draft", "spark-replaced"
_STRAGGLERS = 3.0  # seconds
_PATTERN = re.compile(r"[*?\[\]{}\\]")


class DraftFolder:
    """A hidden folder beside an output, deleted at the end of a `with` block.

    Only its owner can enter it, where the file system has permissions. left: what to tell the user about folders that
    earlier releases left beside the output.

    OutputError if the output exists, or with `force` is not an output of ours, or if the folder cannot be created.
    """

    def __init__(self, spark: Any, output: str, *, force: bool) -> None:
        self._jvm = spark._jvm
        self._hadoop = spark._jvm.org.apache.hadoop.fs
        self._new_array = spark.sparkContext._gateway.new_array
        configuration = spark._jsc.hadoopConfiguration()
        self._output, self._force, self._is_published = output, force, False
        with self._own_errors():
            given = self._hadoop.Path(output)
            self._files = given.getFileSystem(configuration)
            self._target = self._files.makeQualified(given)
            if _PATTERN.search(str(self._target.toString())):
                raise OutputError(f"cannot write {output}: Spark would read *?[]{{}}\\ in its path as a pattern")
            self._context = self._hadoop.FileContext.getFileContext(self._target.toUri(), configuration)
            self._check_target()
            parent, name = self._target.getParent(), self._target.getName()
            self.left = self._find_left()
            stem = f".{name}.{secrets.token_hex(8)}"
            self._folder = self._hadoop.Path(parent, f"{stem}.{_DRAFT}")
            self._old = self._hadoop.Path(parent, f"{stem}.{_REPLACED}")
            self._files.mkdirs(parent)
            if not self._files.mkdirs(self._folder, self._hadoop.permission.FsPermission(_OWNER)):
                raise OutputError(f"cannot write {output}: a folder beside it cannot be created")

    def __enter__(self) -> "DraftFolder":
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._delete(wait=0.0 if failure is None else _STRAGGLERS)

    def path(self, name: str) -> str:
        """Return the path of a name in the folder."""
        return str(self._hadoop.Path(self._folder, name).toString())

    def is_replaced(self, files: list[str]) -> bool:
        """Return whether one of these files, given as URIs, is in the existing output, and so would be overwritten."""
        with self._own_errors():
            within = f"{self._find_real(self._target)}/"
            return self._files.exists(self._target) and any(
                self._find_real(self._hadoop.Path(self._jvm.java.net.URI(file))).startswith(within) for file in files
            )

    def _find_real(self, path: Any) -> str:
        """Return a path; on a local file system, with its links resolved."""
        return os.path.realpath(path.toUri().getPath()) if path.toUri().getScheme() == "file" else str(path.toString())

    def describe(self, name: str) -> list[dict[str, str]]:
        """Return the future name and the SHA-256 of each data file in an entry of the folder, for the ledger."""
        hashes = self._jvm.org.apache.commons.codec.digest.DigestUtils
        described = []
        with self._own_errors():
            for status in self._files.listStatus(self._hadoop.Path(self._folder, name)):
                file = status.getPath()
                if not file.getName().startswith(("_", ".")):
                    stream = self._files.open(file)
                    found = {"name": f"{self._output}/{file.getName()}", "sha256": str(hashes.sha256Hex(stream))}
                    stream.close()
                    described.append(found)
        return described

    def publish(self, name: str) -> None:
        """Rename an entry of the folder to the output, in one step; first rename an existing output."""
        with self._own_errors():
            self._check_target()
            new = self._hadoop.Path(self._folder, name)
            self._files.create(self._hadoop.Path(new, _MARK)).close()
            try:
                if self._files.exists(self._target):
                    self._rename(self._target, self._old)
                self._rename(new, self._target)
            except BaseException:
                self._bring_back()
                raise
            finally:
                self._is_published = not self._files.exists(new)  # also if it was interrupted after the rename

    def _delete(self, wait: float) -> None:
        """Delete the folder with everything in it, and the previous output once the new one is in place.

        wait: seconds for which it may come back, because tasks of a failed job go on for a moment.
        """
        deadline = time.monotonic() + wait
        while True:
            with suppress(Exception):  # the error that led here matters more
                self._bring_back()
                if self._is_published:
                    self._files.delete(self._old, True)
                self._files.delete(self._folder, True)
            if time.monotonic() >= deadline:
                return
            time.sleep(0.5)

    def _bring_back(self) -> None:
        """Move the previous output back if there is no other."""
        with suppress(Exception):
            if self._files.exists(self._old) and not self._files.exists(self._target):
                self._rename(self._old, self._target)

    def _rename(self, source: Any, target: Any) -> None:
        options = self._new_array(self._hadoop.Options.Rename, 1)
        options[0] = self._hadoop.Options.Rename.NONE  # fails if the target exists
        self._context.rename(source, target, options)

    def _check_target(self) -> None:
        if not self._files.exists(self._target):
            return
        if not self._force:
            raise OutputError(f"{self._output} already exists; to overwrite it, use force=True")
        if not self._files.exists(self._hadoop.Path(self._target, _MARK)):
            raise OutputError(
                f"{self._output} was not written by custext, so it is not overwritten; give the output another name"
            )

    def _find_left(self) -> list[str]:
        found: list[str] = []
        with suppress(Exception):  # the parent may not exist yet, or may not be readable
            pattern = f".{self._target.getName()}.{'[0-9a-f]' * 16}.spark-*"
            statuses = self._files.globStatus(self._hadoop.Path(self._target.getParent(), pattern))
            found = [str(status.getPath().toString()) for status in statuses]
        draft, replaced = "has rows that were not published", f"is the output that was in {self._output} before"
        return [
            f"{folder} {replaced if folder.endswith(_REPLACED) else draft}; unless a release is writing "
            f"{self._output} now, a killed one left it behind: rename it to keep it, or delete it"
            for folder in found
        ]

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise OutputError(f"cannot write {self._output}: {error.java_exception.getMessage()}") from None
        except (PySparkException, Py4JError) as error:
            reason = str(error).strip().splitlines()[0]
            raise OutputError(f"cannot write {self._output!a}: {reason}") from None
