"""The public functions on stopword lists: the shipped one, and others from NLTK's corpus."""

from collections.abc import Sequence

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import suggest
from custext_sql.store.database import Database, reading, writing
from custext_sql.store.rows.stopwords import write_stopwords
from custext_sql.text.word_boundaries import fold_word

_CORPUS_SOURCE = "NLTK stopwords corpus, as installed"


def add_stopwords(database: Database = None, *, language: str) -> int:
    """Store the stopwords of a language from NLTK's installed corpus, and return how many there are.

    They replace those of the same language in the database. language: as in NLTK, such as "german". SourceError if the
    corpus is not installed or cannot be read; SettingError if it does not have the language; DatabaseError if the
    database cannot be written.
    """
    words = list(dict.fromkeys(fold_word(word) for word in _corpus_words(language)))
    with writing(database) as connection:
        write_stopwords(connection, language, words, _CORPUS_SOURCE)
    return len(words)


def list_stopwords(database: Database = None) -> list[tuple[str, int, str]]:
    """Return the language, number of words and source of each stored list, by language."""
    with reading(database) as connection:
        rows = connection.execute(
            "SELECT language, count(*), any_value(source) FROM stopwords GROUP BY language ORDER BY language"
        ).fetchall()
    return [(str(language), int(count), str(source)) for language, count, source in rows]


def _corpus_words(language: str) -> Sequence[str]:
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
