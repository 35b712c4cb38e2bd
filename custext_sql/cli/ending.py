"""Ends a command promptly after SIGTERM, SIGHUP or Ctrl-C, whatever the command is doing.

The first signal interrupts the command, which then removes its unfinished work. If it has not ended after some seconds,
or on a second signal, a watcher thread removes the private folders and ends the process, because DuckDB may hang
forever in code that no interrupt reaches. The watcher learns of signals from a pipe that the C-level handler writes to,
so it does not need the main thread, where Python runs its own handlers. A command that failed and left such a query
behind, as on a full disk, ends the process in the same way.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

_PATIENCE = 7.0  # seconds that a command gets to clean up
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)
_ABORTED = "Aborted!\n"  # what click prints if the command ends by itself
_SHOW_CURSOR = "\x1b[?25h"  # a progress bar may have hidden it


class Ending:
    """A context in which a signal ends the command promptly, with exit status 128 plus the signal number."""

    def __init__(self, clean_up: Callable[[], object]) -> None:
        """Create the context. clean_up: removes the work of a command that does not end by itself."""
        self._clean_up = clean_up
        self._replaced: dict[int, Any] = {}
        self._number: int | None = None

    def __enter__(self) -> "Ending":
        self._earlier = _find_queries()
        if threading.current_thread() is not threading.main_thread():
            return self  # only the main thread can set handlers; a program with threads ends its commands itself
        for number in _SIGNALS:
            if signal.getsignal(number) in _UNTOUCHED:  # a signal that nohup ignores stays ignored
                self._replaced[number] = signal.signal(number, self._interrupt)
        if self._replaced and os.name == "posix":
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            threading.Thread(target=self._watch, name="custext-ending", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._number is not None:
            self._leave(128 + self._number)
        if isinstance(error, SystemExit) and _find_queries() - self._earlier:
            self._leave(error.code if isinstance(error.code, int) else 1)
        for number, before in self._replaced.items():
            signal.signal(number, before)
        if self._replaced and os.name == "posix":
            signal.set_wakeup_fd(-1)
            os.close(self._writer)  # ends the watcher thread

    @contextmanager
    def showing_signals(self) -> Iterator[None]:
        """Let whatever a command raises after a signal end it as the signal does: DuckDB may raise RuntimeError."""
        try:
            yield
        except BaseException:
            if self._number is None:
                raise
            raise _make_exception(self._number) from None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the command, only once: a second exception could interrupt its cleanup."""
        if self._number is None:
            self._number = number
            raise _make_exception(number)

    def _watch(self) -> None:
        """Wait for a signal, give the command time to end, then end the process."""
        number = self._next_signal(None)
        if number is not None:
            self._next_signal(_PATIENCE)
            with suppress(Exception):
                self._clean_up()
            with suppress(Exception):
                message = _ABORTED if number == signal.SIGINT else ""
                os.write(sys.stderr.fileno(), (message + _SHOW_CURSOR * sys.stderr.isatty()).encode())
            os._exit(128 + number)

    def _next_signal(self, seconds: float | None) -> int | None:
        """Return the next signal, or None if `seconds` have passed or the command has ended."""
        while select.select([self._reader], [], [], seconds)[0]:
            received = os.read(self._reader, 1)
            if not received:
                os.close(self._reader)
                return None
            if received[0] in self._replaced:
                return received[0]
        return None

    def _leave(self, status: int) -> None:
        """End the process after the cleanup; a normal interpreter exit might wait for DuckDB."""
        with suppress(Exception):
            self._clean_up()  # what other threads are still working on, such as those of a server
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(status)


def _make_exception(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def _find_queries() -> set[threading.Thread]:
    """Return the threads that wait for DuckDB; `sql.queries` starts them."""
    return {thread for thread in threading.enumerate() if thread.name == "custext-query"}
