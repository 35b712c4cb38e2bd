"""Files that cannot be read, names that mislead, clients that leave: a message, and nothing stays behind."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.playground.file_site import MOST_BYTES, Site, open_site
from tests.playground.requesting import name_self, read, upload
from tests.processes import find_files, wait_for

SECRET = "Qzxvsecret"
NO_FILE = {"id": "0123456789abcdef"}


@pytest.fixture(scope="module")
def site(few_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(few_template, tmp_path_factory.mktemp("faults")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def clean(site: Site) -> Iterator[None]:
    """Let every test start and end without files."""
    assert site.list_files() == []
    yield
    while _seen:
        site.delete({"id": _seen.pop()})
    wait_for(lambda: site.list_files() == [])


_seen: set[str] = set()


def drop(site: Site, name: str, content: bytes) -> dict[str, Any]:
    file = upload(site.client, name, content)
    _seen.add(file["id"])
    return file


def refuse(site: Site, name: str, content: bytes) -> str:
    """Drop a file that cannot be read, and return what the server says."""
    said = read(site.client.post("/api/files", params={"name": name}, content=content), 400)["error"]
    assert SECRET not in said and str(site.temporary) not in said
    assert site.list_files() == []
    return str(said)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.csv", b"", "a.csv"),
        ("a.csv", f"id,body\n1,{SECRET}\n2,{SECRET},{SECRET}\n".encode(), "a.csv"),
        ("a.csv", b"id,body\n1,\xff\xfe" + SECRET.encode(), "a.csv"),
        ("a.parquet", f"PAR1{SECRET}PAR1".encode(), "a.parquet"),
        ("a.jsonl", f'{{"body": "{SECRET}"}}\n{SECRET}\n'.encode(), "a.jsonl"),
        ("a.csv.gz", f"id,body\n1,{SECRET}\n".encode(), "a.csv.gz"),
        ("a.txt.gz", b"\x1f\x8b\x08" + SECRET.encode(), "a.txt.gz"),
        ("a.duckdb", b"x", "expected a file whose name ends in .parquet, or in .csv"),
        ("a.csv.exe", b"x", "expected a file whose name ends in"),
    ],
)
def test_a_file_that_cannot_be_read_is_explained_and_deleted(
    site: Site, name: str, content: bytes, message: str
) -> None:
    assert message in refuse(site, name, content)


NAMES = {
    "../../evil.csv": "evil.csv",
    "C:\\evil.csv": "evil.csv",
    "a'b\"c\n;d.csv": "a_b_c__d.csv",
    "x\x00y\x7fz.csv": "x_y_z.csv",
    "-rf.csv": "-rf.csv",
    "...csv.csv": "csv.csv",
    "日本\u202e😀.csv": "日本__.csv",
    "𠀀" * 60 + ".csv": "𠀀" * 40 + ".csv",
    "a" + "." * 200 + ".csv": "a" + "." * 39 + ".csv",
}


def test_names_do_no_harm(site: Site) -> None:
    for name, stored in NAMES.items():
        file = drop(site, name, b"id,body\n1,family\n")
        assert file["name"] == name and file["columns"] == ["id", "body"]
        [path] = site.list_files()
        assert path.name == stored and path.parent.parent.parent == site.temporary
        if name == "a'b\"c\n;d.csv":
            assert site.preview(file, "body", eps=0)["rows"][0]["place"] == 1
            assert stored in site.refuse(file, "preview", column=SECRET)
            output = site.release(file, ["body"], "names", eps=0)["output"]
            assert output == f"{stored[:-4]}.sanitized.csv"
            response = site.client.get(f"/api/files/{file['id']}/output")
            assert response.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(output)}"
            assert {found.parent for found in site.list_files()} == {path.parent}
        site.delete(file)


def test_no_name_and_long_names_are_refused(site: Site) -> None:
    for name in ("", "n" * 252 + ".csv"):
        response = site.client.post("/api/files", params={"name": name}, content=b"x")
        assert read(response, 422)["error"].startswith("name: string should have at")
    assert read(site.client.post("/api/files", content=b"x"), 422) == {"error": "name: field required"}


def test_a_wrong_column_is_explained(site: Site) -> None:
    table, lines = drop(site, "a.csv", b"id,body\n1,family\n"), drop(site, "a.txt", b"family\n")
    for column in (SECRET, "\x00"):
        assert "does not exist" in site.refuse(table, "preview", column=column)
        assert "does not exist" in site.refuse(table, "release", columns=[column], dataset="x")
    assert "name the column" in site.refuse(table, "preview", column=None)
    assert "column" in site.refuse(table, "release", columns=[], dataset="x")
    assert "plain text has no columns" in site.refuse(lines, "preview", column="body")
    assert "column" in site.refuse(lines, "release", columns=["body"], dataset="x")
    assert "column" in site.refuse(table, "release", columns=["body", "body"], dataset="x")
    for file in (table, lines):
        assert "was not sanitized yet" in read(site.client.get(f"/api/files/{file['id']}/output"), 400)["error"]


def test_a_file_that_is_gone_is_explained(site: Site) -> None:
    file = drop(site, "a.txt", b"family\n")
    site.delete(file)
    site.delete(file)
    for missing in (file, NO_FILE):
        for work, body in (("preview", {}), ("release", {"dataset": "x"})):
            assert "this file is no longer here; drop it on the page again" in site.refuse(missing, work, **body)
        assert "no longer here" in read(site.client.get(f"/api/files/{missing['id']}/output"), 400)["error"]
    for wrong in ("x", "0" * 17, "..", "%2e%2e", "ABCDEF0123456789"):
        assert site.client.get(f"/api/files/{wrong}/output").status_code in (404, 422)


def test_the_fourth_file_replaces_the_first(site: Site) -> None:
    files = [drop(site, f"{number}.txt", b"family\n") for number in range(4)]
    site.release(files[1], [], "four", eps=0)
    assert "no longer here" in site.refuse(files[0], "preview")
    assert [path.name for path in sorted(site.list_files(), key=lambda path: path.name)] == [
        *("1.sanitized.txt", "1.txt", "2.txt", "3.txt")
    ]
    drop(site, "5.txt", b"family\n")
    assert {path.name for path in site.list_files()} == {"2.txt", "3.txt", "5.txt"}


def test_a_file_is_deleted_while_others_read_it(site: Site) -> None:
    """A request that is reading it gets an answer, a later one gets a message, and nothing is left."""
    files = [drop(site, f"{number}.csv", b"id,body\n" + b"1,the family was well\n" * 2_000) for number in range(3)]

    def work(number: int) -> int:
        file = files[number % 3]
        if number >= 12:
            site.delete(file)
            return 200
        path = f"/api/files/{file['id']}/{'preview' if number < 9 else 'release'}"
        body: dict[str, Any] = {"column": "body"} if number < 9 else {"columns": ["body"], "dataset": "busy"}
        response = site.client.post(path, json=body)
        assert response.status_code == 200 or "no longer here" in read(response, 400)["error"]
        return response.status_code

    with ThreadPoolExecutor(15) as pool:
        found = list(pool.map(work, range(15)))
    assert 200 in found
    wait_for(lambda: site.list_files() == [])


def test_an_output_can_be_downloaded_while_it_is_deleted_and_replaced(site: Site) -> None:
    file = drop(site, "a.txt", b"the family was well\n" * 100_000)
    site.release(file, [], "downloads", eps=0)
    expected = site.download(file)
    assert len(expected) > 1 << 20
    with site.client.stream("GET", f"/api/files/{file['id']}/output") as response:
        chunks = response.iter_bytes(1000)
        first = next(chunks)
        site.release(file, [], "downloads", eps=0, mapping=None)
        site.delete(file)
        assert first + b"".join(chunks) == expected


def test_a_client_that_leaves_while_sending_leaves_nothing(site: Site) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in name_self(site.address))
    for length in ("Content-Length: 1000000", "Transfer-Encoding: chunked"):
        with socket.create_connection((site.address.host, site.address.port)) as connection:
            connection.sendall(f"POST /api/files?name=a.csv HTTP/1.1\r\n{head}{length}\r\n\r\n".encode())
            connection.sendall(b"ff\r\n" + b"x" * 255)
            wait_for(lambda: len(find_files(site.temporary, "a.csv")) == 1)
        wait_for(lambda: find_files(site.temporary, "a.csv") == [])
    assert read(site.client.get("/api/setup"))


def test_a_disk_that_cannot_be_written_is_explained(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")

    def open_full(path: Path, mode: str) -> Any:
        path.symlink_to("/dev/full")
        return open(path, "wb")  # noqa: PTH123

    monkeypatch.setattr("pathlib.Path.open", open_full)
    for size in (10, 1 << 20):
        said = refuse(site, "a.csv", b"x" * size)
        assert said == "the file could not be stored: the disk is full"
    monkeypatch.undo()
    drop(site, "a.csv", b"id,body\n1,family\n")


def test_a_file_that_is_too_large_is_refused(site: Site) -> None:
    """It is stopped while it arrives, whether or not its size was given."""
    for content in (b"x" * (MOST_BYTES + 1), iter([b"x" * MOST_BYTES, b"x"]), (b"x" * MOST_BYTES for _ in range(3))):
        response = site.client.post("/api/files", params={"name": "a.txt"}, content=content)
        assert read(response, 413)["error"] == f"that is too large: at most {MOST_BYTES:,} bytes are accepted"
        assert site.list_files() == []
    assert drop(site, "a.txt", b"x" * MOST_BYTES)["bytes"] == MOST_BYTES
