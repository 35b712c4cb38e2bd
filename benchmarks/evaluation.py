"""Reproduces Table 1 of the paper on NLTK's sentence polarity (all mechanisms, three eps, three seeds) and times it."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from custext_sql import build_mapping, load_embeddings

LIMIT = 600.0  # seconds that all of it may take on two cores


def main() -> None:
    data = os.environ.get("CUSTEXT_DATA")
    corpus = "sentence_polarity" if data is None else str(Path(data) / "sentence_polarity.zip")
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "custext.duckdb"
        source = "starter" if data is None else Path(data) / "glove.840B.300d.34k.txt.gz"
        load_embeddings(database, source, name="glove")
        build_mapping(database, embedding="glove", k=20)
        evaluate = ["evaluate", "utility", "--corpus", corpus, "--eps", "1,2,3", "--seeds", "3"]
        started = time.monotonic()
        result = subprocess.run(
            [sys.executable, "-m", "custext_sql", "--db", str(database), *evaluate],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print("\ncustext evaluate utility --corpus sentence_polarity --eps 1,2,3 --seeds 3")
    print("  " + "\n  ".join(result.stdout.rstrip().splitlines()))
    print(f"  {seconds:.0f} s (limit: {LIMIT:.0f} s), peak resident memory {peak:.0f} MB")
