"""Times `custext sanitize TEXT`, a process from start to end, by the number of words in the mapping.

Beside it: processes that only start Python with the command line, or with the libraries that every run needs.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from custext_sql.mapping.mapping import Mapping, MappingInfo, digest_ranks, fingerprint
from custext_sql.mapping.similarity import STEPS
from custext_sql.store.database_files import writing_file
from custext_sql.store.mappings import save_mapping

K = 20
COUNTS = (34_000, 100_000, 321_000)  # multiples of K
RUNS = 10
TEXT = "My doctor in Boston said the surgery went well."
_SYLLABLES = ("ba", "che", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "er", "ing", "al")


def main() -> None:
    print(f"\none text at the command line, best of {RUNS} runs, in seconds   elapsed  processor")
    with tempfile.TemporaryDirectory() as name:
        os.environ["PYTHONPYCACHEPREFIX"] = str(
            Path(name) / "compiled"
        )  # modules are compiled once, as in an installation
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        _print_times("python with the libraries: numpy, pyarrow, duckdb", ["-c", "import numpy, pyarrow, duckdb"])
        _print_times("python with the command line: custext_sql.cli", ["-c", "import custext_sql.cli"])
        for count in COUNTS:
            path = Path(name) / f"{count}.duckdb"
            started = time.perf_counter()
            _save_made_up_mapping(path, count)
            stored = time.perf_counter() - started
            command = ["-m", "custext_sql", "--db", str(path), "sanitize", TEXT]
            _print_times(f"custext sanitize TEXT, {count:,} words", command)
            size = path.stat().st_size / 1e6
            print(
                f"    making and storing that mapping took {stored:.1f} s; the database has {size:.0f} MB", flush=True
            )


def _print_times(what: str, arguments: Sequence[str]) -> None:
    elapsed, processor = [], []
    for _ in range(RUNS):
        before, started = _processor_time(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        elapsed.append(time.perf_counter() - started)
        processor.append(_processor_time() - before)
    print(f"  {what:<54}{min(elapsed):12.2f}{min(processor):11.2f}", flush=True)


def _processor_time() -> float:
    """Return the time that child processes have spent on all processors, which other programs hardly change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _save_made_up_mapping(path: Path, count: int) -> None:
    """Store a mapping of made-up words with random groups and scores, which take as long to open as any others."""
    rng = np.random.default_rng(0)
    words = dict.fromkeys(["my", "doctor", "in", "boston", "said", "the", "surgery", "went", "well"])
    while len(words) < count:
        for parts in rng.integers(0, len(_SYLLABLES), size=(count - len(words), 6)).tolist():
            words["".join(_SYLLABLES[part] for part in parts[: 2 + parts[0] % 5]) + ("é" if parts[1] == 0 else "")] = (
                None
            )
    order = rng.permutation(count)
    listed = list(words)
    ordered = tuple(listed[place] for place in order.tolist())
    sizes = np.full(count // K, K)
    scores = rng.integers(-STEPS, 1, size=int((sizes**2).sum()), dtype=np.int32)
    info = MappingInfo(
        name="made-up",
        embedding="none",
        embedding_sha256="",
        measure="euclidean",
        larger_is_closer=False,
        k=K,
        grouping="greedy",
        normalization="group",
        pivot_order="file",
        seed=None,
        stopword_language=None,
        word_limit=None,
        words=count,
        group_count=len(sizes),
        left_out=0,
        ranks_sha256=digest_ranks(order),
        fingerprint=fingerprint(ordered, sizes, scores),
        created_at=datetime(2026, 1, 1),
    )
    with writing_file(path) as connection:
        save_mapping(connection, Mapping(info, ordered, sizes, scores, order))


if __name__ == "__main__":
    main()
