"""Runs the benchmarks named on the command line, or all of them: python -m benchmarks loading grouping"""

import os
import sys
from importlib import import_module

NAMES = (
    "loading",
    "grouping",
    "opening",
    "sanitizing",
    "files",
    "ledger",
    "spark",
    "spacy_pipeline",
    "evaluation",
    "key_attack",
    "context",
    "unknown_words",
    "units",
    "identifiers",
    "better_text",
    "playground",
)


def main() -> None:
    chosen = sys.argv[1:] or NAMES
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}", flush=True)
    for name in chosen:
        if name not in NAMES:
            raise SystemExit(f"benchmark {name!r} does not exist; benchmarks: {', '.join(NAMES)}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
