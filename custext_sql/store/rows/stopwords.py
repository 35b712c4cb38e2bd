"""The table stopwords, and the list that every database starts with."""

from collections.abc import Sequence
from importlib.resources import files

import duckdb

from custext_sql.errors import SettingError

SHIPPED_LANGUAGE = "english"
SHIPPED_SOURCE = "NLTK stopwords corpus, the list of 179 words"


def shipped_stopwords() -> list[dict[str, str]]:
    """Return the rows of the stopwords table that every database starts with."""
    text = files("custext_sql.starter").joinpath("stopwords-english.txt").read_text(encoding="utf-8")
    return [{"language": SHIPPED_LANGUAGE, "word": word, "source": SHIPPED_SOURCE} for word in text.split()]


def read_stopwords(connection: duckdb.DuckDBPyConnection, language: str) -> frozenset[str]:
    """Return a stored list; an error that names the command if there is none."""
    rows = connection.execute("SELECT word FROM stopwords WHERE language = ?", [language]).fetchall()
    if not rows:
        raise SettingError(f"no stopwords for {language!r} are stored; run: custext stopwords --language {language}")
    return frozenset(word for (word,) in rows)


def write_stopwords(connection: duckdb.DuckDBPyConnection, language: str, words: Sequence[str], source: str) -> None:
    """Write a language's list in place of the one stored."""
    connection.execute("DELETE FROM stopwords WHERE language = ?", [language])
    connection.execute(
        "INSERT INTO stopwords (language, word, source) SELECT ?, unnest(?::VARCHAR[]), ?", [language, words, source]
    )
