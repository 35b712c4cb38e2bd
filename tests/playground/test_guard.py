"""Who may talk to the server: only its own page, at its own address, with its token."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from custext_sql.playground.serving import Address, open_server
from tests.playground.requesting import TOKEN, Answer, connect, list_routes, name_self, send

OWN_NAMES = ("127.0.0.1", "LocalHost", "localhost", "127.0.0.2", "[::1]")
FOREIGN_NAMES = (
    *("evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "evil.com#localhost", "localhost,evil.com"),
    *("10.0.0.1", "0.0.0.0", "[::1", "2130706433", ""),
)
PROTECTION = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
PAGES = (("GET", "/"), ("GET", "/page/main.js"), ("GET", "/page/nothing"), ("GET", "/nothing"))


@pytest.fixture(scope="module")
def routes(playground: Address) -> list[tuple[str, str]]:
    with connect(playground) as client:
        return [*list_routes(client), ("GET", "/api/openapi.json"), ("GET", "/api/nothing")]


def check_refusal(answer: Answer, message: str) -> None:
    assert answer.status == 403
    assert message in answer.error
    check_protection(answer)


def check_protection(answer: Answer) -> None:
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["form-action"] == "'none'"
    assert all(policy[name] == "'self'" for name in ("script-src", "style-src", "img-src", "connect-src"))
    assert {name: answer.headers.get(name) for name in PROTECTION} == PROTECTION
    assert "server" not in answer.headers
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_only_its_own_hosts_are_answered(playground: Address, routes: list[tuple[str, str]]) -> None:
    ports = ("", ":", ":80", f":{playground.port + 1}", f":0{playground.port}")
    hosts = [*(f"{name}:{playground.port}" for name in FOREIGN_NAMES), *(f"{playground.host}{port}" for port in ports)]
    everywhere = itertools.cycle((*routes, *PAGES))
    for host in hosts:
        for method, path in (("POST", "/api/sanitize"), *itertools.islice(everywhere, 4)):
            headers = [("Host", host), (TOKEN, playground.token)]
            check_refusal(send(playground, method, path, headers), "only to its own address")
    for name in OWN_NAMES:
        headers = [("Host", f"{name}:{playground.port}"), (TOKEN, playground.token)]
        for path in ("/", "/api/setup"):
            assert send(playground, "GET", path, headers).status == 200


def test_exactly_one_host_is_needed(playground: Address, routes: list[tuple[str, str]]) -> None:
    [host, token] = name_self(playground)
    for method, path in (*routes, *PAGES):
        check_refusal(send(playground, method, path, [token], version="1.0"), "only to its own address")
        for hosts in ([], [host, host], [host, ("Host", "evil.com")], [("Host", "evil.com"), host]):
            assert send(playground, method, path, [*hosts, token]).status in (400, 403)


def test_a_foreign_origin_is_refused_everywhere(playground: Address, routes: list[tuple[str, str]]) -> None:
    own, port = ("Origin", f"http://{playground.host}:{playground.port}"), playground.port
    names = ("http://evil.com", "null", "", f"https://127.0.0.1:{port}", "http://127.0.0.1", f"http://localhost:{port}")
    foreign = itertools.cycle(("Origin", name) for name in names)
    for method, path in (*routes, *PAGES):
        for origins in ([next(foreign)], [own, next(foreign)], [next(foreign), own]):
            headers = [*name_self(playground), *origins]
            check_refusal(send(playground, method, path, headers), "only to its own page")
    assert send(playground, "GET", "/api/setup", [*name_self(playground), own]).status == 200


def test_a_wrong_token_is_refused_on_every_route(
    playground: Address, public_playground: Address, routes: list[tuple[str, str]]
) -> None:
    [host, own] = name_self(playground)
    wrong = [
        [],
        [(TOKEN, "")],
        [(TOKEN, playground.token[:-1])],
        [(TOKEN, playground.token.swapcase())],
        [(TOKEN, "é" * 32)],
        [(TOKEN, public_playground.token)],
        [own, own],
        [own, (TOKEN, "")],
        [(TOKEN, f"{playground.token}, {playground.token}")],
        [("Authorization", f"Bearer {playground.token}")],
        [("Cookie", f"{TOKEN}={playground.token}")],
    ]
    for method, path in routes:
        for headers in wrong[:2]:
            query = f"{path}?{TOKEN}={playground.token}"
            check_refusal(send(playground, method, query, [host, *headers]), "token is missing or out of date")
    for headers in wrong:
        check_refusal(send(playground, "GET", "/api/setup", [host, *headers]), "token is missing or out of date")
    for path in ("/", "/page/main.js", "/page/style.css"):  # the page itself needs none, and tells none
        answer = send(playground, "GET", path, [host])
        assert answer.status == 200 and playground.token.encode() not in answer.body
        check_protection(answer)


def test_the_path_cannot_be_written_so_that_no_token_is_needed(playground: Address) -> None:
    [host, _] = name_self(playground)
    for path in ("/API/setup", "//api/setup", "/./api/setup", "/page/../api/setup", "/api%2Fsetup", "/%61pi/setup"):
        assert send(playground, "GET", path, [host]).status in (403, 404)
    for path in ("/page/../guard.py", "/page/..%2Fguard.py", "/page/%2e%2e/guard.py", "/page//etc/passwd"):
        assert send(playground, "GET", path, [host]).status == 404


def test_other_methods_do_nothing(playground: Address, routes: list[tuple[str, str]]) -> None:
    for path in {path for _, path in (*routes, *PAGES)} - {"/api/openapi.json"}:
        allowed = {method for method, other in (*routes, *PAGES) if other == path}
        for method in {"HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "CONNECT", "DELETE", "GET"} - allowed:
            answer = send(playground, method, path, name_self(playground))
            assert answer.status in (404, 405), (method, path)
            check_protection(answer)
    preflight = [("Origin", "http://evil.com"), ("Access-Control-Request-Method", "POST")]
    check_refusal(send(playground, "OPTIONS", "/api/sanitize", [*name_self(playground), *preflight]), "own page")


def test_every_answer_protects_the_page(playground: Address, routes: list[tuple[str, str]]) -> None:
    seen = set()
    for method, path in (*routes, *PAGES):
        for body in (b"", b"{}", b'{"text": 1}', b"\xff"):
            headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
            answer = send(playground, method, path, [*name_self(playground), *headers], body)
            check_protection(answer)
            seen.add(answer.status)
    assert {200, 400, 404, 422} <= seen


def test_a_web_socket_is_not_opened(playground: Address) -> None:
    key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    handshake = [("Upgrade", "websocket"), key, ("Sec-WebSocket-Version", "13")]
    for path in ("/", "/api/setup", "/api/sanitize"):
        for connection in ("Upgrade", "keep-alive, Upgrade"):
            headers = [*name_self(playground), *handshake, ("Connection", connection)]
            assert send(playground, "GET", path, headers).status in (200, 405)
            answer = send(playground, "GET", path, [("Host", "evil.com"), *headers[1:]])
            check_refusal(answer, "only to its own address")
    assert send(playground, "GET", "/api/setup", name_self(playground)).status == 200


@pytest.fixture(scope="module")
def everywhere(served_db: Path) -> Iterator[Address]:
    with open_server(served_db, host="0.0.0.0", port=0, allow_remote=True) as (address, _):
        yield Address("127.0.0.1", address.port, address.token)


def test_a_server_on_all_addresses_knows_no_names_of_other_sites(everywhere: Address) -> None:
    """A site can let its own name point here (DNS rebinding), but a browser then says that name."""
    for name in ("evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "10.0.0.1.evil.com", "10.0.0", "0"):
        for headers in ([], [(TOKEN, everywhere.token)]):
            answer = send(everywhere, "GET", "/api/setup", [("Host", f"{name}:{everywhere.port}"), *headers])
            check_refusal(answer, "only to its own address")
    for name in ("127.0.0.1", "localhost", "0.0.0.0", "192.168.1.7", "[fe80::1]"):
        host = ("Host", f"{name}:{everywhere.port}")
        assert send(everywhere, "GET", "/api/setup", [host, (TOKEN, everywhere.token)]).status == 200
        check_refusal(send(everywhere, "GET", "/api/setup", [host]), "token is missing")
        foreign = [host, (TOKEN, everywhere.token), ("Origin", f"http://8.8.8.8:{everywhere.port}")]
        check_refusal(send(everywhere, "GET", "/api/setup", foreign), "only to its own page")
