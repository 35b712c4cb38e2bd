"""Stopword lists, shipped and from NLTK. NLTK fixes its paths when it is loaded, so each case has its own process."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from custext_sql.store.contents import list_stopwords
from custext_sql.store.database import reading, writing
from custext_sql.store.stopwords import read_stopwords
from tests.shipped_stopwords import STOPWORDS


def add_language(database: Path, nltk_data: Path, language: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "custext_sql", "--db", str(database), "stopwords", "--language", language]
    environment = {**os.environ, "NLTK_DATA": str(nltk_data)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def nltk_data(tmp_path: Path) -> Path:
    """A folder of NLTK data with a small stopwords corpus."""
    folder = tmp_path / "nltk" / "corpora" / "stopwords"
    folder.mkdir(parents=True)
    (folder / "german").write_text("und\nUnd\nfür\n", encoding="utf-8")
    return tmp_path / "nltk"


def test_the_english_list_of_179_words_is_there_from_the_start(db_path: Path) -> None:
    with writing(db_path):
        pass
    assert list_stopwords(db_path) == [("english", 179, "NLTK stopwords corpus, the list of 179 words")]
    with reading(db_path) as connection:
        assert {"the", "she", "don't"} < set(STOPWORDS) == read_stopwords(connection, "english")


def test_the_shipped_list_is_that_of_the_corpus(shared_data: Path) -> None:
    with zipfile.ZipFile(shared_data / "stopwords.zip") as archive:
        corpus = archive.read("stopwords/english").decode().split()
    assert corpus == STOPWORDS


@pytest.mark.slow
def test_other_lists_are_taken_from_the_installed_corpus(db_path: Path, nltk_data: Path) -> None:
    result = add_language(db_path, nltk_data, "german")
    assert (result.returncode, result.stderr) == (0, "")
    assert "german" in result.stdout
    assert list_stopwords(db_path)[1] == ("german", 2, "NLTK stopwords corpus, as installed")
    (nltk_data / "corpora" / "stopwords" / "german").write_text("die\n")
    assert add_language(db_path, nltk_data, "german").returncode == 0
    with reading(db_path) as connection:
        assert read_stopwords(connection, "german") == {"die"}
    unknown = add_language(db_path, nltk_data, "klingon")
    message = "Error: NLTK's corpus has no stopwords for 'klingon'; languages: german\n"
    assert (unknown.returncode, unknown.stderr) == (1, message)


@pytest.mark.slow
def test_a_missing_corpus_is_an_error_that_names_the_command(db_path: Path, tmp_path: Path) -> None:
    result = add_language(db_path, tmp_path, "german")
    assert result.returncode == 1
    assert "not installed; run: python -m nltk.downloader stopwords" in result.stderr
    assert "Traceback" not in result.stderr
    assert not db_path.exists()
