"""The table stopwords."""

from collections.abc import Sequence

import duckdb

from custext_sql.errors import SettingError

SHIPPED_LANGUAGE = "english"  # of the list that every database starts with


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
