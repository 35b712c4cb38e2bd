"""The command playground: what it prints, what it refuses before a server starts, and that nothing is left of it."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from custext_sql.cli import main
from tests.ledger_entries import list_releases
from tests.processes import find_files, start, wait_for

CUSTEXT = [sys.executable, "-m", "custext_sql"]
_SCRIPT = "from custext_sql.playground import serving; serving._WAIT = 0; from custext_sql.cli import main; main()"
HASTY = [sys.executable, "-c", _SCRIPT]  # does not wait for requests to end
SECRET = "qzxv"

# Stands in for a browser: writes its arguments, and what is behind them, to a file.
BROWSER = f"""#!{sys.executable}
import json, os, sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as page:
    found = [sys.argv[1:], page.read().decode(), os.stat(os.path.dirname(sys.argv[1].removeprefix("file://"))).st_mode]
with open("half.json", "w") as file:
    json.dump(found, file)
os.rename("half.json", "seen.json")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in, with another one beside it for temporary files."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@contextmanager
def serve(
    folder: Path, database: Path, *options: str, program: Sequence[str] = CUSTEXT, **variables: str
) -> Iterator[tuple[Any, str]]:
    """Start the command, and yield the process with the first line that it prints."""
    command = [*program, "--db", str(database), "playground", *options]
    environment = {**os.environ, "TMPDIR": str(folder.parent / "tmp"), **variables}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start(command, cwd=folder, env=environment, **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, line


def ask(url: str, path: str, body: bytes | None = None, *, token: bool = True) -> tuple[int, Any]:
    """Return the status and the answer of a server whose address has the token."""
    place, _, secret = url.partition("#token=")
    headers = {"X-Custext-Token": secret} if token else {}
    headers |= {} if body is None else {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(place + path, data=body, headers=headers)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def end(process: Any, folder: Path, number: int) -> str:
    """Send a signal; check that nothing is left; return what the process printed to the end."""
    os.kill(process.pid, number)
    printed = "".join(process.communicate(timeout=60))
    assert process.returncode == 128 + number, printed
    assert list((folder.parent / "tmp").iterdir()) == []
    return printed


@pytest.fixture
def refuse(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs the command with options, and returns what it prints before a server starts."""

    def refuse(*options: str, db: Path = mapped_db) -> str:
        result = CliRunner().invoke(main, ["--db", str(db), "playground", "--no-browser", *options])
        assert result.exit_code in (1, 2) and isinstance(result.exception, SystemExit)
        return result.output

    def complain(*_: object, **__: object) -> None:
        raise AssertionError("a server started")

    monkeypatch.setattr("custext_sql.playground.serving.uvicorn.Server", complain)
    return refuse


def test_a_program_reads_the_address_and_ends_the_server(mapped_db: Path, folder: Path) -> None:
    with serve(folder, mapped_db, "--json", "--port", "0") as (process, line):
        url = json.loads(line)["url"]
        status, setup = ask(url, "api/setup")
        assert status == 200 and [mapping["name"] for mapping in setup["mappings"]] == ["small-euclidean-k4"]
        assert ask(url, "api/setup", token=False)[0] == 403
        assert ask(url, "api/files?name=a.csv", f"id,body\n1,{SECRET}\n".encode())[1]["columns"] == ["id", "body"]
        assert find_files(folder.parent / "tmp", "a.csv")
        assert end(process, folder, signal.SIGTERM) == ""


@pytest.mark.slow
def test_a_person_sees_the_address_and_nothing_of_what_is_typed(mapped_db: Path, folder: Path) -> None:
    """Errors are for the page. The terminal shows none of them, nor the warnings of a release."""
    (folder / "public.txt").write_text("alice bob\ncarol dave\n")
    with serve(folder, mapped_db, "--public", "public.txt", "--port", "0", "--no-browser") as (process, line):
        url = line.strip()
        assert url.startswith("http://127.0.0.1:") and len(url.partition("#token=")[2]) > 20
        assert ask(url, "api/setup")[1]["public"] == "public.txt"
        settings = {"policy": {"name": "paper"}}
        assert ask(url, "api/sanitize", json.dumps({"text": SECRET, "settings": settings}).encode())[0] == 200
        assert ask(url, "api/sanitize", SECRET.encode())[0] == 422
        file = ask(url, "api/files?name=a.txt", SECRET.encode())[1]["id"]
        release = json.dumps({"dataset": SECRET, "settings": settings}).encode()
        status, receipt = ask(url, f"api/files/{file}/release", release)
        assert status == 200 and receipt["warnings"]
        with socket.create_connection(("127.0.0.1", int(url.split(":")[2].partition("/")[0]))) as connection:
            connection.sendall(f"{SECRET}\r\n\r\n".encode())
            connection.recv(1000)
        printed = end(process, folder, signal.SIGINT)
    assert printed.splitlines() == [
        "Learning from public.txt ...",
        "Open this address in a browser. Stop with Ctrl-C.",
        "",
        "Stopped; uploaded files were deleted.",
    ]
    assert len(list_releases(mapped_db)) == 1


@pytest.mark.slow
def test_an_upload_in_the_middle_keeps_no_server_alive(mapped_db: Path, folder: Path) -> None:
    with serve(folder, mapped_db, "--json", "--port", "0", program=HASTY) as (process, line):
        url = json.loads(line)["url"]
        host, token = url.split("/")[2], url.partition("#token=")[2]
        with socket.create_connection(("127.0.0.1", int(host.partition(":")[2]))) as connection:
            head = f"POST /api/files?name=a.csv HTTP/1.1\r\nHost: {host}\r\nX-Custext-Token: {token}\r\n"
            connection.sendall(f"{head}Content-Length: 1000\r\n\r\nid,body\n1,{SECRET}".encode())
            wait_for(lambda: find_files(folder.parent / "tmp", "a.csv"))
            assert end(process, folder, signal.SIGTERM) == ""


@pytest.mark.slow
@pytest.mark.parametrize("work", ["preview", "release"])
def test_work_in_the_middle_leaves_nothing(mapped_db: Path, folder: Path, work: str) -> None:
    """Its thread goes on when the server has ended, until the process ends.

    On a busy machine, the work may end before the signal comes; the next file has more rows.
    """
    assert any(is_cut_off(mapped_db, folder, work, rows) for rows in (3_000_000, 6_000_000, 12_000_000, 12_000_000))


def is_cut_off(database: Path, folder: Path, work: str, rows: int) -> bool:
    """End a server while it works, and return whether the work was left without an answer."""
    temporary = folder.parent / "tmp"
    with (
        serve(folder, database, "--json", "--port", "0", program=HASTY) as (process, line),
        ThreadPoolExecutor(1) as pool,
    ):
        url = json.loads(line)["url"]
        file = ask(url, "api/files?name=a.csv", b"body\n" + b"alice bob carol\n" * rows)[1]["id"]
        drafts = len(find_files(temporary, "*.draft"))
        request = {"preview": {"column": "body"}, "release": {"dataset": "a", "columns": ["body"]}}[work]
        answer = pool.submit(ask, url, f"api/files/{file}/{work}", json.dumps(request).encode())
        wait_for(lambda: answer.done() or len(find_files(temporary, "*.draft")) > drafts)
        assert end(process, folder, signal.SIGTERM) == ""
        return answer.exception() is not None or answer.result()[0] == 500


@pytest.mark.slow
def test_the_browser_gets_the_token_from_a_private_file(mapped_db: Path, folder: Path) -> None:
    """Its arguments are visible to other users of the machine."""
    script = folder / "browser"
    script.write_text(BROWSER)
    script.chmod(0o700)
    with serve(folder, mapped_db, "--port", "0", BROWSER=str(script)) as (process, line):
        wait_for((folder / "seen.json").exists)
        arguments, page, mode = json.loads((folder / "seen.json").read_text())
        printed = end(process, folder, signal.SIGINT)
    url = line.strip()
    assert len(arguments) == 1 and arguments[0].startswith("file://")
    assert url.partition("#token=")[2] not in arguments[0]
    assert f"url={url}" in page
    assert mode & 0o777 == 0o700
    assert "If no browser opens, open this address." in printed


def test_two_servers_take_two_ports_and_give_them_back(mapped_db: Path) -> None:
    """Although the system keeps the connections that a server closed for a while."""
    from custext_sql.playground.serving import open_server

    with open_server(mapped_db) as (first, _), open_server(mapped_db) as (second, _):
        assert first.port != second.port
        assert [ask(address.url, "api/setup")[0] for address in (first, second)] == [200, 200]
        connection = socket.create_connection((first.host, first.port))
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {first.host}:{first.port}\r\n\r\n".encode())
        connection.recv(1)
    with connection, open_server(mapped_db, port=first.port) as (again, _):
        assert again.port == first.port


def test_places_where_no_server_may_or_can_listen(refuse: Callable[..., str]) -> None:
    assert "use --allow-remote (in Python: allow_remote=True)" in refuse("--host", "0.0.0.0")
    assert "use --allow-remote (in Python: allow_remote=True)" in refuse("--host", "::")
    assert "the address to listen on is empty" in refuse("--host", "")
    assert "name an address of this machine: --host" in refuse("--host", "192.0.2.1", "--allow-remote")
    assert "name an address of this machine: --host" in refuse("--host", "a..b", "--allow-remote")
    assert "99999 is not in the range" in refuse("--port", "99999")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refuse("--port", str(port))
    assert f"port {port}: Address already in use; choose another port: --port N (in Python: port=N)" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--public", "gone.txt"], "gone.txt does not exist"),
        (["--public", "news.csv"], "name the column of the texts: --public-column NAME (in Python: public_column=...)"),
        (["--public", "news.csv", "--public-column", "text"], "news.csv: column 'text' does not exist"),
        (["--public", "empty.txt"], "learns from public texts, but all of them are empty"),
        (["--public", "blank.csv", "--public-column", "body"], "but all of them are empty; use others: --public FILE"),
        (["--public-column", "body"], "--public-column is about public texts. Name them: --public FILE."),
    ],
)
def test_public_texts_that_teach_nothing(
    refuse: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    for name, content in (("news.csv", "id,body\n1,alice\n"), ("empty.txt", ""), ("blank.csv", "id,body\n1,\n2, \n")):
        (folder / name).write_text(content)
    assert message in refuse(*options)


def test_a_database_that_cannot_be_used(refuse: Callable[..., str], tmp_path: Path, loaded_template: Path) -> None:
    gone = tmp_path / "gone.duckdb"
    assert f"custext --db {gone} load starter" in refuse(db=gone)
    loaded = tmp_path / "loaded.duckdb"
    loaded.write_bytes(loaded_template.read_bytes())
    assert f"custext --db {loaded} map" in refuse(db=loaded)


def test_without_the_extra_the_message_names_it(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("custext_sql.playground")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = CliRunner().invoke(main, ["--db", str(mapped_db), "playground"])
    assert result.output == (
        "Error: this needs FastAPI and uvicorn; in a checkout of custext-sql, run: pip install '.[playground]'\n"
    )
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("host", "url", "local"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/#token=t", True),
        ("::1", "http://[::1]:80/#token=t", True),
        ("localhost", "http://localhost:80/#token=t", True),
        ("192.0.2.1", "http://192.0.2.1:80/#token=t", False),
        ("0.0.0.0", "http://127.0.0.1:80/#token=t", False),
        ("::", "http://[::1]:80/#token=t", False),
    ],
)
def test_the_address_is_one_that_a_browser_can_open(
    host: str, url: str, local: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from custext_sql.cli.preview import tell_address
    from custext_sql.playground import Address

    tell_address(Address(host, 80, "t"), as_json=False, opens=False)
    printed = capsys.readouterr()
    assert printed.out == f"{url}\n"
    assert ("Warning: other machines can reach this page" in printed.err) is not local
    assert ("From another machine" in printed.err) is (host in ("0.0.0.0", "::"))
