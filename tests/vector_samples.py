"""Writes word vectors in the supported formats, and reads stored ones back from a database."""

import gzip
import zipfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]


def glove_text(words: Sequence[str], vectors: Matrix, *, ending: str = "\n") -> bytes:
    lines = (" ".join([word, *map(repr, row.tolist())]) + ending for word, row in zip(words, vectors, strict=True))
    return "".join(lines).encode()


def word2vec_text(words: Sequence[str], vectors: Matrix, *, ending: str = " \n") -> bytes:
    return f"{len(words)} {vectors.shape[1]}\n".encode() + glove_text(words, vectors, ending=ending)


def word2vec_binary(words: Sequence[str], vectors: Matrix, *, newline: bytes = b"") -> bytes:
    records = (
        word.encode() + b" " + row.astype("<f4").tobytes() + newline for word, row in zip(words, vectors, strict=True)
    )
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(records)


def write_glove(path: Path, words: Sequence[str], vectors: Matrix) -> Path:
    path.write_bytes(glove_text(words, vectors))
    return path


def gzipped(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def stored_vectors(database: Path, name: str) -> tuple[list[str], Matrix]:
    """Return the tokens and vectors of a stored embedding, as any DuckDB client reads them."""
    with duckdb.connect(database, read_only=True) as connection:
        rows = connection.execute(
            """
            SELECT token, vector FROM tokens JOIN vectors USING (embedding, position)
            WHERE embedding = ? ORDER BY position
            """,
            [name],
        ).fetchall()
    return [token for token, _ in rows], np.array([vector for _, vector in rows], dtype=np.float32)
