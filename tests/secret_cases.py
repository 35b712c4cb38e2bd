"""Commands, queries and calls that must fail, on the files of tests/secret_places.py."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from custext_sql import Sanitizer, connect, load_embeddings, safe_errors
from custext_sql.experiments.attacks.priors import read_frequencies
from custext_sql.experiments.evaluation.datasets import read_labeled, read_sentence_polarity
from custext_sql.experiments.text_files import stream_texts
from custext_sql.store.key_files import read_key_file
from custext_sql.store.mappings import load_mapping

_KEYED = "--column body --key-file good.key --record-column"

# The arguments of `custext`. STRING, IDENTIFIER, NEAR, FLAT and TEXT stand for the secret: as a SQL string, as a SQL
# identifier, as a similar name, on one line, and unchanged.
COMMANDS = f"""
TEXT
'alice TEXT'
sanitize '--- TEXT'
sanitize '--TEXT'
sanitize '-x TEXT'
inspect a TEXT
attack TEXT
evaluate 'alice TEXT' more
sanitize TEXT --eps 0.0005
sanitize TEXT --eps nothing
sanitize TEXT --seed nothing
sanitize TEXT --column body
sanitize TEXT --mapping nothing
sanitize TEXT --key-file good.key
sanitize TEXT --key-file nothing.key
sanitize TEXT --max-row-eps -1
sanitize TEXT out.csv --column body
sanitize TEXT* out.csv --column body
sanitize TEXT out.txt
sanitize TEXT b c
sanitize --data shop.duckdb --table t TEXT more
sanitize 'alice TEXT' --max-row-eps 0.5
sanitize headless.csv out.csv
sanitize headless.csv out.csv --column nothing
sanitize headless.csv out.csv --column NEAR
sanitize headless.csv out.csv --column nothing --column NEAR
sanitize headless.csv out.parquet --column NEAR
sanitize headless.csv out.txt --column NEAR
sanitize cells.csv out.csv --column bdy
sanitize cells.csv out.csv {_KEYED} id
sanitize cells.csv out.csv {_KEYED} nothing
sanitize null.csv out.csv {_KEYED} id
sanitize late.csv out.parquet --column body
sanitize count.csv out.csv --column body
sanitize latin.csv out.csv --column body
sanitize headers out.csv --column body
sanitize mixed out.csv --column body
sanitize schemas out.parquet --column body
sanitize wrong.csv.gz out.csv --column body
sanitize wrong.jsonl.gz out.jsonl --column body
sanitize wrong.txt.gz out.txt
sanitize wrong.parquet out.parquet --column body
sanitize half.parquet out.parquet --column body
sanitize wrong.bin out.csv --column body
sanitize wrong.bin out.csv --column body --format json
sanitize wrong.bin out.csv --column body --format parquet
sanitize cut.txt.gz out.txt
sanitize latin.txt out.txt
sanitize words.txt out.txt --max-row-eps 0.5
sanitize keys.jsonl out.jsonl
sanitize keys.jsonl out.jsonl --column NEAR
sanitize keys.json out.json --column nothing
sanitize keys.jsonl out.jsonl --column n
sanitize nested.jsonl out.jsonl --column body
sanitize broken.jsonl out.jsonl --column body
sanitize bytes.jsonl out.jsonl --column body
sanitize twice.jsonl out.jsonl --column body
sanitize late.jsonl out.parquet --column body
sanitize headless.csv out.jsonl --column body --format json
sanitize cells.parquet out.parquet --column st
sanitize cells.parquet out.parquet {_KEYED} nothing
sanitize --data shop.duckdb --table t new --column st
sanitize --data shop.duckdb --table t new --column mp
sanitize --data shop.duckdb --table t new --column un
sanitize --data shop.duckdb --table t new --column lst
sanitize --data shop.duckdb --table t new --column NEAR
sanitize --data shop.duckdb --table t t --column txt
sanitize --data shop.duckdb --table t new --column txt --key-file good.key --record-column txt
sanitize --data shop.duckdb --table cast_view new --column body
sanitize --data shop.duckdb --table gone new --column body
sanitize --data shop.duckdb --table headless.csv new --column NEAR
sanitize --data wrong.duckdb --table t new --column body
diff TEXT --column body
diff headless.csv
diff headless.csv --column NEAR
diff keys.jsonl --column NEAR
diff nested.jsonl --column body
diff broken.jsonl --column body
diff latin.txt
diff wrong.parquet --column body
choose --max-attack 0.4 --data headless.csv --column NEAR
choose --max-attack 0.4 --data late.jsonl --column body
choose --max-attack 0.4 --prior prior.txt
choose --max-attack 0.4 --prior unknown.txt
attack bayes --public headless.csv --column NEAR
attack bayes --public keys.jsonl --column NEAR
attack bayes --public late.jsonl --column body
attack bayes --public latin.txt
attack bayes --public headless.tsv --column NEAR
attack bayes --public wrong.tsv.gz --column body
attack bayes --prior prior.txt
attack bayes --prior many.txt
attack bayes --prior latin.txt
attack bayes --prior cut.txt.gz
attack bayes --prior cut.zip
attack context --public headless.csv --data words.txt --public-column NEAR
attack context --public words.txt --data latin.txt
attack context --public words.txt --data words.txt
choose --attack context --max-attack 0.4 --public words.txt --data broken.jsonl --column body
attack query TEXT
inspect TEXT
attack mask --model ngram --data broken.jsonl --column body --public words.txt
attack mask --model ngram --data latin.txt --public words.txt
report --html out.html --data headless.csv --column NEAR
report --html out.html --data cells.csv --column bdy
evaluate utility --train headless.tsv --test headless.tsv --text NEAR
evaluate utility --train headless.csv --test headless.csv --text NEAR --label nothing
evaluate utility --train keys.jsonl --test keys.jsonl --text NEAR --label x
evaluate utility --train train.tsv --test test.tsv --text sentence
evaluate utility --train train.tsv --test unlabelled.tsv --text sentence
evaluate utility --train one.tsv --test one.tsv --text sentence
evaluate utility --train train.tsv --test latin.tsv --text sentence
evaluate utility --train train.tsv --test labels.csv --text sentence
evaluate utility --train train.tsv --test wrong.parquet --text sentence
evaluate utility --train train.tsv --test test.tsv --text sentence --text other --task similarity
evaluate utility --train broken.jsonl --test broken.jsonl --text body --label body
evaluate utility --corpus wrong.zip
evaluate utility --corpus cut.zip
evaluate utility --corpus empty.zip
load vectors.txt --name new
load ragged.txt --name new
load vectors.bin --name new --format word2vec-binary
load header.npz --name new
load kind.npz --name new
load wrong.parquet --name new --format parquet
load half.parquet --name new --format parquet
load cells.parquet --name new
load wrong.txt.gz --name new
load cut.txt.gz --name new
load cut.zip --name new
load latin.txt --name new
sanitize alice --key-file text.key
sanitize alice --key-file other.key
sanitize alice --key-file format.key
sanitize alice --key-file secret.key
sanitize alice --key-file eps.key
sanitize alice --key-file calibration.key
sanitize alice --key-file unknown.key
sanitize alice --key-file parts.key
sanitize alice --key-file mapping.key
sql 'SELECT 1' --key-file language.key
sql 'SELECT 1' --key-file check.key
sql 'SELECT 1' --data wrong.duckdb
sql 'SELECT 1' --data headless.csv
sql 'SELECT STRING AS IDENTIFIER' --output out.csv
sql "COPY (SELECT STRING) TO 'out.csv'"
sql 'SELECT txt FROM t' --data shop.duckdb --output out.parquet --json
sql 'SELECT custext_sanitize(STRING, 1, true)' --dataset ''
sanitize words.txt out.txt --budget-total 0.5
sanitize cells.csv out.csv --column body --budget-total 0.5
sanitize 'alice TEXT' --budget-total 0.5
sanitize --data shop.duckdb --table t new.more.names --column txt
--db wrong.duckdb info
--db wrong.bin sanitize alice
""".strip().splitlines()

# Commands that read standard input, and its content.
STREAMS: dict[str, Callable[[bytes], bytes]] = {
    "sanitize - -": lambda text: text + b"\xff\n",
    "sanitize - out.txt": lambda text: text + b"\xff\n",
    "sanitize - - --format csv --column NEAR": lambda text: text + b",x\n1,2\n",
    "sanitize - - --format csv --column body": lambda text: b'id,body\n1,"' + text + b'" x\n2,3,4\n5,6,7\n',
    "sanitize - - --format tsv": lambda text: text + b"\tx\n",
    "sanitize - - --format json --column body": lambda text: b'{"body": ' + text + b"\n",
    "sanitize - - --format parquet --column body": lambda text: text * 10,
}


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
    "a corpus that is none": lambda folder, text: read_sentence_polarity("empty.zip"),
    "frequencies": lambda folder, text: read_frequencies("prior.txt", load_mapping(folder / "custext.duckdb")),
    "a key": lambda folder, text: read_key_file("text.key"),
    "vectors": lambda folder, text: load_embeddings(folder / "custext.duckdb", "header.npz", name="new"),
    "a vocabulary": lambda folder, text: load_embeddings(
        folder / "custext.duckdb", "vectors.txt", name="new", vocabulary="latin.txt"
    ),
}
