"""Requests to a server of the page: as the page sends them, and byte by byte."""

import json
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any

import httpx

from custext_sql.playground.serving import Address

TOKEN = "X-Custext-Token"
PATIENCE = 120.0  # seconds; the machine may be busy


@contextmanager
def connect(address: Address) -> Iterator[httpx.Client]:
    """Yield a client that sends what the page sends."""
    headers = {TOKEN: address.token, "Origin": find_origin(address)}
    with httpx.Client(base_url=find_origin(address), headers=headers, timeout=PATIENCE, trust_env=False) as client:
        yield client


def find_origin(address: Address) -> str:
    return f"http://{address.host}:{address.port}"


def refuse_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON, and browsers refuse it")


def read(response: httpx.Response, status: int = 200) -> Any:
    """Return what an answer says, as a browser would read it; fail if it has another status."""
    assert response.status_code == status, (response.status_code, response.text[:1000])
    return json.loads(response.content, parse_constant=refuse_constant)


def ask(client: httpx.Client, route: str, /, status: int = 200, **body: Any) -> Any:
    """Post to a route, and return the answer."""
    return read(client.post(f"/api/{route}", json=body), status)


def explain(client: httpx.Client, route: str, /, status: int = 400, **body: Any) -> str:
    """Post something wrong to a route, and return what the server says about it."""
    answer = ask(client, route, status, **body)
    assert list(answer) == ["error"]
    return str(answer["error"])


def upload(client: httpx.Client, name: str, content: bytes) -> dict[str, Any]:
    """Drop a file on the page, and return what the server says about it."""
    found: dict[str, Any] = read(client.post("/api/files", params={"name": name}, content=content))
    return found


def list_routes(client: httpx.Client) -> list[tuple[str, str]]:
    """Return the method and the path of every route that needs a token."""
    schema = read(client.get("/api/openapi.json"))
    found = [(method.upper(), path) for path, methods in schema["paths"].items() for method in methods]
    assert len(found) >= 11
    return [(method, re.sub(r"\{\w+\}", "0123456789abcdef", path)) for method, path in found]


@dataclass(frozen=True)
class Answer:
    """An answer, byte by byte. Several headers of one name are joined by commas."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"])


def send(
    address: Address,
    method: str,
    path: str,
    headers: Iterable[tuple[str, str]],
    body: bytes | Iterable[bytes] = b"",
    version: str = "1.1",
) -> Answer:
    """Send exactly these headers and this body. The server closes the connection, or the client does."""
    lines = [f"{method} {path} HTTP/{version}", *(f"{name}: {value}" for name, value in headers), "Connection: close"]
    with socket.create_connection((address.host, address.port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for part in [body] if isinstance(body, bytes) else body:
            connection.sendall(part)
        response = HTTPResponse(connection, method=method)
        response.begin()
        given = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, given, response.read())


def name_self(address: Address) -> list[tuple[str, str]]:
    """Return the headers that every request needs."""
    return [("Host", f"{address.host}:{address.port}"), (TOKEN, address.token)]
