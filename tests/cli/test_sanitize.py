"""The command `custext sanitize`, for texts and lines."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import run


def test_sanitize_prints_the_text_and_its_receipt(starter_db: Path) -> None:
    result = run("--db", starter_db, "sanitize", "She saw a café.", "--plus", "--eps", "2", "--policy", "strict")
    assert result.exit_code == 0
    assert re.fullmatch(r"She \w+ a <unk>\.\n", result.stdout)
    assert "4 words: 1 replaced" in result.stderr
    assert "2 stopwords kept, 1 unknown word masked; 4 characters in the clear" in result.stderr
    assert "eps 2 per replaced word, at most 2 per row; certified log-ratio " in result.stderr
    found = json.loads(run("--db", starter_db, "sanitize", "doctor nurse", "--json").stdout)
    assert (found["receipt"]["replaced"], len(found["text"].split())) == (2, 2)


@pytest.mark.slow
def test_sanitize_passes_lines_through(starter_db: Path) -> None:
    command = [sys.executable, "-m", "custext_sql", "--db", str(starter_db), "sanitize", "-", "--policy", "strict"]
    lines = "Zoë,\r\n\nno end".encode()
    result = subprocess.run(command, input=lines, capture_output=True, check=True)
    assert re.fullmatch(rb"<unk>,\r\n\n\w+ \w+", result.stdout)
    assert b"3 words: 2 replaced" in result.stderr
    wrong = subprocess.run(command, input=b"fine\nsecret \xff\n", capture_output=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (1, b"")
    assert wrong.stderr.startswith(b"Error: standard input, line 2: not UTF-8; it looks like Latin-1")


def test_sanitize_refuses_the_name_of_a_file(starter_db: Path, glove_file: Path) -> None:
    result = run("--db", starter_db, "sanitize", glove_file)
    assert result.exit_code == 2
    assert f"custext sanitize {glove_file} OUTPUT --column NAME" in result.output


@pytest.mark.slow
def test_a_terminal_that_shows_ascii_only_gets_no_traceback(starter_db: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "custext_sql", "--db", str(starter_db)]
    result = subprocess.run([*command, "inspect", "cafés"], env=environment, capture_output=True, check=False)
    assert b"Traceback" not in result.stderr
    shown = subprocess.run(
        [*command, "sanitize", "é", "--policy", "paper"], env=environment, capture_output=True, check=True
    )
    assert shown.stdout == "é\n".encode()


@pytest.mark.slow
def test_a_full_disk_is_named(starter_db: Path) -> None:
    command = [sys.executable, "-m", "custext_sql", "--db", str(starter_db), "inspect", "she", "--json"]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert "the disk is full" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "text", ["", "word " * 60, "word" * 500, "a" * 300 + "/b", "x\0y", "é" * 200, "alice\n" * 400], ids=range(7)
)
def test_a_text_need_not_be_able_to_be_the_name_of_a_file(mapped_db: Path, text: str) -> None:
    result = run("--db", mapped_db, "sanitize", text)
    assert result.exit_code == 0, result.output
    assert "name of a file" not in result.output


def test_a_text_that_is_the_name_of_a_file_is_a_mistake(mapped_db: Path) -> None:
    result = run("--db", mapped_db, "sanitize", str(mapped_db))
    assert result.exit_code == 2 and "is a file. To sanitize its content" in result.output
