"""Bodies that are too large, that lie about their size, or that are no JSON: a message, and the server goes on."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from custext_sql.playground.serving import Address
from tests.playground.requesting import PATIENCE, Answer, connect, name_self, read, send
from tests.playground.test_guard import check_protection

MOST = 4 << 20
JSON = ("Content-Type", "application/json")
CHUNKED = ("Transfer-Encoding", "chunked")
ROUTES = ("sanitize", "inspect", "attack", "verdict", "snippets", "files/0123456789abcdef/release", "nothing")


@pytest.fixture(scope="module", autouse=True)
def survives(playground: Address) -> Iterator[None]:
    """After all tests, the server answers as before."""
    yield
    with connect(playground) as client:
        assert read(client.post("/api/sanitize", json={"text": "family"}))["before"] == "family"


def chunk(*parts: bytes) -> list[bytes]:
    """Return a body in chunks, with its end."""
    return [*(b"%x\r\n%b\r\n" % (len(part), part) for part in parts), b"0\r\n\r\n"]


def check_size(answer: Answer) -> None:
    assert answer.status == 413
    assert answer.error == f"that is too large: at most {MOST:,} bytes are accepted"
    assert answer.headers["connection"] == "close"
    check_protection(answer)


def test_a_large_body_is_refused(playground: Address) -> None:
    """By its length, or when too much of it has come."""
    own, large = [*name_self(playground), JSON], b"x" * (MOST + 1)
    for route in ROUTES:
        check_size(send(playground, "POST", f"/api/{route}", [*own, ("Content-Length", str(MOST + 1))], large))
    for parts in ([large], [large[1:], b"x"], [b"x" * 1000] * 5000):
        check_size(send(playground, "POST", "/api/sanitize", [*own, CHUNKED], chunk(*parts)))


def test_a_body_of_the_largest_size_is_read(playground: Address) -> None:
    text = json.dumps({"text": "family"}).encode()
    for body in (text + b" " * (MOST - len(text)), text[:-1] + b" " * (MOST - len(text)) + b"}"):
        headers = [*name_self(playground), JSON]
        assert send(playground, "POST", "/api/sanitize", [*headers, ("Content-Length", str(MOST))], body).status == 200
        assert send(playground, "POST", "/api/sanitize", [*headers, CHUNKED], chunk(body)).status == 200


def test_a_body_that_does_not_end_is_refused_all_the_same(playground: Address) -> None:
    """Nobody waits for its end. The answer comes after some more of it, and may get lost when the connection breaks."""
    endless = chunk(*[b"x" * (1 << 20)] * 20)[:-1]
    announced = ("Content-Length", str(10**15))
    for header, body in ((CHUNKED, endless), (announced, b"x" * (4 * MOST))):
        with suppress(ConnectionError):
            check_size(send(playground, "POST", "/api/sanitize", [*name_self(playground), JSON, header], body))
    assert send(playground, "GET", "/api/setup", name_self(playground)).status == 200


def test_a_refused_request_is_read_to_its_end(playground: Address) -> None:
    """Else a browser would report that the connection broke, instead of what the server said."""
    for route in ("sanitize", "files?name=a.csv"):
        headers = [name_self(playground)[0], JSON, ("Content-Length", str(3 * MOST))]
        answer = send(playground, "POST", f"/api/{route}", headers, b"x" * (3 * MOST))
        assert answer.status == 403 and "token is missing" in answer.error


def test_what_is_no_http_or_lies_about_its_length_does_no_harm(playground: Address) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in [*name_self(playground), JSON])
    lying = [
        f'POST /api/sanitize HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n{{"text": "Qzxv doctor"}}'.encode()
        for length in ("10", "9" * 26, "-1", "1, 2")
    ]
    no_http = [b"Qzxv\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 100]
    for sent in (*lying, *no_http):
        with socket.create_connection((playground.host, playground.port), timeout=PATIENCE) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
        assert b"Qzxv" not in answer


@pytest.mark.parametrize(
    "body, status, message",
    [
        (b"", 422, "the request: field required"),
        (b"\xff\xfe", 422, "the request: JSON decode error"),
        (b"null", 422, "the request: "),
        (b"[" * 100_000, 400, "There was an error parsing the body"),
        (b'{"text": "\\ud800"}', 422, "text: input should be a valid string"),
        (b'{"text": "family", "settings": {"eps": NaN}}', 422, "settings.eps: input should be a finite number"),
        (b'{"text": "family", "settings": {"eps": %b}}' % (b"9" * 5000), 400, "There was an error parsing the body"),
        (b'{"text": "family", "Qzxv": 1}', 422, "Qzxv: extra inputs are not permitted"),
        (b"text=family", 422, "the request: JSON decode error"),
    ],
)
def test_what_is_no_request_is_explained(playground: Address, body: bytes, status: int, message: str) -> None:
    headers = [*name_self(playground), JSON, ("Content-Length", str(len(body)))]
    answer = send(playground, "POST", "/api/sanitize", headers, body)
    assert answer.status == status and answer.error.startswith(message), answer.error
    check_protection(answer)


def test_only_json_is_read_as_json(playground: Address) -> None:
    """Pages of other sites can send the other kinds without asking first."""
    body = json.dumps({"text": "family"}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = [*name_self(playground), ("Content-Length", str(len(body))), ("Content-Type", kind)]
        answer = send(playground, "POST", "/api/sanitize", headers, body)
        assert answer.status == 422 and answer.error.startswith("the request: ")
