"""Every command that keeps stopwords in a release, or shows one before, takes their language."""

import json
from pathlib import Path

import pytest

from custext_sql.store.database import writing
from custext_sql.store.rows.stopwords import write_stopwords
from tests.release.test_data_files import db, folder, run

__all__ = ["db", "folder"]  # fixtures
GERMAN = ("--plus", "--language", "german")


@pytest.fixture(autouse=True)
def german(db: Path) -> None:
    with writing(db) as connection:
        write_stopwords(connection, "german", ["bob"], "a test")


def test_a_release_keeps_the_stopwords_of_its_language(folder: Path) -> None:
    assert run("sanitize", "bob the", *GERMAN).stdout == "bob <unk>\n"
    assert run("sanitize", "zzyzxa the", "--plus").stdout == "<unk> the\n"
    (folder / "in.txt").write_text("bob\n")
    assert run("sanitize", "in.txt", "out.txt", *GERMAN).exit_code == 0
    assert (folder / "out.txt").read_text() == "bob\n"


def test_previews_use_the_same_stopwords(folder: Path) -> None:
    (folder / "in.txt").write_text("bob the\n")
    assert "1 stopword, kept" in run("diff", "in.txt", *GERMAN).output
    found = json.loads(run("leaks", "in.txt", *GERMAN, "--json").stdout)
    assert (found["stopwords"], found["replaced"]) == (1, 0)


def test_a_key_and_an_audit_use_the_same_stopwords(folder: Path) -> None:
    assert "stopwords    german, digest " in run("keygen", "own.key", *GERMAN).output
    assert "stopwords    english, digest " in run("keygen", "other.key", "--plus").output
    assert json.loads(run("audit", *GERMAN, "--json").stdout)["hides_among"] == 3
    assert json.loads(run("audit", "--plus", "--json").stdout)["hides_among"] == 4
    refused = run("audit", "--plus", "--language", "klingon")
    assert refused.exit_code == 1 and "no stopwords for 'klingon'" in refused.output
