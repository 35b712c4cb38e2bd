"""Files that were dropped on the page: kept in a private folder, and deleted when they are no longer needed."""

import errno
import os
import re
import secrets
import shutil
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from custext_sql import CusTextError, compare_texts, find_leaks, sanitize_file
from custext_sql.errors import SettingError, SourceError
from custext_sql.files.inputs.texts import list_columns
from custext_sql.files.preview.comparison import ComparedRow
from custext_sql.playground.requests import Choice, PreviewRequest, ReleaseRequest
from custext_sql.playground.workbench import show_receipt

MOST_BYTES = 200 << 20  # of a file
_MOST_FILES = 3  # at a time; the oldest is deleted
_ROWS = 10  # shown before and after
_CHARACTERS = 2_000  # shown of each
_WORDS = 8  # of each kind that leaks
_LETTERS = 40  # of such a word, and of the name of a file, for which a file system takes 255 bytes
_UNSAFE = re.compile(r"[^\w.() -]")
_ENDING = re.compile(r"\.\w+(\.gz)?\Z", re.IGNORECASE)
_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt")
_UNUSED = {"data", "mapping", "policy", "plus", "endings", "kept"}  # of what leaks, by the page
_ZIPPED = tuple(f"{ending}.gz" for ending in _ENDINGS)


@dataclass
class Upload:
    """A file. folder: where it is, with nothing else. name: as on the user's machine. lock: held while it is read."""

    folder: Path
    name: str
    is_sanitized: bool = False
    is_deleted: bool = False  # its folder is removed after the last use
    leaks: dict[str, dict[str, Any]] = field(default_factory=dict)  # by settings other than eps
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.folder / _make_safe(self.name)

    @property
    def output(self) -> Path:
        """Where the sanitized file is, once there is one."""
        return self.folder / name_output(self.path.name)


class Uploads:
    """The files of a page. folder: a private one."""

    def __init__(self, folder: Path, database: Path | None) -> None:
        self._folder, self._database = folder, database
        self._files: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> str:
        """Write a file as it arrives, and return the ID under which the others find it."""
        if not _make_safe(name).lower().endswith((*_ENDINGS, *_ZIPPED, ".parquet")):
            known = ", ".join(_ENDINGS)
            raise SourceError(f"expected a file whose name ends in .parquet, or in {known}, also with .gz")
        upload = Upload(self._folder / secrets.token_hex(8), name)
        try:
            upload.folder.mkdir(mode=0o700)
            with upload.path.open("xb") as file:
                async for chunk in chunks:
                    file.write(chunk)
        except BaseException as error:
            shutil.rmtree(upload.folder, ignore_errors=True)
            if isinstance(error, OSError):
                reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
                raise SourceError(f"the file could not be stored: {reason}") from None
            raise
        with self._lock:
            self._files[upload.folder.name] = upload
            old = list(self._files)[:-_MOST_FILES]
        for other in old:
            self.delete(other)
        return upload.folder.name

    def describe(self, file_id: str) -> dict[str, Any]:
        """Return what is known about a file; it is deleted if it cannot be read."""
        with self._reading(file_id) as upload:
            try:
                columns = list_columns(upload.path)
            except BaseException:
                self.delete(file_id)
                raise
            size = upload.path.stat().st_size
            return {"id": file_id, "name": upload.name, "bytes": size, "columns": columns}

    def preview(self, file_id: str, request: PreviewRequest) -> dict[str, Any]:
        """Return some rows before and after, and what leaks."""
        column, named = request.column, self._name_settings(request.settings)
        with self._reading(file_id) as upload:
            compared = compare_texts(upload.path, column=column, rows=_ROWS, characters=_CHARACTERS, **named)
            named = {name: value for name, value in named.items() if name not in ("eps", "calibration")}
            asked = repr((column, named))
            if asked not in upload.leaks:  # the whole file is read, and a slider moves often
                shown = find_leaks(upload.path, column=column, top=_WORDS, **named).to_dict()
                for kind in shown["kinds"]:
                    words = (word["word"] for word in kind["words"])  # some are very long, such as encoded data
                    kind["words"] = [word if len(word) <= _LETTERS else f"{word[:_LETTERS]}..." for word in words]
                upload.leaks[asked] = {name: value for name, value in shown.items() if name not in _UNUSED}
            return {"rows": [_show_row(row) for row in compared.rows], "leaks": upload.leaks[asked]}

    def release(self, file_id: str, request: ReleaseRequest) -> dict[str, Any]:
        """Sanitize a file, enter the release in the ledger, and return the receipt."""
        if request.dataset.startswith("<"):  # such names are for data without a name, whose releases do not add up
            raise SettingError("the name of the data must not begin with <")
        with self._reading(file_id) as upload:
            report = sanitize_file(
                upload.path,
                upload.output,
                columns=request.columns,
                dataset=request.dataset,
                second_mapping=request.second_mapping,
                force=True,
                **self._name_settings(request.settings),
            )
            upload.is_sanitized = True
            shown = show_receipt(report.receipt)
            return shown | {"rows": report.rows, "copied": list(report.copied), "output": upload.output.name}

    def open_output(self, file_id: str) -> tuple[str, int, BinaryIO]:
        """Return the name and the size of the sanitized file, and the file, which stays readable when it is deleted."""
        upload = self._find(file_id)
        if upload.is_sanitized:
            with suppress(FileNotFoundError):
                file = upload.output.open("rb")
                return upload.output.name, os.fstat(file.fileno()).st_size, file
        raise SourceError("this file was not sanitized yet")

    def delete(self, file_id: str) -> None:
        """Delete a file with everything that was made from it: now, or as soon as nobody reads it."""
        with self._lock:
            upload = self._files.pop(file_id, None)
        if upload is not None:
            upload.is_deleted = True
            _clear(upload)

    def _name_settings(self, choice: Choice) -> dict[str, Any]:
        named = choice.model_dump(exclude={"policy"})
        return named | {"policy": choice.policy.settle(), "database": self._database}

    def _find(self, file_id: str) -> Upload:
        with self._lock:
            upload = self._files.get(file_id)
        if upload is None:
            raise SourceError("this file is no longer here; drop it on the page again")
        return upload

    @contextmanager
    def _reading(self, file_id: str) -> Iterator[Upload]:
        """Yield a file that nobody deletes meanwhile. Messages name it as the user does."""
        upload = self._find(file_id)
        try:
            with upload.lock:
                self._find(file_id)
                yield upload
        except CusTextError as error:
            shown = str(error).replace(f"{upload.folder}/", "").replace(str(upload.folder), "the private folder")
            raise CusTextError(shown) from None
        finally:
            _clear(upload)


def name_output(file: str) -> str:
    """Return what a sanitized file is called: reviews.csv.gz becomes reviews.sanitized.csv.gz."""
    stem, ending = _split(file)
    return f"{stem}.sanitized{ending}"


def _split(file: str) -> tuple[str, str]:
    """Return a name without its ending, and the ending."""
    ending = _ENDING.search(file)
    return (file, "") if ending is None else (file[: ending.start()], ending[0])


def _clear(upload: Upload) -> None:
    """Remove the folder of a deleted file, unless somebody reads it, and will call this afterwards."""
    if upload.is_deleted and upload.lock.acquire(blocking=False):
        try:
            shutil.rmtree(upload.folder, ignore_errors=True)
        finally:
            upload.lock.release()


def _make_safe(name: str) -> str:
    """Return a name for a file on this machine: its last part, shortened, without unusual characters, not hidden."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    plain = _UNSAFE.sub("_", last).lstrip(".")
    stem, ending = _split(plain)
    return f"{stem[:_LETTERS]}{ending}"


def _show_row(row: ComparedRow) -> dict[str, Any]:
    """Return a row as pieces: the text before and after, and the kind of the word, if it is one."""
    pieces = [[piece.before, piece.after, None if piece.kind is None else int(piece.kind)] for piece in row.pieces]
    return {"place": row.place, "pieces": pieces}
