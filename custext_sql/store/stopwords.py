"""The public functions on stopword lists: the shipped one, others from NLTK's corpus, and the user's own."""

import os
from collections.abc import Sequence
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.parameters import check_name, suggest
from custext_sql.store.database import Database, reading, writing
from custext_sql.store.rows.stopwords import write_stopwords
from custext_sql.text.word_boundaries import fold_word, read_word_file

_CORPUS_SOURCE = "NLTK stopwords corpus, as installed"


def add_stopwords(database: Database = None, *, language: str, file: str | os.PathLike[str] | None = None) -> int:
    """Store the stopwords of a language from NLTK's installed corpus, or from a file; return how many there are.

    They replace those of the same language in the database. language: as in NLTK, such as "german"; with a file, any
    name, which is then given wherever a language is. file: UTF-8, one word per line. The list is public, like the
    mapping: it must not depend on private texts. SourceError if the corpus is not installed, or it or the file cannot
    be read; SettingError if the corpus does not have the language; DatabaseError if the database cannot be written.
    """
    if file is None:
        found, source = _corpus_words(language), _CORPUS_SOURCE
    else:
        check_name(language, "a stopword list")
        found, source = read_word_file(file), f"file {Path(file).name}"
    words = list(dict.fromkeys(map(fold_word, found)))
    with writing(database) as connection:
        write_stopwords(connection, language, words, source)
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
