"""With a key, the same record and text give the same bytes in Python, SQL, files, tables and spaCy."""

import json
from pathlib import Path

import duckdb
import pytest
import spacy

from custext_sql import Policy, Sanitizer, connect, make_key
from tests.files.test_data_files import db, folder, run

__all__ = ["db", "folder"]  # fixtures

TEXTS = [
    "Alice met Bob; carol, they said",
    "Alice met Bob; carol, they said",  # the same text under another record
    "al\u200bice \u00adbob\u202e",  # with characters that the policy drops: they are part of the text that draws
    "alice bob",
    "dave\nerin\tfrank  ",
    "Zzyzxa zq 12345 and 678 ivan's 9",
    "l’été ﬁsh \U0001f600 ٣٤ O'Brien",
    "the",
    "",
    "grace " * 300,
]
POLICY = Policy(unknown="random", numbers="shape")


@pytest.fixture
def key(db: Path, tmp_path: Path) -> Path:
    make_key(tmp_path / "key", db, eps=1.0, plus=True, policy=POLICY)
    return tmp_path / "key"


def test_the_same_record_and_text_give_the_same_bytes_everywhere(db: Path, folder: Path, key: Path) -> None:
    records = [f"body:{number}" for number in range(len(TEXTS))]
    sanitizer = Sanitizer.load(db, key_file=key)
    expected = sanitizer.sanitize_batch(TEXTS, records=records)
    assert len(expected[5].split()) == 7
    for copies in (1, 20):  # a few rows, and many
        assert sanitizer.sanitize_batch(TEXTS * copies, records=records * copies) == expected * copies
    assert [sanitizer.sanitize(text, record=record) for text, record in zip(TEXTS, records, strict=True)] == expected
    released, _ = sanitizer.release(TEXTS, records=records)
    assert released == expected
    pieces = sanitizer.compare(TEXTS, records=records)
    assert ["".join(piece.after for piece in row) for row in pieces] == expected
    assert sanitizer.trace(TEXTS[0], record=records[0]).after == expected[0]

    with connect(db, key_file=key) as connection:
        connection.execute(
            "CREATE TEMP TABLE t AS SELECT unnest(?) AS id, unnest(?) AS body", [[*range(len(TEXTS))], TEXTS]
        )
        rows = connection.execute("SELECT custext_sanitize_keyed(body, 'body:' || id) FROM t ORDER BY id").fetchall()
    assert [text for (text,) in rows] == expected

    lines = [json.dumps({"id": number, "body": text}) for number, text in enumerate(TEXTS)]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, body VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [list(row) for row in enumerate(TEXTS)])
        connection.execute("COPY t TO 'in.parquet' (FORMAT parquet)")
    options = ("--column", "body", "--key-file", key, "--record-column", "id", "--reuse-key")
    for source, target in (("in.parquet", "out.parquet"), ("in.jsonl", "out.parquet")):
        result = run("sanitize", source, target, *options, "--force")
        assert result.exit_code == 0, result.output
        with duckdb.connect() as connection:
            found = connection.execute(f"SELECT body FROM '{target}' ORDER BY id").fetchall()
        assert [text for (text,) in found] == expected

    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(db), "key_file": str(key)})
    docs = []
    for text, record in zip(TEXTS, records, strict=True):
        doc = nlp.make_doc(text)
        doc._.custext_record = record
        docs.append(doc)
    assert [doc._.custext for doc in nlp.pipe(docs)] == expected


def test_records_are_the_same_whatever_the_output_format(db: Path, folder: Path, key: Path) -> None:
    (folder / "in.csv").write_text("id,key,body\n5,1.50,alice bob carol\n6,2024-01-05T10:00:00,alice bob carol\n")
    options, found = ("--column", "body", "--key-file", key, "--record-column", "key", "--reuse-key"), set()
    for target in ("a.csv", "b.jsonl", "c.parquet"):
        assert run("sanitize", "in.csv", target, *options).exit_code == 0
        with duckdb.connect() as connection:
            found.add(tuple(connection.execute(f"SELECT body FROM '{target}' ORDER BY id").fetchall()))
    assert len(found) == 1
    for content, message in (
        ("id,key,body\n1,a,alice\n2,a,bob\n", "1 value of column 'key' occurs more than once; IDs must be unique"),
        ("id,key,body\n1,,alice\n", "column 'key' is NULL in 1 row; every row needs an ID"),
    ):
        (folder / "wrong.csv").write_text(content)
        assert f"wrong.csv: {message}" in run("sanitize", "wrong.csv", "x.csv", *options).output


def test_a_seed_repeats(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_text("alice bob carol\n" * 80_000)  # more than one block
    with duckdb.connect() as connection:
        connection.execute("COPY (SELECT 'alice bob' AS body FROM range(130000)) TO 'in.parquet' (FORMAT parquet)")
    for source, options in (("in.txt", []), ("in.parquet", ["--column", "body"])):
        found = set()
        for number in range(2):
            target = folder / f"out{number}{Path(source).suffix}"
            assert run("sanitize", source, target, *options, "--seed", "1").exit_code == 0
            found.add(target.read_bytes())
        assert len(found) == 1
