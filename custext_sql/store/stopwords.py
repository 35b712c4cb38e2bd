"""Stopword lists: the one that ships, and others from NLTK's corpus."""

from collections.abc import Sequence
from importlib.resources import files

import duckdb

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import suggest
from custext_sql.store.database import Database, reading, writing
from custext_sql.text.word_boundaries import fold_word

SHIPPED_LANGUAGE = "english"
SHIPPED_SOURCE = "NLTK stopwords corpus, the list of 179 words"
_CORPUS_SOURCE = "NLTK stopwords corpus, as installed"


def shipped_stopwords() -> list[dict[str, str]]:
    """Rows of the stopwords table that every database starts with."""
    text = files("custext_sql.starter").joinpath("stopwords-english.txt").read_text(encoding="utf-8")
    return [{"language": SHIPPED_LANGUAGE, "word": word, "source": SHIPPED_SOURCE} for word in text.split()]


def add_stopwords(database: Database = None, *, language: str) -> int:
    """Take a language's list from NLTK's installed corpus, replacing the one stored; returns its number of words."""
    words = list(dict.fromkeys(fold_word(word) for word in _corpus_words(language)))
    with writing(database) as connection:
        connection.execute("DELETE FROM stopwords WHERE language = ?", [language])
        connection.execute(
            "INSERT INTO stopwords (language, word, source) SELECT ?, unnest(?::VARCHAR[]), ?",
            [language, words, _CORPUS_SOURCE],
        )
    return len(words)


def list_stopwords(database: Database = None) -> list[tuple[str, int, str]]:
    """Language, number of words and source of each stored list."""
    with reading(database) as connection:
        rows = connection.execute(
            "SELECT language, count(*), any_value(source) FROM stopwords GROUP BY language ORDER BY language"
        ).fetchall()
    return [(str(language), int(count), str(source)) for language, count, source in rows]


def read_stopwords(connection: duckdb.DuckDBPyConnection, language: str) -> frozenset[str]:
    """A stored list; an error that names the command if there is none."""
    rows = connection.execute("SELECT word FROM stopwords WHERE language = ?", [language]).fetchall()
    if not rows:
        raise SettingError(f"no stopwords for {language!r} are stored; run: custext stopwords --language {language}")
    return frozenset(word for (word,) in rows)


def _corpus_words(language: str) -> Sequence[str]:
    from nltk.corpus import stopwords  # slow to import, and needed only here

    try:
        languages = stopwords.fileids()
        words: Sequence[str] = stopwords.words(language) if language in languages else []
    except OSError as error:
        raise SourceError(f"NLTK cannot read its stopwords corpus: {error}") from None
    except LookupError:
        raise SourceError(
            "NLTK's stopwords corpus is not installed; run: python -m nltk.downloader stopwords "
            "(or put stopwords.zip into the folder corpora below one that NLTK_DATA names)"
        ) from None
    if language not in languages:
        raise SettingError(f"NLTK's corpus has no stopwords for {language!r}; {suggest(language, languages)}")
    return words
