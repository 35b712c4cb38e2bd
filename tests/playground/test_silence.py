"""Nothing of what people send is printed or logged, whatever goes wrong, and nothing stays when the server ends."""

import logging
import os
import signal
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from custext_sql.playground.serving import Address, open_server
from custext_sql.playground.uploads import Uploads
from custext_sql.playground.workbench import Workbench
from tests.ledger_entries import list_releases
from tests.playground.requesting import ask, connect, explain, name_self, read, send, upload
from tests.playground.server_process import end, serve
from tests.processes import find_files, wait_for

SECRET = "Qzxvsecret"
PAPER = {"policy": {"name": "paper"}}


def send_wrongly(address: Address, client: httpx.Client) -> None:
    """Send whatever makes servers talk."""
    explain(client, "sanitize", 422, text=[SECRET])
    explain(client, "inspect", word=SECRET, output=SECRET)
    explain(client, "attack", text=SECRET, outputs=[])
    read(client.get(f"/api/{SECRET}"), 404)
    read(client.post("/api/files", params={"name": f"{SECRET}.csv"}, content=f"a,b\n{SECRET}".encode()), 400)
    upgrade = [("Upgrade", "websocket"), ("Sec-WebSocket-Key", SECRET), ("Connection", "Upgrade")]
    send(address, "GET", f"/?{SECRET}", [*name_self(address), *upgrade])
    head = "".join(f"{name}: {value}\r\n" for name, value in name_self(address))
    for sent in (
        f"{SECRET}\r\n\r\n",
        f"POST /api/sanitize HTTP/1.1\r\n{head}Content-Length: 99\r\n\r\n{SECRET}",
        f"POST /api/files?name={SECRET}.csv HTTP/1.1\r\n{head}Content-Length: 99\r\n\r\n{SECRET}",
        f"GET /api/setup HTTP/1.1\r\n{head}\r\n",
    ):
        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(sent.encode())


def test_a_bug_is_reported_without_the_text(
    playground: Address,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any) -> dict[str, Any]:
        raise ValueError(SECRET)

    def fail_with_text(_: Workbench, request: Any) -> dict[str, Any]:
        return {"wrong": int(request.text)}

    with connect(playground) as client, caplog.at_level(logging.DEBUG):
        file = upload(client, "a.txt", b"family\n")
        capfd.readouterr()
        monkeypatch.setattr(Workbench, "sanitize", fail_with_text)
        monkeypatch.setattr(Workbench, "judge", lambda *_: {"wrong": float("nan")})
        for name in ("preview", "release", "describe"):
            monkeypatch.setattr(Uploads, name, fail)
        place = f"ValueError in {Path(__file__).name}, line {fail.__code__.co_firstlineno + 1}"
        said = explain(client, "sanitize", 500, text=SECRET)
        assert said.startswith("this is a bug of custext-sql; please report it: ValueError in test_silence.py, line ")
        assert explain(client, "verdict", 500, text=SECRET, unchanged=0).startswith("this is a bug of custext-sql")
        for route, body in (("preview", {}), ("release", {"dataset": SECRET})):
            assert explain(client, f"files/{file['id']}/{route}", 500, **body).endswith(place)
        response = client.post("/api/files", params={"name": f"{SECRET}.csv"}, content=SECRET.encode())
        assert read(response, 500)["error"].endswith(place)
        assert response.headers["content-security-policy"] and SECRET not in str(response.headers)
        monkeypatch.undo()
        send_wrongly(playground, client)
        assert ask(client, "sanitize", text="family")["before"] == "family"
        assert read(client.delete(f"/api/files/{file['id']}")) == {}
    assert capfd.readouterr() == ("", "")
    logged = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "httpx2"))]
    assert [record for record in logged if SECRET in str(record.__dict__)] == []
    assert [record.name for record in logged if record.levelno > logging.DEBUG] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_server_ends_with_nothing_printed_and_nothing_left(few_db: Path, tmp_path: Path, number: int) -> None:
    """It is one that a Python program started, so no command is there to clean up."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with serve(few_db, temporary) as (process, address), connect(address) as client:
        file = upload(client, "a.txt", f"the family was well {SECRET}\n".encode())
        work = f"files/{file['id']}/release"
        assert ask(client, work, dataset=SECRET, settings=PAPER)["warnings"] != []
        upload(client, "b.csv", f"id,body\n1,{SECRET}\n".encode())
        send_wrongly(address, client)
        with socket.create_connection((address.host, address.port)) as connection:
            head = "".join(f"{name}: {value}\r\n" for name, value in name_self(address))
            connection.sendall(f"POST /api/files?name=c.csv HTTP/1.1\r\n{head}Content-Length: 99\r\n\r\nx".encode())
            wait_for(lambda: find_files(temporary, "c.csv"))
            [folder] = {path.parent.parent for path in find_files(temporary, "a.txt")}
            assert folder.parent == temporary and folder.stat().st_mode & 0o777 == 0o700
            printed = end(process, number)
    assert list(temporary.iterdir()) == []
    assert process.returncode == -number
    if number == signal.SIGINT:
        assert printed.startswith("Traceback") and printed.endswith("\nKeyboardInterrupt\n") and SECRET not in printed
    else:
        assert printed == ""


@pytest.mark.slow
def test_a_server_ends_in_the_middle_of_a_release(few_db: Path, tmp_path: Path) -> None:
    """Threads that still work cannot be stopped, but they end with the process, and leave nothing.

    On a busy machine, a release may end before the signal comes; the next one has more rows.
    """
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    assert any(is_cut_off(few_db, temporary, rows) for rows in (400_000, 1_600_000, 3_200_000, 6_000_000))


def is_cut_off(database: Path, temporary: Path, rows: int) -> bool:
    """End a server while it releases a file, and return whether the release was left without an answer."""
    with serve(database, temporary, wait=0) as (process, address), connect(address) as client:
        file = upload(client, "a.csv", b"id,body\n" + f"1,the family was well {SECRET}\n".encode() * rows)
        route, body = f"/api/files/{file['id']}/release", {"columns": ["body"], "dataset": SECRET}
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(client.post, route, json=body)
            wait_for(lambda: answer.done() or find_files(temporary, "*.sanitized*"))
            printed = end(process, signal.SIGTERM)
            cut_off = answer.exception() is not None or answer.result().status_code == 500
    assert (process.returncode, printed) == (-signal.SIGTERM, "")
    assert list(temporary.iterdir()) == []
    return cut_off


def test_a_server_in_a_thread_of_a_program_leaves_nothing(mapped_db: Path, tmp_path: Path) -> None:
    """The temporary folder may be a link, and messages name files as the page does all the same."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(link))
        with open_server(mapped_db, port=0) as (address, thread), connect(address) as client:
            file = upload(client, "a.csv", b"id,body\n1,alice\n")
            for route, body in (("preview", {"column": "x"}), ("release", {"columns": ["x"], "dataset": "d"})):
                assert os.sep not in explain(client, f"files/{file['id']}/{route}", **body)
            assert len(find_files(real, "a.csv")) == 1
    wait_for(lambda: not thread.is_alive())
    assert list(real.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk_is_explained_and_the_server_goes_on(few_db: Path, tmp_path: Path) -> None:
    """The disk is a real one, in memory, of 4 MB."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    mount = f"mount -t tmpfs -o size=4m,mode=700 tmpfs '{temporary}' && exec \"$@\""
    before = ["unshare", "--mount", *as_root, "sh", "-c", mount, "sh"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    with serve(few_db, temporary, before) as (process, address), connect(address) as client:
        for size in (5 << 20, 100 << 20):
            large = client.post("/api/files", params={"name": "a.txt"}, content=b"family\n" * (size // 7))
            assert read(large, 400)["error"] == "the file could not be stored: the disk is full"
        file = upload(client, "a.csv", b"id,body\n" + b"1,the family was well\n" * 130_000)
        said = explain(client, f"files/{file['id']}/release", columns=["body"], dataset="full")
        assert "the disk is full" in said and str(temporary) not in said
        assert "was not sanitized yet" in read(client.get(f"/api/files/{file['id']}/output"), 400)["error"]
        assert read(client.delete(f"/api/files/{file['id']}")) == {}
        small = upload(client, "a.txt", b"the family was well\n")
        assert ask(client, f"files/{small['id']}/release", dataset="small")["rows"] == 1
        assert end(process, signal.SIGTERM) == ""
    assert [release.dataset for release in list_releases(few_db)] == ["small"]
