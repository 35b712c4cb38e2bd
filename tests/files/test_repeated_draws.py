"""Files that are released twice with the same key or seed give the same output."""

import json
from pathlib import Path

import duckdb
import pytest

from custext_sql import Sanitizer
from tests.files.test_data_files import ROWS, db, folder, read_csv, run, write_csv

__all__ = ["db", "folder"]  # fixtures


@pytest.mark.slow
def test_keys_give_the_same_text_each_time(db: Path, folder: Path) -> None:
    write_csv(folder / "in.csv")
    assert run("keygen", "k", "--eps", "2").exit_code == 0
    keyed = ("--column", "body", "--column", "note", "--key-file", "k", "--record-column", "id")
    assert run("sanitize", "in.csv", "one.csv", *keyed).exit_code == 0
    assert run("sanitize", "in.csv", "two.csv", *keyed).exit_code == 0
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()
    sanitizer = Sanitizer.load(db, key_file="k")
    expected = [sanitizer.sanitize(row[1], record=f"body:{row[0]}") for row in ROWS if row[1]]
    assert [row[1] for row in read_csv(folder / "one.csv") if row[1]] == expected
    (folder / "other.csv").write_text(
        "id,key,body\n5,1.50,alice bob carol dave\n6,2024-01-05T10:00:00,alice bob carol\n"
    )
    found = {}
    for target in ("a.csv", "b.jsonl", "c.parquet"):
        options = ("--column", "body", "--key-file", "k", "--record-column", "key", "--reuse-key")
        assert run("sanitize", "other.csv", target, *options).exit_code == 0
        with duckdb.connect() as connection:
            found[target] = connection.execute(f"SELECT body FROM '{target}' ORDER BY id").fetchall()
    assert found["a.csv"] == found["b.jsonl"] == found["c.parquet"]  # the same records, whatever the output format
    (folder / "objects.jsonl").write_text('{"key": "x", "body": "alice bob carol dave"}\n')
    assert run("sanitize", "objects.jsonl", "d.jsonl", *options).exit_code == 0
    by_hand = sanitizer.sanitize("alice bob carol dave", record="body:x")
    assert json.loads((folder / "d.jsonl").read_text())["body"] == by_hand
    (folder / "twice.csv").write_text("id,body\n1,alice\n1,bob\n2,x\n")
    (folder / "none.csv").write_text("id,body\n1,alice\n,bob\n")
    for name, message in (
        ("twice", "twice.csv: 1 value of column 'id' occurs more than once; IDs must be unique"),
        ("none", "none.csv: column 'id' is NULL in 1 row; every row needs an ID"),
    ):
        wrong = run("sanitize", f"{name}.csv", "x.csv", *options[:4], "--record-column", "id", "--reuse-key")
        assert message in wrong.output and not (folder / "x.csv").exists()
    assert "this key is for eps = 2" in run("sanitize", "in.csv", "x.csv", *keyed, "--eps", "1").output
    assert "need a column of IDs, one per row: --record-column" in run("sanitize", "in.csv", "x.csv", *keyed[:6]).output
    assert "plain text has no columns" in run("sanitize", "alice", "--key-file", "k").output


@pytest.mark.slow
def test_a_seed_repeats(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_text("alice bob carol\n" * 300_000)
    with duckdb.connect() as connection:
        connection.execute("COPY (SELECT 'alice bob' AS body FROM range(400000)) TO 'in.parquet' (FORMAT parquet)")
    for source, options in (("in.txt", []), ("in.parquet", ["--column", "body"])):
        found = []
        for number in range(2):
            target = folder / f"out{number}{Path(source).suffix}"
            assert run("sanitize", source, target, *options, "--seed", "1").exit_code == 0
            found.append(target.read_bytes())
        assert found[0] == found[1]
