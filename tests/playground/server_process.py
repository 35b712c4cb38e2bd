"""A server in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from custext_sql.playground.serving import Address
from tests.processes import start

_SCRIPT = """
import dataclasses, json, sys
from custext_sql.playground import serve, serving

def tell(address):
    print(json.dumps(dataclasses.asdict(address)), flush=True)

serving._WAIT = float(sys.argv[2])
serve(sys.argv[1], port=0, browser=False, tell=tell)
"""


@contextmanager
def serve(
    database: Path, temporary: Path, before: Sequence[str | Path] = (), wait: float = 1.0
) -> Iterator[tuple[subprocess.Popen[str], Address]]:
    """Yield the process and the address of a server.

    temporary: where it keeps files. before: what runs it. wait: the seconds that requests get to end with it.
    """
    environment = {**os.environ, "TMPDIR": str(temporary)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [*before, sys.executable, "-c", _SCRIPT, database, str(wait)]
    with start(command, env=environment, **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, Address(**json.loads(line))


def end(process: subprocess.Popen[str], number: int) -> str:
    """Send a signal, and return what the process printed."""
    process.send_signal(number)
    return "".join(process.communicate(timeout=120))
