"""Times, peak memory and data for benchmarks."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from custext_sql.starter.make import read_whole
from custext_sql.vectors.starter import open_starter
from tests.vector_samples import Matrix


def best_time(work: Callable[[], object], runs: int = 3) -> float:
    """Seconds of the fastest of several runs."""
    return min(_time(work) for _ in range(runs))


def best_times(works: Mapping[str, Callable[[], object]], rounds: int = 4) -> dict[str, float]:
    """The same for several, one after the other in each round, so that a slow minute of the machine meets them all."""
    times = [{name: _time(work) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in works}


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_megabytes(work: Callable[[], object]) -> float:
    """How far resident memory rises above its present level while `work` runs (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))


def real_vectors() -> tuple[list[str], Matrix]:
    """33,860 words with 300 dimensions: GloVe 840B if CUSTEXT_DATA has it, else the shipped rounding of it."""
    if folder := os.environ.get("CUSTEXT_DATA"):
        return read_whole(str(Path(folder) / "glove.840B.300d.34k.txt.gz"))
    batches = list(open_starter().batches)
    return [word for batch in batches for word in batch.words], np.concatenate([batch.vectors for batch in batches])
