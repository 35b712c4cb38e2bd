"""The command `custext diff` shows rows before and after, word by word."""

import json
from pathlib import Path

import pytest

from custext_sql import Sanitizer
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures

NUMBER = "12345" * 5  # too long for a unit, and to be drawn by chance


@pytest.fixture
def reviews(folder: Path) -> Path:
    (folder / "in.csv").write_text(f'id,body\n1,"The alice\'s Zzyzxa, {NUMBER}!"\n2,\n3,bob <b>\n4,carol\n')
    return folder / "in.csv"


def test_words_are_shown_by_what_became_of_them(db: Path, reviews: Path) -> None:
    shown = run("diff", "in.csv", "--column", "body", "--rows", "3", "--plus").output
    assert f"- The alice's Zzyzxa, {NUMBER}!\n+ The " in shown and shown.count("- ") == 3
    assert "'s <unk>, <num>!\n" in shown and " <<unk>>\n" in shown
    assert "2 replaced" in shown and "2 unknown words" in shown and "1 number" in shown
    assert "1 stopword kept" in shown and "1 ending kept" in shown
    assert "2 of 7 words in the clear (29%)" in shown  # The and 's
    shown = run("diff", "in.csv", "--column", "body", "--rows", "3", "--plus", "--policy", "paper").output
    assert "'s Zzyzxa, " in shown and " <b>\n" in shown and f"{NUMBER}!" not in shown.split("+ The ")[1].split("\n")[0]
    assert "4 of 7 words in the clear (57%)" in shown  # The, 's, Zzyzxa and b
    assert list_releases(db) == []


def test_null_is_no_empty_text(db: Path, folder: Path) -> None:
    (folder / "null.csv").write_text('id,body\n1,\n2,""\n')
    shown = run("diff", "null.csv", "--column", "body").output
    assert shown == "- NULL\n+ NULL\n\n- \n+ \n\nThe texts have no words.\n"
    missing, empty = json.loads(run("diff", "null.csv", "--column", "body", "--json").stdout)
    assert (missing["before"], missing["after"]) == (None, None)
    assert (empty["before"], empty["after"]) == ("", "")
    run("diff", "null.csv", "--column", "body", "--html", "null.html")
    page = (folder / "null.html").read_text()
    assert page.count("row 1: NULL") == 1 and page.count("NULL") == 1


@pytest.mark.parametrize("policy", ["strict", "paper"])
def test_json_gives_every_word(db: Path, reviews: Path, policy: str) -> None:
    options = () if policy == "strict" else ("--policy", policy)
    shown = run("diff", "in.csv", "--column", "body", "--plus", "--json", *options).stdout
    first, second, third, fourth = json.loads(shown)
    assert first["before"] == f"The alice's Zzyzxa, {NUMBER}!" and second["words"] == []
    kinds = [(word["before"], word["kind"], word["in_clear"]) for word in first["words"]]
    assert kinds == [
        ("The", "stopword", True),
        ("alice", "replaced", False),
        ("s", "ending", True),
        ("Zzyzxa", "unknown", policy == "paper"),
        (NUMBER, "number", False),
    ]
    assert fourth["after"] in Sanitizer.load(db).distribution("carol", 1.0)
    rebuilt = third["before"].replace("bob", third["words"][0]["after"])
    rebuilt = rebuilt if policy == "paper" else rebuilt.replace("<b>", "<<unk>>")
    assert third["after"] == rebuilt


def test_a_page_is_whole_and_its_own(db: Path, reviews: Path, folder: Path) -> None:
    assert run("diff", "in.csv", "--column", "body", "--html", "page.html").stdout == "page.html: 4 rows\n"
    page = (folder / "page.html").read_text()
    assert page.count("<article>") == 4 and "&lt;" in page and "http" not in page and "src=" not in page
    assert "page.html already exists" in run("diff", "in.csv", "--column", "body", "--html", "page.html").output


def test_lines_need_no_column(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_text("alice\r\nbob\n")
    found = json.loads(run("diff", "in.txt", "--rows", "1", "--json").stdout)
    assert [row["before"] for row in found] == ["alice"]
    assert "plain text has no columns" in run("diff", "in.txt", "--column", "x").output
    (folder / "in.csv").write_text("id,body\n1,x\n")
    assert "name the column of the texts: --column NAME" in run("diff", "in.csv").output
    wrong = run("diff", "in.csv", "--column", "bdy").output
    assert "standard input can only be sanitized" in run("diff", "-").output
    assert "column 'bdy' does not exist; the file has 2 columns, named in its first line" in wrong


def test_texts_without_words_are_said_to_have_none(db: Path, folder: Path) -> None:
    (folder / "in.csv").write_text("id,body\n")
    assert run("diff", "in.csv", "--column", "body").output == "The texts have no words.\n"
    (folder / "in.csv").write_text("id,body\n1,...\n")
    assert run("diff", "in.csv", "--column", "body").output == "- ...\n+ ...\n\nThe texts have no words.\n"


def test_pieces_put_together_are_the_texts(db: Path) -> None:
    texts = ["Alice’s naïve 12345 — don't", "", None, "bob\n\tcarol 😀"]
    for pieces, text in zip(Sanitizer.load(db).compare(texts, 1.0, True), texts, strict=True):
        assert "".join(piece.before for piece in pieces) == (text or "")
