"""Starts a PostgreSQL server in a temporary folder, which listens on a socket there and nowhere else."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

_BINARIES = Path("/usr/lib/postgresql")  # Debian's place, a folder for each version


@contextmanager
def serve_postgres() -> Iterator[str]:
    """Yield the URL of a new server, with the place for a database's name; skip the test without PostgreSQL."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install '.[postgres]'")
    binaries = _find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="custext-pg-"))  # a short path: that of a socket has 107 bytes at most
    try:
        user = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(folder, "postgres", "postgres")
            user = ["runuser", "-u", "postgres", "--"]
        data, log = str(folder / "data"), str(folder / "log")
        setting = ["--username=custext", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        _call(*user, f"{binaries}/initdb", "-D", data, *setting)
        control = [*user, f"{binaries}/pg_ctl", "-D", data, "-w", "-t", "120"]
        _call(*control, "-l", log, "-o", f"-k {folder} -c listen_addresses='' -c max_connections=50", "start")
        try:
            yield f"postgresql+psycopg://custext@/{{}}?host={folder}"
        finally:
            _call(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_database(server: str) -> str:
    """Return the URL of a new, empty database."""
    name = f"ledger_{uuid.uuid4().hex}"
    engine = create_engine(server.format("postgres"), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    return server.format(name)


def _find_binaries() -> Path | None:
    found = sorted(_BINARIES.glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("pg_ctl")
    return Path(on_path).resolve().parent if on_path else None


def _call(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
