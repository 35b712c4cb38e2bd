"""Tables with every kind of text: empty, NULL, in several scripts, with numbers and unknown words."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_TEXT = """
    a the and of not was good bad great film movie actor story plot ending alice robert paris london doctor fever
    brilliant boring music children war love 1984 42 quxxly can't it's Movie FILM café naïve 東京 straße \U0001f600
"""
_SPECIAL = ["", " ", "!?", "\u200bgood\u200b film", "e-mail: a.b@example.org", "line\nbreak\ttab", "x" * 5000]
FILES = 8


def write_reviews(folder: Path, rows: int) -> Path:
    """Write a table to several Parquet files in the folder, and return the folder."""
    rng = np.random.default_rng(17)
    words = _TEXT.split()
    texts = [" ".join(rng.choice(words, size)) for size in rng.integers(1, 25, 2000)] + _SPECIAL
    body = pa.array(texts).take(rng.integers(0, len(texts), rows))
    body = pa.compute.if_else(pa.array(rng.random(rows) < 0.01), None, body)
    title = pa.array(texts).take(rng.integers(0, 200, rows))
    table = pa.table({"id": np.arange(rows), "body": body, "title": title, "stars": rng.integers(1, 6, rows)})
    for number in range(FILES):
        first, last = number * rows // FILES, (number + 1) * rows // FILES
        pq.write_table(table.slice(first, last - first), folder / f"part-{number}.parquet")
    return folder


def read_rows(folder: Path) -> list[tuple[Any, ...]]:
    """Return the rows of Parquet files, by ID."""
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT id, body, title, stars FROM '{folder}/*.parquet' ORDER BY id").fetchall()


def list_left(folder: Path) -> list[str]:
    """Return the names of everything in a folder."""
    return sorted(path.name for path in folder.iterdir())
