"""The word vectors of an installed spaCy pipeline, as a source that `custext load spacy:NAME` reads."""

import hashlib
from collections.abc import Generator

import numpy as np
import spacy
from spacy.vectors import Mode

from custext_sql.errors import SourceError
from custext_sql.vector_files import Batch, VectorSource

_ROWS = 8192


def open_pipeline_vectors(name: str) -> VectorSource:
    """The vectors of the pipeline of that name or at that path, in the order of its table."""
    label = f"spacy:{name}"
    try:
        vocab = spacy.load(name).vocab
    except OSError as error:
        raise SourceError(
            f"{label}: there is no such spaCy pipeline; install it with: spacy download {name}"
        ) from error
    if vocab.vectors.mode != Mode.default:
        raise SourceError(f"{label}: expected a table with a vector for each word, found {vocab.vectors.mode.value}")
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
