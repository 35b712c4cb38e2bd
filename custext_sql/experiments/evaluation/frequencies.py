"""The prior that a user names: a file of word frequencies, or a public corpus to count."""

from pathlib import Path

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.priors import Prior, count_words, read_frequencies
from custext_sql.experiments.evaluation.datasets import stream_texts
from custext_sql.experiments.mechanisms import Arena


def find_prior(arena: Arena, frequencies: str | None, corpus: str | None, column: str | None) -> Prior | None:
    """That of a file of frequencies, or counted from the texts of a corpus; None if neither is given."""
    if column is not None and corpus is None:
        raise SettingError("--column is that of a file of texts: name it too")
    if frequencies is not None and corpus is not None:
        raise SettingError("word frequencies come from --prior or from --public, not from both")
    if frequencies is not None:
        return read_frequencies(frequencies, arena.mapping)
    if corpus is not None:
        return count_corpus(arena, corpus, column)
    return None


def count_corpus(arena: Arena, corpus: str, column: str | None) -> Prior:
    """How frequent the words of a mapping are in the texts of a file."""
    return count_words(stream_texts(corpus, column), arena.vocabulary, Path(corpus).name)
