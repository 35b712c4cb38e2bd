"""Measures what units cost: on ordinary texts, on texts full of units, and on texts made to slow the search down."""

import json
import os
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.measuring import best_time, best_times
from benchmarks.sanitizing import read_corpora
from custext_sql import Policy, Sanitizer
from custext_sql.store.building import load_starter
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import EncodedText
from custext_sql.text.units import find_units
from custext_sql.text.word_boundaries import find_parts
from tests.text.hostile_texts import PIECES, make_hostile

COPIES = 20
SIZES = (250_000, 500_000, 1_000_000)  # characters


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        load_starter(Path(name) / "custext.duckdb")
        sanitizers = {
            units: Sanitizer.load(Path(name) / "custext.duckdb", policy=Policy(units=units))
            for units in ("keep", "mask")
        }
    sentences, reviews = read_corpora()
    corpora = {"sentences": sentences, "reviews": reviews}
    if folder := os.environ.get("CUSTEXT_DATA"):
        synthetic = json.loads((Path(folder) / "pii_presidio_synth.json").read_text(encoding="utf-8"))
        corpora["texts full of units"] = [one["full_text"] for one in synthetic] * COPIES
    print("\nunits, in million words/s on one thread: treated as words, masked, and what masking costs")
    for title, texts in corpora.items():
        column = open_column(texts)[0]
        words = sanitizers["keep"].release(texts, 1.0)[1].words / 1e6
        seconds = best_times(
            {units: partial(one.sanitize_column, column, 1.0, False) for units, one in sanitizers.items()},
            rounds=7,
        )
        cost = seconds["mask"] / seconds["keep"] - 1
        print(f"  {title:<20} {words / seconds['keep']:6.2f} {words / seconds['mask']:6.2f} {cost:7.1%}", flush=True)
    print(f"\nsearch in hostile texts of {', '.join(f'{size:,}' for size in SIZES)} characters, in ns per character")
    for title, piece in PIECES.items():
        costs = [best_time(Search(make_hostile(piece, size)).run) / size * 1e9 for size in SIZES]
        print(f"  {title:<38} {'  '.join(f'{cost:6.1f}' for cost in costs)}", flush=True)


class Search:
    """The search for units in one text."""

    def __init__(self, text: str) -> None:
        column = open_column([text])[0]
        self._text, self._offsets = EncodedText(column.text), column.offsets
        self._parts = find_parts(self._text, self._offsets)

    def run(self) -> None:
        find_units(self._text, self._offsets, self._parts.starts, self._parts.ends)
