"""Calls of the library that must fail, on the files of tests/secret_places.py."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from custext_sql import Sanitizer, connect, load_embeddings
from custext_sql.experiments import TextAttacker
from custext_sql.experiments.bayes_attack import read_frequencies
from custext_sql.experiments.texts import read_labeled, read_sentence_polarity
from custext_sql.files.inputs.texts import stream_texts
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.contents import load_mapping
from custext_sql.store.key_files import read_key_file


@cache
def _sanitizer(folder: Path, key_file: str | None = None) -> Sanitizer:
    return Sanitizer.load(folder / "custext.duckdb", key_file=key_file)


def _pipeline(folder: Path, **config: Any) -> Any:
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(folder / "custext.duckdb"), **config})
    return nlp


def _sanitize_twice(folder: Path, text: str) -> None:
    nlp = _pipeline(folder)
    nlp.get_pipe("custext")(nlp(text))


def _give_a_record(folder: Path, text: str) -> None:
    nlp = _pipeline(folder, key_file="good.key")
    doc = nlp.make_doc(text)
    doc._.custext_record = {text: text}
    nlp.get_pipe("custext")(doc)


def _choose_tokens(folder: Path, text: str, choose: Callable[[Any], object]) -> None:
    from spacy_plugin.component import CusText

    CusText(database=str(folder / "custext.duckdb"), sensitive=choose)(_pipeline(folder).make_doc(text))


def _read_by_arrow(folder: Path, text: str) -> None:
    query = "SELECT CASE WHEN range = 299999 THEN error($text) ELSE 'x' END FROM range(300000)"
    with connect(folder / "custext.duckdb") as connection, safe_errors(query):
        for _ in connection.sql(query, params={"text": text}).to_arrow_reader(1 << 16):
            pass


# Calls of the library, made in the folder of the files.
CALLS: dict[str, Callable[[Path, str], object]] = {
    "bytes": lambda folder, text: _sanitizer(folder).sanitize(text.encode()),  # type: ignore[arg-type]
    "a number among texts": lambda folder, text: _sanitizer(folder).sanitize_batch([text, 1]),
    "bytes in UTF-16": lambda folder, text: _sanitizer(folder).sanitize_batch([text.encode("utf-16")]),
    "half a surrogate pair": lambda folder, text: _sanitizer(folder).sanitize_batch([text, text + "\ud800"]),
    "a text for a list": lambda folder, text: _sanitizer(folder).sanitize_batch(text),
    "a dictionary": lambda folder, text: _sanitizer(folder).sanitize_batch({text: text}),
    "a set": lambda folder, text: _sanitizer(folder).sanitize_batch({text}),
    "lists": lambda folder, text: _sanitizer(folder).sanitize_batch([[text]]),
    "structs of Arrow": lambda folder, text: _sanitizer(folder).sanitize_batch(pa.array([{text: text}])),
    "times of Arrow": lambda folder, text: _sanitizer(folder).sanitize_batch(pa.array([1], pa.timestamp("s", text))),
    "bytes of Arrow": lambda folder, text: _sanitizer(folder).sanitize_batch(pa.array([text.encode()])),
    "NumPy's bytes": lambda folder, text: _sanitizer(folder).sanitize_batch(np.array([text.encode()])),
    "NumPy's objects": lambda folder, text: _sanitizer(folder).sanitize_batch(np.array([text, 1], dtype=object)),
    "NumPy's records": lambda folder, text: _sanitizer(folder).sanitize_batch(np.array([(1,)], dtype=[("a", "i4")])),
    "NumPy's tables": lambda folder, text: _sanitizer(folder).sanitize_batch(np.array([[text]])),
    "pandas's objects": lambda folder, text: _sanitizer(folder).sanitize_batch(pd.Series([text, 1], name=text)),
    "pandas's tables": lambda folder, text: _sanitizer(folder).sanitize_batch(pd.DataFrame({text: [text]})),
    "polars's structs": lambda folder, text: _sanitizer(folder).sanitize_batch(pl.Series(text, [{text: text}])),
    "texts for eps": lambda folder, text: _sanitizer(folder).sanitize_batch([text], [text]),  # type: ignore[list-item]
    "a text for eps": lambda folder, text: _sanitizer(folder).sanitize(text, text),  # type: ignore[arg-type]
    "a text for plus": lambda folder, text: _sanitizer(folder).sanitize(text, 1.0, text),  # type: ignore[arg-type]
    "too many eps": lambda folder, text: _sanitizer(folder).sanitize_batch([text], [1.0, 2.0]),
    "a record without a key": lambda folder, text: _sanitizer(folder).sanitize(text, record=text),
    "no record": lambda folder, text: _sanitizer(folder, "good.key").sanitize(text),
    "a missing record": lambda folder, text: _sanitizer(folder, "good.key").sanitize_batch(
        [text, text], records=[text, None]
    ),
    "a number for a record": lambda folder, text: _sanitizer(folder, "good.key").sanitize_batch(
        [text, text], records=[text, 1]
    ),
    "too few records": lambda folder, text: _sanitizer(folder, "good.key").sanitize_batch([text, text], records=[text]),
    "an unknown word": lambda folder, text: _sanitizer(folder).distribution(text),
    "a word to inspect": lambda folder, text: _sanitizer(folder).inspect(text),
    "half a surrogate pair to trace": lambda folder, text: _sanitizer(folder).trace(text + "\ud800"),
    "outputs of another text": lambda folder, text: TextAttacker(_sanitizer(folder)).guess(text, [text] * 99),
    "an output that is not one": lambda folder, text: TextAttacker(_sanitizer(folder)).guess("alice", [text]),
    "an unknown word to guess": lambda folder, text: TextAttacker(_sanitizer(folder)).guess_word(text),
    "chances of an unknown word": lambda folder, text: TextAttacker(_sanitizer(folder)).find_chances(text),
    "draws of an unknown word": lambda folder, text: TextAttacker(_sanitizer(folder)).count_draws(text),
    "only the attacked text is public": lambda folder, text: TextAttacker(
        _sanitizer(folder), public=[f"alice {text}"]
    ).expect(f"alice {text}"),
    "a comparison": lambda folder, text: _sanitizer(folder).compare([text, 1]),
    "a release": lambda folder, text: _sanitizer(folder).release([text, 1]),
    "a Doc once more": _sanitize_twice,
    "a Doc without a record": lambda folder, text: _pipeline(folder, key_file="good.key")(text),
    "a Doc with another record": _give_a_record,
    "choices that are texts": lambda folder, text: _choose_tokens(folder, text, lambda doc: [text] * len(doc)),
    "choices that are one text": lambda folder, text: _choose_tokens(folder, text, lambda doc: text),
    "too many choices": lambda folder, text: _choose_tokens(folder, text, lambda doc: [True] * (len(doc) + 1)),
    "rows that Arrow reads": lambda folder, text: list(stream_texts("late.jsonl", "body")),
    "rows that Arrow reads from a query": _read_by_arrow,
    "lines in another encoding": lambda folder, text: list(stream_texts("latin.txt", None)),
    "a file without a header": lambda folder, text: read_labeled("headless.csv", ["sentence"], "label"),
    "keys": lambda folder, text: read_labeled("keys.jsonl", ["sentence"], "label"),
    "a corpus": lambda folder, text: read_sentence_polarity("cut.zip"),
    "an empty zip file instead of a corpus": lambda folder, text: read_sentence_polarity("empty.zip"),
    "frequencies": lambda folder, text: read_frequencies("prior.txt", load_mapping(folder / "custext.duckdb")),
    "a key": lambda folder, text: read_key_file("text.key"),
    "vectors": lambda folder, text: load_embeddings(folder / "custext.duckdb", "header.npz", name="new"),
    "a vocabulary": lambda folder, text: load_embeddings(
        folder / "custext.duckdb", "vectors.txt", name="new", vocabulary="latin.txt"
    ),
}
