"""The word vectors of an installed spaCy pipeline, as a source that `custext load spacy:NAME` reads."""

from pathlib import Path

import numpy as np
import spacy
from spacy.vectors import Mode

from custext_sql import SourceError, VectorSource, open_word_vectors


def open_pipeline_vectors(name: str) -> VectorSource:
    """Open the vectors of the pipeline of that name or at that path, in the order of its table."""
    label = f"spacy:{name}"
    if not spacy.util.is_package(name) and not Path(name).is_dir():
        raise SourceError(f"{label}: no spaCy pipeline of that name is installed, and there is no folder of that name")
    try:
        vocab = spacy.load(name).vocab
    except Exception as error:  # whatever the pipeline's own code and files raise
        reason = getattr(error, "strerror", None) or type(error).__name__  # messages may quote the files
        raise SourceError(f"{label}: spaCy cannot load it: {reason}") from error
    if vocab.vectors.mode != Mode.default:
        raise SourceError(f"{label}: expected a table with a vector for each word, found mode {vocab.vectors.mode}")
    if not len(vocab.vectors.key2row):
        raise SourceError(f"{label}: the pipeline has no word vectors; choose a medium or large one")
    row_of = {vocab.strings[key]: row for key, row in vocab.vectors.key2row.items() if key in vocab.strings}
    words = sorted(row_of, key=row_of.__getitem__)
    rows = np.array([row_of[word] for word in words])
    return open_word_vectors(words, vocab.vectors.data[rows], label=label, format="spacy")
