"""Serves the page: finds a port, makes a token, opens the browser, and ends with everything deleted."""

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
import threading
import time
import warnings
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TypedDict, Unpack

import uvicorn

from custext_sql import CusTextError, DataFiles, DataTable
from custext_sql.errors import PrivacyWarning, SettingError
from custext_sql.playground.application import make_application
from custext_sql.playground.guard import Guard, is_loopback
from custext_sql.playground.uploads import MOST_BYTES, Uploads
from custext_sql.playground.workbench import Workbench
from custext_sql.store.outputs import scratch_folder

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8790
_WAIT = 3.0  # seconds that requests get to end
_IDLE = 75  # seconds that a connection may rest between requests


@dataclass(frozen=True)
class Address:
    """Where the page is. token: without it the server does not answer."""

    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        """The address with the token, which a browser does not send because it is behind the #."""
        host = self.host
        if self.is_everywhere:  # browsers refuse addresses that stand for all
            host = LOOPBACK if ":" not in host else "::1"
        name = f"[{host}]" if ":" in host else host
        return f"http://{name}:{self.port}/#token={self.token}"

    def __str__(self) -> str:
        return self.url

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def is_everywhere(self) -> bool:
        """Whether the server listens on all addresses of this machine."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False


class ServerOptions(TypedDict, total=False):
    """Where the page is served, and with which public texts; see `serve`."""

    public: DataFiles | DataTable | str | os.PathLike[str] | None
    public_column: str | None
    host: str
    port: int | None
    allow_remote: bool


def serve(
    database: str | os.PathLike[str] | None = None,
    *,
    browser: bool = True,
    tell: Callable[[Address], object] = print,
    **options: Unpack[ServerOptions],
) -> None:
    """Serve a page to try custext-sql on, until the process is interrupted.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database. public: public
    texts, from which the attacker on the page learns; public_column: their column. host: the address to listen on.
    port: by default 8790, or another one if that is taken. allow_remote: allow an address that other machines can
    reach; texts then travel unencrypted. browser: whether to open the page. tell: called with the address of the page,
    which prints as its `url`.

    Ctrl-C, SIGTERM and SIGHUP end it, and the files of the page are deleted. A CusTextError if a setting is invalid, or
    a file or the database cannot be read.
    """
    with _ending_orderly(), open_server(database, **options) as (address, server):
        tell(address)
        with scratch_folder() as folder:
            if browser:
                _open_browser(address, folder)
            while server.is_alive():  # not join, which takes a thread for ended if it is interrupted (in Python 3.11)
                time.sleep(1.0)
    raise CusTextError("the server ended by itself; start it again")


@contextmanager
def open_server(
    database: str | os.PathLike[str] | None = None, **options: Unpack[ServerOptions]
) -> Iterator[tuple[Address, threading.Thread]]:
    """Serve the page in a thread, and yield its address and the thread."""
    port, public = options.get("port"), options.get("public")
    host = _check_place(options.get("host", LOOPBACK), port, allow_remote=options.get("allow_remote", False))
    place = None if database is None else Path(database)
    given = public if public is None or isinstance(public, (DataFiles, DataTable)) else DataFiles(public)
    workbench = Workbench(place, given, options.get("public_column"))
    with scratch_folder() as folder, _listen(host, port) as listener, warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PrivacyWarning)  # the page shows what they say
        workbench.prepare()  # only now, because it may take long: a port that is taken is reported at once
        address = Address(host, listener.getsockname()[1], secrets.token_urlsafe(24))
        application = make_application(workbench, Uploads(folder, place))
        config = uvicorn.Config(
            Guard(application, address.host, address.port, address.token, MOST_BYTES),
            log_config=None,
            log_level="critical",  # what clients send wrong is not for the terminal
            access_log=False,
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=int(_WAIT),
            timeout_keep_alive=_IDLE,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(_run(server, listener)), daemon=True)
        thread.start()
        try:
            yield address, thread
        finally:
            server.should_exit = True
            thread.join(_WAIT + 1.0)


async def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until the server ends, and close what it leaves open: uvicorn misses connections that have just come."""
    await server.serve([listener])
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    await asyncio.sleep(0)  # until they are closed


@contextmanager
def _ending_orderly() -> Iterator[None]:
    """Let signals that end the process at once end this block first, unless the program handles them itself."""
    taken, received = [], []

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the deletion of files
        received.append(number)
        raise SystemExit(128 + number)

    if threading.current_thread() is threading.main_thread():  # others cannot set handlers
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, end)
                taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        for number in received:
            signal.raise_signal(number)  # not by an exception: the interpreter would wait for threads that still work


def _check_place(host: str, port: int | None, *, allow_remote: bool) -> str:
    """Return an address to listen on, without brackets."""
    bare = host.strip().removeprefix("[").removesuffix("]")
    if not bare or not bare.isprintable():
        raise SettingError("the address to listen on is empty or invalid; expected --host ADDRESS (in Python: host)")
    if not is_loopback(bare) and not allow_remote:
        raise SettingError(
            f"other machines can reach {bare}, and texts would travel to it unencrypted; if you want that, use "
            "--allow-remote (in Python: allow_remote=True)"
        )
    if port is not None and not 0 <= port <= 65535:
        raise SettingError(f"expected a port between 0 and 65535, found {port}: --port N (in Python: port=N)")
    return bare


@contextmanager
def _listen(host: str, port: int | None) -> Iterator[socket.socket]:
    """Yield a socket that listens at an address. port: None for the usual one, or any other if that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (USUAL_PORT, 0) if port is None else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends at once if it says so
        try:
            if os.name == "posix":  # elsewhere, two servers could then have the same port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # although earlier connections linger
            listener.bind((host, number))
            listener.listen(128)
        except (OSError, UnicodeError) as error:
            listener.close()
            problem = getattr(error, "strerror", None) or "it is not a valid name"
            continue
        with listener:
            yield listener
        return
    if port:
        raise SettingError(
            f"cannot listen on {host}, port {port}: {problem}; choose another port: --port N (in Python: port=N)"
        )
    raise SettingError(
        f"cannot listen on {host}: {problem}; name an address of this machine: --host ADDRESS (in Python: host)"
    )


def _open_browser(address: Address, folder: Path) -> None:
    """Open the page by a private file, because other users of this machine can see the arguments of a browser."""
    file = folder / "open.html"
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address.url}">', encoding="utf-8")
    webbrowser.open(file.as_uri())
