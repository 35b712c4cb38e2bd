"""Defaults are safe: no unknown word passes by default, and other policies warn about words that pass."""

import json
from pathlib import Path

import duckdb
import pytest
import spacy

from custext_sql import Policy, Sanitizer, connect, make_key, register
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures

TEXT = "alice zzyzx 12345 a@b.org b\u200bob"


def hides(text: str) -> bool:
    """Return whether nothing of TEXT is left except by a draw."""
    first, *masked, last = text.split()
    return masked == ["<unk>", "<num>", "<email>"] and first.isalpha() and last.isalpha() and "\u200b" not in text


@pytest.mark.slow
def test_nothing_unknown_passes_by_default_on_any_surface(db: Path, folder: Path) -> None:
    assert hides(Sanitizer.load(db).sanitize(TEXT))
    query = f"SELECT custext_sanitize('{TEXT}', 1, false) AS t"
    with connect(db) as connection:
        assert hides(connection.execute(query).fetchall()[0][0])
    with duckdb.connect() as connection:
        register(connection, db)
        assert hides(connection.execute(query).fetchall()[0][0])
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(db)})
    assert hides(nlp(TEXT)._.custext)
    assert make_key("k", db).settings.policy == Policy()
    assert hides(run("sanitize", TEXT).stdout)
    assert hides(json.loads(run("sql", query, "--json").stdout)[0]["t"])
    (folder / "in.csv").write_text(f"id,body\n1,{TEXT}\n")
    assert run("sanitize", "in.csv", "out.csv", "--column", "body").exit_code == 0
    assert hides((folder / "out.csv").read_text().splitlines()[1].partition(",")[2])
    assert not hides(run("sanitize", TEXT, "--policy", "paper").stdout)


def test_experiments_stay_with_the_paper(db: Path) -> None:
    commands: list[tuple[str, ...]] = [("attack", "mask"), ("evaluate", "utility"), ("evaluate", "tradeoff")]
    for command in commands:
        shown = " ".join(run(*command, "--help").output.split())
        assert "[default: paper]" in shown, command
    for command in (("sanitize",), ("sql",), ("keygen",), ("diff",), ("report",)):
        shown = " ".join(run(*command, "--help").output.split())
        assert "mask them all (strict, the default" in shown, command


def test_columns_that_were_copied_are_named(db: Path, folder: Path) -> None:
    (folder / "in.csv").write_text("id,body,note,Title\n1,alice,x,bob\n")
    done = run("sanitize", "in.csv", "out.csv", "--column", "body", "--column", "title")
    assert "columns copied unchanged: id, note\n" in done.stderr
    (folder / "only.csv").write_text("body\nalice\n")
    assert "copied" not in run("sanitize", "only.csv", "o.csv", "--column", "body").stderr
    shown = run("sanitize", "in.csv", "p.parquet", "--column", "body", "--json").stdout
    assert json.loads(shown)["copied"] == ["id", "note", "Title"]


@pytest.mark.slow
def test_a_table_becomes_a_file_or_a_table_of_a_schema(db: Path, folder: Path) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE SCHEMA staging; CREATE TABLE reviews AS SELECT 1 AS id, 'alice' AS body")
    form = ("sanitize", "--data", "shop.duckdb", "--table", "reviews", "--column", "body")
    assert run(*form, "out.parquet").stdout == "out.parquet: 1 row\n"
    for target, name in (("staging.clean", "staging.clean"), ('"a.b"', "a.b"), ('STAGING."c.d"', "staging.c.d")):
        assert run(*form, target).stdout == f"shop.duckdb, table {name}: 1 row\n"
    assert run(*form, "staging.clean", "--force").exit_code == 0
    assert run(*form, "staging.reviews").exit_code == 0  # in another schema, so it is not the input
    refused = {"out.parquet": "already exists", "Staging.Clean": "table staging.Clean already exists"}
    refused |= {"out.txt": "its name must end in", "other.clean": "schema 'other' does not exist"}
    refused |= dict.fromkeys(("a.b.c", "a..b", '"a', ".a", "a."), "must be NAME or SCHEMA.NAME")
    for target, message in refused.items():
        assert message in run(*form, target).output, target
    with duckdb.connect("shop.duckdb", read_only=True) as connection:
        made = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    expected = [("main", "a.b"), ("main", "reviews"), ("staging", "c.d"), ("staging", "clean"), ("staging", "reviews")]
    assert made == expected
    assert len({release.dataset for release in list_releases(db)}) == 1
