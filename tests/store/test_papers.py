"""What a run writes beside the text reveals nothing more about the originals."""

import hashlib
import json
import stat
from dataclasses import fields
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql.cli import main
from custext_sql.errors import DatabaseError
from custext_sql.experiments.measurements import digest_texts, read_measurements
from custext_sql.replacing.receipt import Receipt
from custext_sql.store import digests
from custext_sql.store.digests import TextDigest, secret_path
from custext_sql.store.ledger import table as ledger
from tests.processes import hold_open

SECRET = "alice loves bob"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(f"id,body\n1,{SECRET}\n2,carol\n")
    return path


@pytest.mark.slow
def test_words_that_drew_themselves_are_told_to_the_operator_alone(
    mapped_db: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one word, released once, that count says whether the output equals the input."""
    assert "sampled_unchanged" in {field.name for field in fields(Receipt)}  # for Python and the terminal only
    assert "sampled_unchanged" not in run("--db", mapped_db, "sanitize", "alice", "--json").output
    done = run("--db", mapped_db, "sanitize", texts, tmp_path / "out.csv", "--column", "body", "--json")
    assert "sampled" in json.loads(done.stdout)["receipt"] and "sampled_unchanged" not in done.output
    monkeypatch.setattr(ledger, "_PATIENCE", 0.3)
    with hold_open(mapped_db, read_only=True):
        run("--db", mapped_db, "sanitize", texts, tmp_path / "other.csv", "--column", "body")
    receipt = tmp_path / "other.csv.receipt.json"
    assert "sampled" in json.loads(receipt.read_text()) and "unchanged" not in receipt.read_text()
    with duckdb.connect(mapped_db, read_only=True) as connection:
        columns = connection.execute("SELECT column_name FROM duckdb_columns()").fetchall()
    assert ("sampled",) in columns and ("sampled_unchanged",) not in columns


def test_the_operators_papers_are_for_the_operator(mapped_db: Path, texts: Path, tmp_path: Path) -> None:
    assert run("--db", mapped_db, "diff", texts, "--column", "body", "--html", tmp_path / "page.html").exit_code == 0
    assert SECRET.split()[0] in (tmp_path / "page.html").read_text()
    run("--db", mapped_db, "sanitize", texts, tmp_path / "out.csv", "--column", "body")
    assert run("--db", mapped_db, "ledger", "--export", tmp_path / "ledger.csv").exit_code == 0
    for name in ("page.html", "ledger.csv"):
        assert mode_of(tmp_path / name) == 0o600


@pytest.mark.slow
def test_a_guess_of_a_private_text_cannot_be_confirmed_from_the_database(few_db: Path, tmp_path: Path) -> None:
    data = tmp_path / "texts.txt"
    data.write_text(f"{SECRET}\n")
    for arguments in (
        ["attack", "mask", "--model", "ngram", "--public", data, data, "--eps", "1"],
        ["attack", "bayes", "--eps", "1", "--public", data],
        ["choose", data, "--max-attack", "0.99"],
    ):
        result = run("--db", few_db, *arguments)
        assert result.exit_code == (1 if "choose" in arguments else 0), result.output  # no eps stays within the bound
    rows = [one for one in read_measurements(few_db) if one.subject.digest is not None]
    assert len(rows) > 3
    known = {one.subject.digest for one in rows}
    read = next(text for text in (SECRET, f"{SECRET}\n") if digest_texts([text]) in known)
    content = read.encode()  # the same user finds it again
    plain = {
        hashlib.sha256(content).hexdigest(),
        hashlib.sha256(b"%d:" % len(content) + content).hexdigest(),
        hashlib.blake2b(b"%d:" % len(content) + content, digest_size=32, person=b"custext texts").hexdigest(),
    }
    assert plain.isdisjoint(str(one.subject.digest) for one in rows)
    stored = few_db.read_bytes()
    assert not any(digest.encode() in stored for digest in plain)
    assert bytes.fromhex(secret_path().read_text()) not in stored and secret_path().read_bytes() not in stored


def test_the_secret_is_made_once_and_for_its_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = digest_texts([SECRET])
    assert mode_of(secret_path()) == 0o600 and len(secret_path().read_text()) == 64
    digests._read_secret.cache_clear()
    assert digest_texts([SECRET]) == before
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    assert digest_texts([SECRET]) != before
    for wrong in ("", "short", "ab" * 31):
        secret_path().write_text(wrong)
        digests._read_secret.cache_clear()
        with pytest.raises(DatabaseError, match="expected 64 hexadecimal digits"):
            TextDigest()
    assert [path.name for path in secret_path().parent.iterdir()] == ["digest.secret"]


def test_no_two_pieces_pass_for_one() -> None:
    assert digest_texts(["ab", "c"]) != digest_texts(["a", "bc"]) != digest_texts(["abc"])
