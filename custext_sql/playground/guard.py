"""Lets only the page itself talk to the server: checks Host, Origin, the token and the size of every request.

A page of another site can make a browser send requests to this machine. It cannot read or set the token, which
travels in the address behind a #, where it is never sent, and from there in a header. A site whose name was made to
point to this machine (DNS rebinding) is recognized by Host.
"""

import hmac
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN_HEADER = "x-custext-token"
API = "/api/"
UPLOADS = "/api/files"
_MOST_BYTES = 4 << 20  # of a request, other than a file: more than any text of the largest size needs
_PATIENCE = 3  # times as much is received and dropped before the answer
_DIGITS = 18  # of a length; Python takes long for thousands of them
_PROTECTION = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in _PROTECTION.items()]
_HOST = re.compile(r"(?P<name>[^\[\]:]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]+))?", re.IGNORECASE)
_WEB = "80"  # the port that browsers leave out


class _TooLargeError(Exception):
    """A request has more bytes than it may have."""


@dataclass(frozen=True)
class Guard:
    """Refuses requests that may not enter, limits the others, and adds the headers that protect the page.

    host, port: where the server listens. token: what every request to /api/ must carry. most_bytes: of a file.
    """

    application: Application
    host: str
    port: int
    token: str
    most_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.application(scope, receive, send)
            return

        async def protect(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        request = _Limited(receive, protect, self.most_bytes if scope["path"] == UPLOADS else _MOST_BYTES)
        lengths = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
        fault = self.find_fault(scope)
        if fault is not None:
            await request.refuse(403, fault)
        elif len(lengths) == 1 and lengths[0].isdigit() and int(lengths[0][:_DIGITS]) > request.limit:
            await request.refuse_size()
        else:
            await request.run(self.application, scope)

    def knows_host(self, given: str) -> bool:
        """Return whether a Host header names this server: by the name it was started with, or by an address.

        Names of other sites cannot be addresses, and browsers take localhost for this machine, whatever a name server
        says. A server on a loopback address is reached by loopback addresses only.
        """
        found = _HOST.fullmatch(given)
        if found is None or (found["port"] or _WEB) != str(self.port):
            return False
        name = found["name"].strip("[]").lower()
        if name in ("localhost", self.host.lower()):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not is_loopback(self.host)

    def find_fault(self, scope: Scope) -> str | None:
        """Return why a request is refused; None if it may enter."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts, origins = headers.get("host", []), headers.get("origin", [])
        if len(hosts) != 1 or not self.knows_host(hosts[0]):
            return "this server answers only to its own address, which custext playground printed"
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return "this server answers only to its own page"
        if scope["path"].startswith(API):
            given = headers.get(TOKEN_HEADER, [""])
            if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self.token.encode()):
                return "the token is missing or out of date; open the address that custext playground printed"
        return None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens there."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class _Limited:
    """A request whose body may not have more than so many bytes, whatever its headers say."""

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive, self._send, self._left, self.limit = receive, send, limit, limit
        self._goes_on, self._answered = True, False

    async def run(self, application: Application, scope: Scope) -> None:
        """Let the application answer, unless the body is too large."""
        # the application answers to errors and raises them again; the server would print them, with what they quote
        with suppress(Exception):
            await application(scope, self._count, self._answer)
        if self._left < 0 and not self._answered:
            await self.refuse_size()

    async def refuse_size(self) -> None:
        await self.refuse(413, f"that is too large: at most {self.limit:,} bytes are accepted")

    async def refuse(self, status: int, message: str) -> None:
        """Answer with an error, after the body: a browser that is still sending would not show the answer."""
        while self._goes_on and self._left > -_PATIENCE * self.limit:
            await self._take()
        body = json.dumps({"error": message}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers.append((b"connection", b"close"))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _take(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self._goes_on = message.get("more_body", False)
        return message

    async def _count(self) -> Message:
        message = await self._take()
        if self._left < 0:
            raise _TooLargeError
        return message

    async def _answer(self, message: Message) -> None:
        if self._left >= 0 or self._answered:  # FastAPI answers to any error in a body
            self._answered = True
            await self._send(message)
