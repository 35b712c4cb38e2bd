"""A server for files, with its own temporary folder and ledger."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from custext_sql.playground import serving
from custext_sql.playground.serving import Address, open_server
from tests.conftest import copy_database
from tests.playground.requesting import ask, connect, explain, read
from tests.processes import find_files

MOST_BYTES = 8 << 20  # of a file


@dataclass(frozen=True)
class Site:
    """A server, a client of it, its database, and the folder in which it keeps files."""

    address: Address
    client: httpx.Client
    database: Path
    temporary: Path

    def list_files(self) -> list[Path]:
        """Return every file that the server keeps."""
        return sorted(path for path in find_files(self.temporary) if path.is_file())

    def preview(self, file: dict[str, Any], column: str | None, **settings: Any) -> Any:
        return ask(self.client, f"files/{file['id']}/preview", column=column, settings=settings)

    def release(self, file: dict[str, Any], columns: list[str], dataset: str, **settings: Any) -> Any:
        return ask(self.client, f"files/{file['id']}/release", columns=columns, dataset=dataset, settings=settings)

    def download(self, file: dict[str, Any]) -> bytes:
        response = self.client.get(f"/api/files/{file['id']}/output")
        assert response.status_code == 200, response.text
        return response.content

    def delete(self, file: dict[str, Any]) -> None:
        assert read(self.client.delete(f"/api/files/{file['id']}")) == {}

    def refuse(self, file: dict[str, Any], work: str, /, **body: Any) -> str:
        """Return what the server says about work that it cannot do."""
        said = explain(self.client, f"files/{file['id']}/{work}", **body)
        assert str(self.temporary) not in said and os.sep not in said
        return said


@contextmanager
def open_site(template: Path, folder: Path) -> Iterator[Site]:
    """Yield a server with a copy of a database. At the end, nothing may be left of its files."""
    temporary = folder / "tmp"
    temporary.mkdir()
    database = copy_database(template, folder / "site.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        patch.setattr(serving, "MOST_BYTES", MOST_BYTES)
        with open_server(database, port=0) as (address, _), connect(address) as client:
            [private] = temporary.iterdir()
            assert private.stat().st_mode & 0o777 == 0o700
            yield Site(address, client, database, temporary)
    assert list(temporary.iterdir()) == []
