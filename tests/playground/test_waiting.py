"""Who waits for whom: things are made once, texts do not wait for files, and nobody works for a client that left."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from custext_sql.playground.serving import Address
from custext_sql.playground.uploads import Uploads
from custext_sql.playground.workbench import Recent, Workbench
from tests.playground.requesting import ask, connect, name_self, read, upload
from tests.processes import wait_for

SEATS = {"texts": 4, "files": 2}


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as threads:
        yield threads


@pytest.fixture
def client(playground: Address) -> Iterator[httpx.Client]:
    with connect(playground) as opened:
        yield opened


class Gate:
    """Work that starts, and goes on when the gate is opened."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self._opened = threading.Event()

    def work(self, *asked: Any) -> dict[str, Any]:
        self.started.append(asked)
        assert self._opened.wait(120.0)
        return {"done": True}

    def open(self) -> None:
        self._opened.set()


def test_a_thing_is_made_once_while_others_are_found_and_again_if_it_failed(pool: ThreadPoolExecutor) -> None:
    recent, gate, made = Recent(2), threading.Event(), []

    def make() -> str:
        made.append("slow")
        assert gate.wait(120.0)
        return "slow"

    waiting = [pool.submit(recent.find, "slow", make) for _ in range(3)]
    wait_for(lambda: made)
    assert recent.find("quick", lambda: "quick") == "quick"
    gate.set()
    assert [one.result() for one in waiting] == ["slow"] * 3 and made == ["slow"]
    with pytest.raises(ZeroDivisionError):
        recent.find("bad", lambda: 1 / 0)
    assert recent.find("bad", lambda: 2) == 2


def test_texts_do_not_wait_for_files(
    client: httpx.Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    file = upload(client, "a.txt", b"family\n")
    monkeypatch.setattr(Uploads, "preview", gate.work)
    route = f"/api/files/{file['id']}/preview"
    previews: list[Future[httpx.Response]] = [pool.submit(client.post, route, json={}) for _ in range(6)]
    wait_for(lambda: len(gate.started) == SEATS["files"])
    assert ask(client, "sanitize", text="family")["before"] == "family"
    assert len(gate.started) == SEATS["files"]
    gate.open()
    assert [read(preview.result()) for preview in previews] == [{"done": True}] * 6


def test_nobody_works_for_a_client_that_has_left(
    playground: Address, client: httpx.Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slider that moves aborts the requests before; they must not be worked on when their turn comes."""
    gate = Gate()
    monkeypatch.setattr(Workbench, "judge", gate.work)
    asked = {"text": "family", "unchanged": 0}
    working = [pool.submit(client.post, "/api/verdict", json=asked) for _ in range(SEATS["texts"])]
    wait_for(lambda: len(gate.started) == SEATS["texts"])
    body = b'{"text": "left", "unchanged": 0}'
    headers = [*name_self(playground), ("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    for _ in range(3):
        with socket.create_connection((playground.host, playground.port)) as connection:
            connection.sendall(f"POST /api/verdict HTTP/1.1\r\n{head}\r\n".encode() + body)
    last = pool.submit(client.post, "/api/verdict", json={"text": "last", "unchanged": 0})
    assert read(client.post("/api/snippets", json={}))  # by now, the others have arrived
    gate.open()
    assert [read(one.result()) for one in (*working, last)] == [{"done": True}] * 5
    assert [request.text for (request,) in gate.started] == ["family"] * SEATS["texts"] + ["last"]
