"""The word vectors of an installed spaCy pipeline, as a source that `custext load spacy:NAME` reads."""

import hashlib
from collections.abc import Generator
from pathlib import Path

import numpy as np
import spacy
from spacy.vectors import Mode

from custext_sql.errors import SourceError
from custext_sql.vectors import Batch, VectorSource, one_line

_ROWS = 8192


def open_pipeline_vectors(name: str) -> VectorSource:
    """The vectors of the pipeline of that name or at that path, in the order of its table."""
    label = f"spacy:{name}"
    if not spacy.util.is_package(name) and not Path(name).is_dir():
        raise SourceError(f"{label}: no spaCy pipeline of that name is installed, and there is no folder of that name")
    try:
        vocab = spacy.load(name).vocab
    except Exception as error:  # whatever the pipeline's own code and files raise
        raise SourceError(f"{label}: spaCy cannot load it: {one_line(error)}") from error
    if vocab.vectors.mode != Mode.default:
        raise SourceError(f"{label}: expected a table with a vector for each word, found mode {vocab.vectors.mode}")
    if not len(vocab.vectors.key2row):
        raise SourceError(f"{label}: the pipeline has no word vectors; choose a medium or large one")
    row_of = {vocab.strings[key]: row for key, row in vocab.vectors.key2row.items() if key in vocab.strings}
    words = sorted(row_of, key=row_of.__getitem__)
    rows = np.array([row_of[word] for word in words])
    table = np.asarray(vocab.vectors.data, dtype=np.float32)
    share = [0.0]

    def batches() -> Generator[Batch, None, None]:
        for start in range(0, len(words), _ROWS):
            yield Batch(words[start : start + _ROWS], table[rows[start : start + _ROWS]], start + 1)
            share[0] = min(1.0, (start + _ROWS) / len(words))

    def digest() -> str:
        content = hashlib.sha256("\n".join(words).encode() + b"\n")
        content.update(table[rows].tobytes())
        return content.hexdigest()

    return VectorSource(label, "spacy", "row", batches(), lambda: share[0], digest)
