"""What a run writes beside the text reveals nothing more about the originals."""

import json
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from custext_sql.cli import main
from custext_sql.sanitizer.receipt import Receipt

SECRET = "alice loves bob"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_words_that_drew_themselves_are_told_to_the_operator_alone(mapped_db: Path, tmp_path: Path) -> None:
    """For one word, released once, that count says whether the output equals the input."""
    assert "replaced_unchanged" in {field.name for field in fields(Receipt)}  # for Python and the terminal only
    told = json.loads(run("--db", mapped_db, "sanitize", "alice", "--json").stdout)["receipt"]
    assert run("--db", mapped_db, "ledger", "--export", tmp_path / "ledger.json").exit_code == 0
    [exported] = json.loads((tmp_path / "ledger.json").read_text())
    assert "replaced" in told.keys() & exported.keys() and "unchanged" not in f"{told}{exported}"
    with closing(sqlite3.connect(mapped_db.with_suffix(".ledger.sqlite"))) as connection:
        [(counts,)] = connection.execute("SELECT counts FROM custext_releases")
    assert "replaced" in json.loads(counts) and "unchanged" not in counts


@pytest.mark.slow
def test_experiments_write_nothing_about_private_texts(few_db: Path, tmp_path: Path, own_home: Path) -> None:
    """Neither to the database nor elsewhere, so nobody can confirm a guess of a text there."""
    data, labeled = tmp_path / "texts.txt", tmp_path / "labeled.csv"
    data.write_text(f"{SECRET}\n")
    labeled.write_text("body,label\n" + "".join(f"{SECRET} {word},{word}\n" for word in ("good", "bad")))
    before = few_db.read_bytes()
    train = ["--train", labeled, "--test", labeled, "--text", "body", "--seeds", "1", "--eps", "1"]
    for arguments in (
        ["attack", "mask", "--model", "ngram", "--public", data, data, "--eps", "1"],
        ["attack", "bayes", "--eps", "1", "--public", data],
        ["attack", "context", data, "--public", labeled, "--public-column", "body", "--eps", "1"],
        ["attack", "query", "--sample", "2", "--trials", "100"],
        ["choose", data, "--k", "20"],
        ["report", data],
        ["evaluate", "utility", *train, "--mechanisms", "custext"],
        ["evaluate", "tradeoff", *train],
    ):
        result = run("--db", few_db, *arguments)
        assert result.exit_code == (1 if "choose" in arguments else 0), result.output  # no eps stays within the bound
    assert few_db.read_bytes() == before
    files = [path for path in [*tmp_path.rglob("*"), *own_home.rglob("*")] if path.is_file()]
    assert sorted(files) == sorted([few_db, data, labeled])
