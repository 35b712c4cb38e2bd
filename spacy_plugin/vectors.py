"""Reads the word vectors of an installed spaCy pipeline, for `custext load spacy:NAME`."""

from pathlib import Path

import numpy as np
import spacy
from spacy.vectors import Mode

from custext_sql.errors import SourceError
from custext_sql.vectors.array_files import open_word_vectors
from custext_sql.vectors.source import VectorSource


def open_pipeline_vectors(name: str) -> VectorSource:
    """Return the vectors of a pipeline, in the order of its table. name: of an installed pipeline, or a folder.

    Raise SourceError if the pipeline does not exist, cannot be loaded, or has no table with one vector per word.
    """
    label = f"spacy:{name}"
    if not spacy.util.is_package(name) and not Path(name).is_dir():
        raise SourceError(f"{label}: no spaCy pipeline or folder of that name exists; install the pipeline first")
    try:
        vocab = spacy.load(name).vocab
    except Exception as error:  # the pipeline's own code can raise anything
        reason = getattr(error, "strerror", None) or type(error).__name__  # other messages may quote the files
        raise SourceError(f"{label}: spaCy cannot load it: {reason}") from error
    if vocab.vectors.mode != Mode.default:
        raise SourceError(f"{label}: expected a table with one vector per word, found mode {vocab.vectors.mode}")
    if not len(vocab.vectors.key2row):
        raise SourceError(f"{label}: the pipeline has no word vectors; use a medium or large pipeline")
    row_of = {vocab.strings[key]: row for key, row in vocab.vectors.key2row.items() if key in vocab.strings}
    words = sorted(row_of, key=row_of.__getitem__)
    rows = np.array([row_of[word] for word in words])
    return open_word_vectors(words, vocab.vectors.data[rows], label=label, format="spacy")
