"""The command sanitize for texts and lines, and the language of the stopwords that every command keeps."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from custext_sql.store.database import writing
from custext_sql.store.stopwords import write_stopwords
from tests.cli.test_commands import db, fail, run

__all__ = ["db"]  # a fixture

CUSTEXT = [sys.executable, "-m", "custext_sql", "--db"]


def test_sanitize_prints_the_text_and_its_receipt(few_db: Path) -> None:
    result = run("--db", few_db, "sanitize", "She saw a café.", "--plus", "--eps", "2")
    assert result.exit_code == 0
    assert re.fullmatch(r"She \w+ a <unk>\.\n", result.stdout)
    assert "4 words: 1 replaced" in result.stderr
    assert "2 stopwords kept, 1 unknown word masked; 4 characters in the clear" in result.stderr
    assert "eps 2 per replaced word, at most 2 per row; certified log-ratio " in result.stderr
    found = json.loads(run("--db", few_db, "sanitize", "doctor music", "--json").stdout)
    assert (found["receipt"]["replaced"], len(found["text"].split())) == (2, 2)


@pytest.mark.slow
def test_sanitize_passes_lines_through(few_db: Path) -> None:
    command = [*CUSTEXT, str(few_db), "sanitize", "-"]
    result = subprocess.run(command, input="Zoë,\r\n\nno end".encode(), capture_output=True, check=True)
    assert re.fullmatch(rb"<unk>,\r\n\n\w+ \w+", result.stdout)
    assert b"3 words: 2 replaced" in result.stderr
    wrong = subprocess.run(command, input=b"fine\nsecret \xff\n", capture_output=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (1, b"")
    assert wrong.stderr.startswith(b"Error: standard input, line 2: not UTF-8; it looks like Latin-1")


@pytest.mark.slow
def test_a_terminal_that_shows_ascii_only_and_a_full_disk_get_no_traceback(few_db: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*CUSTEXT, str(few_db)]
    failed = subprocess.run([*command, "inspect", "cafés"], env=environment, capture_output=True, check=False)
    assert failed.returncode == 1 and b"Traceback" not in failed.stderr
    shown = [*command, "sanitize", "é", "--policy", "paper"]
    assert subprocess.run(shown, env=environment, capture_output=True, check=True).stdout == "é\n".encode()
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run(
            [*command, "inspect", "she", "--json"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert failed.returncode == 1
    assert b"the disk is full" in failed.stderr and b"Traceback" not in failed.stderr


@pytest.mark.parametrize("text", ["", "word" * 500, "a" * 300 + "/b", "x\0y", "é" * 200, "alice\n" * 400], ids=range(6))
def test_a_text_need_not_be_able_to_be_the_name_of_a_file(db: Path, text: str) -> None:
    assert run("sanitize", text).exit_code == 0


def test_a_text_that_is_the_name_of_a_file_is_a_mistake(db: Path) -> None:
    assert f"is a file. To sanitize its content: custext sanitize {db} OUTPUT --column NAME" in fail("sanitize", db)


# The language of stopwords


@pytest.fixture
def folder(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("language", ["german", "legal"])
def test_every_command_keeps_the_stopwords_of_a_language(db: Path, folder: Path, language: str) -> None:
    """The only one of them is "bob"."""
    if language == "german":
        with writing(db) as connection:
            write_stopwords(connection, "german", ["bob"], "a test")
    else:
        (folder / "own words.txt").write_text("\n Bob \n\nbob\n", encoding="utf-8-sig")
        listed = run("stopwords", "--file", "own words.txt", "--name", "legal", "--json")
        assert json.loads(listed.stdout)[1] == {"language": "legal", "words": 1, "source": "file own words.txt"}
    options = ("--plus", "--language", language)
    assert run("sanitize", "bob the", *options).stdout == "bob <unk>\n"
    assert run("sanitize", "zzyzxa the", "--plus").stdout == "<unk> the\n"
    (folder / "in.txt").write_text("bob the\n")
    assert run("sanitize", "in.txt", "out.txt", *options).exit_code == 0
    assert (folder / "out.txt").read_text() == "bob <unk>\n"
    assert "1 stopword kept" in run("diff", "in.txt", *options).output
    found = json.loads(run("leaks", "in.txt", *options, "--json").stdout)
    assert (found["stopwords"], found["replaced"]) == (1, 0)
    assert f"stopwords    {language}, digest " in run("keygen", "own.key", *options).output
    assert "stopwords    english, digest " in run("keygen", "other.key", "--plus").output
    assert json.loads(run("audit", *options, "--json").stdout)["hides_among"] == 3
    assert json.loads(run("audit", "--plus", "--json").stdout)["hides_among"] == 4
    assert run("map", "--embedding", "small", "--k", "3", "--separate-stopwords", *options[1:]).exit_code == 0
    refused = fail("audit", "--plus", "--language", "klingon")
    assert f"the database has no stopwords for 'klingon', only for english, {language}; run: " in refused
    assert "stopwords --language klingon (or, with a list of your own, --file FILE --name klingon)" in refused


LEGAL = ("--file", "own.txt", "--name", "legal")


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"bob\n", LEGAL[:2], "--file and --name go together"),
        (b"bob\n", LEGAL[2:], "--file and --name go together"),
        (b"bob\n", (*LEGAL, "--language", "german"), "Give either --language"),
        (b"bob\n", (*LEGAL[:3], "le gal"), "the name of a stopword list must have"),
        (b"bob\n\nsecret 81\n", LEGAL, "own.txt, line 3: expected a single word"),
        (b"\n \n", LEGAL, "own.txt: expected one word per line; found none"),
        (b"bob\nsecret\xff\n", LEGAL, "own.txt, line 2"),
        (b"", ("--file", "none.txt", "--name", "legal"), "cannot read 'none.txt': No such file"),
    ],
)
def test_a_list_that_cannot_be_used_is_an_error(
    folder: Path, content: bytes, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "own.txt").write_bytes(content)
    said = fail("stopwords", *arguments)
    assert message in said and "secret" not in said
    assert [one["language"] for one in json.loads(run("stopwords", "--json").stdout)] == ["english"]
