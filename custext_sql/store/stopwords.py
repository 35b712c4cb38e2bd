"""Stopword lists in a database, and NLTK's corpus of them."""

from collections.abc import Sequence

import duckdb

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import check_type, suggest

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


def read_corpus(language: str) -> Sequence[str]:
    """Return the stopwords of a language in NLTK's installed corpus; SourceError if it cannot be read."""
    from nltk.corpus import stopwords  # slow to import

    try:
        languages = stopwords.fileids()
        words: Sequence[str] = stopwords.words(language) if language in languages else []
    except OSError as error:
        raise SourceError(f"NLTK cannot read its stopwords corpus: {error}") from None
    except LookupError:
        raise SourceError(
            "NLTK's stopwords corpus is not installed; run: python -m nltk.downloader stopwords "
            "(or put stopwords.zip into the subfolder corpora of a folder that NLTK_DATA names)"
        ) from None
    if language not in languages:
        raise SettingError(
            f"NLTK's corpus has no stopwords for {language!r}; {suggest(language, languages, 'languages')}"
        )
    return words
