"""Files that are built once per run, by the first worker that needs them, and copied by the others."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import wait_for


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Return a file that `build` makes at the path it is given; other workers wait for it. Copy it to change it."""
    base = factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # without workers, other runs have the parent
    target, claim = folder / name, folder / f"{name}.claim"
    wait_for(lambda: target.exists() or _claims(claim), seconds=600.0)
    if not target.exists():
        try:
            unfinished = factory.mktemp("build") / name
            build(unfinished)
            unfinished.rename(target)  # so that nobody sees a part of it
        finally:
            claim.unlink()  # if it failed, the next worker tries, and reports why
    return target


def _claims(claim: Path) -> bool:
    """Return whether this worker is the one that builds."""
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
