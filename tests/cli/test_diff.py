"""The command diff, and the options with which every command takes texts: INPUT, or --data and --table."""

import json
from pathlib import Path

import click
import duckdb
import pytest

from custext_sql import Sanitizer
from custext_sql.cli import main
from tests.cli.test_commands import db, fail, run
from tests.ledger_entries import list_releases

__all__ = ["db"]  # a fixture

NUMBER = "12345" * 5  # too long for a unit, and to be drawn by chance
READERS = {
    "diff": ["diff"],
    "choose": ["choose", "--max-attack", "0.99"],
    "report": ["report"],
    "attack context": ["attack", "context", "--public", "public.txt", "--eps", "1"],
    "attack mask": ["attack", "mask", "--model", "ngram", "--public", "public.txt", "--eps", "1"],
}
TABLE = ["--data", "shop.duckdb", "--table", "reviews"]


@pytest.fixture(autouse=True)
def folder(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the same texts as a file and as a table, and public texts."""
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(f'id,body\n1,"The alice\'s Zzyzxa, {NUMBER}!"\n2,\n3,bob <b>\n4,carol\n')
    Path("reviews.csv").write_text("id,body\n1,alice met bob\n2,\n3,carol saw dave\n")
    Path("public.txt").write_text("erin met frank\nalice saw carol\n")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS FROM 'reviews.csv'")
    return tmp_path


def test_words_are_shown_by_what_became_of_them(db: Path) -> None:
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


def test_null_is_no_empty_text_and_neither_has_words() -> None:
    Path("null.csv").write_text('id,body\n1,\n2,""\n')
    null = ("diff", "null.csv", "--column", "body")
    assert run(*null).output == "- NULL\n+ NULL\n\n- \n+ \n\nThe texts have no words.\n"
    missing, empty = json.loads(run(*null, "--json").stdout)
    assert (missing["before"], missing["after"]) == (None, None)
    assert (empty["before"], empty["after"]) == ("", "")
    run(*null, "--html", "null.html")
    page = Path("null.html").read_text()
    assert page.count("row 1: NULL") == 1 and page.count("NULL") == 1
    Path("null.csv").write_text("id,body\n")
    assert run(*null).output == "The texts have no words.\n"


@pytest.mark.parametrize("policy", ["strict", "paper"])
def test_json_gives_every_word(db: Path, policy: str) -> None:
    shown = run("diff", "in.csv", "--column", "body", "--plus", "--json", "--policy", policy).stdout
    first, second, third, fourth = json.loads(shown)
    assert first["before"] == f"The alice's Zzyzxa, {NUMBER}!" and second["words"] == []
    assert [(word["before"], word["kind"], word["in_clear"]) for word in first["words"]] == [
        ("The", "stopword", True),
        ("alice", "replaced", False),
        ("s", "ending", True),
        ("Zzyzxa", "unknown", policy == "paper"),
        (NUMBER, "number", False),
    ]
    assert fourth["after"] in Sanitizer.load(db).distribution("carol", 1.0)
    rebuilt = third["before"].replace("bob", third["words"][0]["after"])
    assert third["after"] == (rebuilt if policy == "paper" else rebuilt.replace("<b>", "<<unk>>"))


def test_a_page_is_whole_and_its_own() -> None:
    page = ("diff", "in.csv", "--column", "body", "--html", "page.html")
    assert run(*page).stdout == "page.html: 4 rows\n"
    written = Path("page.html").read_text()
    assert written.count("<article>") == 4 and "&lt;" in written and "http" not in written and "src=" not in written
    assert "page.html already exists" in fail(*page)


# INPUT, or --data and --table


@pytest.mark.parametrize("command", ["diff", "choose", "attack context", "attack mask"])
def test_a_table_gives_what_a_file_gives(command: str) -> None:
    found = []
    for texts in (["reviews.csv"], TABLE):
        options = ["--eps", "0"] if command == "diff" else []
        printed = json.loads(run(*READERS[command], *texts, "--column", "body", *options, "--json").stdout)
        if command == "choose":
            assert " ".join(["sanitize", *texts]) in printed.pop("commands")[0]
        found.append(json.dumps(printed).replace("shop.duckdb, table reviews", "reviews.csv"))
    assert found[0] == found[1]


WRONG = [
    (
        ["--data", "reviews.csv"],
        "--data is for DuckDB files; give text files as INPUT: custext {} reviews.csv --column",
    ),
    (["--data", "reviews.csv", "--table", "t"], "--data is for DuckDB files; give text files as INPUT: custext {}"),
    (TABLE[:2], "--data and --table go together"),
    (TABLE[2:], "--data and --table go together"),
    (["reviews.csv", *TABLE[2:]], "--data and --table go together"),
    (["reviews.csv", *TABLE], "Expected INPUT, or --data and --table; found both"),
    ([*TABLE, "--encoding", "utf-16"], "--encoding is for files; leave it out"),
    ([*TABLE, "--no-quotes"], "--no-quotes is for files; leave it out"),
    (["--format", "csv"], "--format is for files; give one as INPUT"),
    (["--column", "body"], "--column names a column of your texts"),
    (["shop.duckdb", "--column", "body"], "--data shop.duckdb --table NAME"),
    ([*TABLE[:3], "review", "--column", "body"], "did you mean 'reviews'?"),
    (["reviews.csv"], "name the column of the texts: --column NAME"),
    (["reviews.csv", "--column", "bdy"], "column 'bdy' does not exist"),
    (["public.txt", "--column", "body"], "plain text has no columns; leave out --column"),
    (["-"], "save the data to a file first"),
]


@pytest.mark.parametrize("command", READERS)
def test_wrong_combinations_are_explained(command: str) -> None:
    for arguments, message in WRONG:
        assert message.format(command) in fail(*READERS[command], *arguments), arguments
    if command not in ("choose", "report"):
        assert "Expected INPUT: a file, a folder or a quoted pattern" in fail(*READERS[command])


def test_evaluations_read_two_tables() -> None:
    pytest.importorskip("sklearn")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE train AS SELECT 'alice' || ' bob' AS body, range % 2 AS label FROM range(8)")
    command = ("evaluate", "utility", "--mechanisms", "original", "--seeds", "1", "--text", "body")
    tables = ("--train-table", "train", "--test-table", "train")
    assert "8 training rows, 8 test rows" in run(*command, *TABLE[:2], *tables).output
    for options, message in (
        (["--data", "reviews.csv", *tables], "give files of texts with --train FILE and --test FILE"),
        ([*TABLE[:2], *tables[:2]], "--data, --train-table and --test-table go together"),
        ([*TABLE[:2], *tables, "--train", "reviews.csv"], "found several"),
        ([*TABLE[:2], *tables[:3], "test"], "table 'test' does not exist"),
    ):
        assert message in fail(*command, *options)


def test_no_option_means_two_things() -> None:
    """--data is a DuckDB file everywhere, and --column refers to the user's texts, never to --public."""

    def walk(command: click.Command) -> list[click.Parameter]:
        if isinstance(command, click.Group):
            return [one for inner in command.commands.values() for one in walk(inner)]
        return [one for one in command.params if isinstance(one, click.Option)]

    for option in walk(main):
        said = getattr(option, "help", None) or ""
        assert "--data" not in option.opts or "DuckDB file" in said
        assert "--column" not in option.opts or "--public" not in said
