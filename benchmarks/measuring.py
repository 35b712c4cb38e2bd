"""Measures times and peak memory, and provides the vectors, for all benchmarks."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from custext_sql.vectors.starter import FIRST_WORDS, open_starter
from tests.vector_samples import Matrix
from tools.starter.make import read_whole


def best_time(work: Callable[[], object], runs: int = 3) -> float:
    """Return the seconds that the fastest of several runs took."""
    return min(_time(work) for _ in range(runs))


def best_times(works: Mapping[str, Callable[[], object]], rounds: int = 4) -> dict[str, float]:
    """Return the best time of each work, in seconds. Each round runs them all, so that a slow minute affects all."""
    times = [{name: _time(work) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in works}


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_megabytes(work: Callable[[], object]) -> float:
    """Return how many MB resident memory rises above its current level while `work` runs (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))


def real_vectors() -> tuple[list[str], Matrix]:
    """Return 33,860 words and their 300 dimensions: GloVe 840B from CUSTEXT_DATA, else its shipped rounding."""
    if folder := os.environ.get("CUSTEXT_DATA"):
        return read_whole(str(Path(folder) / "glove.840B.300d.34k.txt.gz"))
    batches = list(open_starter().batches)
    words = [word for batch in batches for word in batch.words]
    return words[:FIRST_WORDS], np.concatenate([batch.vectors for batch in batches])[:FIRST_WORDS]
