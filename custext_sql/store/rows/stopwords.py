"""Reads and writes the table stopwords."""

from collections.abc import Sequence

import duckdb

from custext_sql.errors import SettingError
from custext_sql.parameters import check_type

SHIPPED_LANGUAGE = "english"  # of the list in every new database


def read_stopwords(connection: duckdb.DuckDBPyConnection, language: str) -> frozenset[str]:
    """Return the stored stopwords of a language, or of a user's own list; SettingError if there are none."""
    check_type(language, str, "language must be a string")
    rows = connection.execute("SELECT word FROM stopwords WHERE language = ?", [language]).fetchall()
    if not rows:
        stored = connection.execute("SELECT DISTINCT language FROM stopwords ORDER BY language").fetchall()
        raise SettingError(
            f"the database has no stopwords for {language!r}, only for {', '.join(name for (name,) in stored)}; run: "
            f"custext stopwords --language {language} (or, with a list of your own, --file FILE --name {language})"
        )
    return frozenset(word for (word,) in rows)


def write_stopwords(connection: duckdb.DuckDBPyConnection, language: str, words: Sequence[str], source: str) -> None:
    """Replace the stored stopwords of a language. source: where the words come from."""
    connection.execute("DELETE FROM stopwords WHERE language = ?", [language])
    connection.execute(
        "INSERT INTO stopwords (language, word, source) SELECT ?, unnest(?::VARCHAR[]), ?", [language, words, source]
    )
