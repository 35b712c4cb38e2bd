"""Reads and writes the tables embeddings, tokens and vectors. An entry is a row of a vector file, a word or not."""

from dataclasses import dataclass
from datetime import datetime

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Numbers, Points
from custext_sql.errors import CusTextError
from custext_sql.parameters import check_type, suggest
from custext_sql.store.rows.columns import list_columns


@dataclass(frozen=True)
class Embedding:
    """An embedding: a row of the table embeddings.

    name: the name it was given. source: the name of the file, or the scheme and name, such as `spacy:PIPELINE`.
    format: the format in which it was read. dimension: numbers per vector. size: how many entries it has. sha256: of
    the source, in hexadecimal digits. created_at: when it was loaded, in UTC, without a time zone.
    """

    name: str
    source: str
    format: str
    dimension: int
    size: int
    sha256: str
    created_at: datetime


def read_embeddings(connection: duckdb.DuckDBPyConnection) -> list[Embedding]:
    """Return all embeddings in the order in which they were loaded."""
    columns = list_columns(Embedding)
    rows = connection.execute(f"SELECT {columns} FROM embeddings ORDER BY created_at, rowid").fetchall()
    return [Embedding(*row) for row in rows]


def find_embedding(connection: duckdb.DuckDBPyConnection, name: str) -> Embedding:
    """Return the embedding of that name; CusTextError if it does not exist."""
    known = {embedding.name: embedding for embedding in read_embeddings(connection)}
    check_type(name, str, "embedding must be the name of an embedding")
    if name not in known:
        raise CusTextError(f"embedding {name!r} does not exist; {suggest(name, known, 'embeddings')}")
    return known[name]


def read_entries(connection: duckdb.DuckDBPyConnection, embedding: Embedding) -> list[str]:
    """Return the entries in the order of the source; CusTextError if the table was changed."""
    rows = connection.sql(
        "SELECT position, token FROM tokens WHERE embedding = ? ORDER BY position", params=[embedding.name]
    ).to_arrow_table()
    if not np.array_equal(rows.column("position").to_numpy(), np.arange(embedding.size)):
        raise _changed(embedding, "tokens were removed or added")
    entries: list[str] = rows.column("token").to_pylist()
    if len(set(entries)) != len(entries):
        raise _changed(embedding, "a token occurs twice")
    return entries


def read_vectors(connection: duckdb.DuckDBPyConnection, embedding: Embedding, positions: Numbers) -> Points:
    """Return the vectors at these positions, one per row; CusTextError if the table was changed."""
    row_of = np.full(embedding.size, -1, dtype=np.int64)
    row_of[positions] = np.arange(len(positions))
    matrix = np.empty((len(positions), embedding.dimension), dtype=np.float32)
    found = np.zeros(embedding.size, dtype=np.int64)
    reader = connection.sql(
        "SELECT position, vector FROM vectors WHERE embedding = ?", params=[embedding.name]
    ).to_arrow_reader(8192)
    for batch in reader:
        places, column = batch.column(0).to_numpy(), batch.column(1)
        if len(places) and not 0 <= places.min() <= places.max() < embedding.size:
            raise _changed(embedding, "a vector has no token")
        if (column.value_lengths().to_numpy() != embedding.dimension).any():
            raise _changed(embedding, "a vector has the wrong length")
        found += np.bincount(places, minlength=embedding.size)
        rows = row_of[places]
        vectors = column.flatten().to_numpy(zero_copy_only=False).reshape(len(batch), embedding.dimension)
        matrix[rows[rows >= 0]] = vectors[rows >= 0]
    if (found != 1).any():
        raise _changed(embedding, "vectors were removed or added")
    if not np.isfinite(matrix).all():
        raise _changed(embedding, "a vector is not finite")
    return matrix


def _changed(embedding: Embedding, how: str) -> CusTextError:
    return CusTextError(
        f"embedding {embedding.name}: the tables tokens and vectors were changed after loading ({how}); "
        f"load {embedding.source} again with --replace (in Python: replace=True)"
    )


def insert_entries(
    connection: duckdb.DuckDBPyConnection, name: str, start: int, entries: list[str], vectors: Points
) -> None:
    """Insert entries and their vectors. start: the position of the first entry."""
    offsets = np.arange(len(entries) + 1, dtype=np.int32) * np.int32(vectors.shape[1])
    batch = pa.table(
        {
            "position": pa.array(np.arange(start, start + len(entries), dtype=np.int32)),
            "token": pa.array(entries, pa.string()),
            "vector": pa.ListArray.from_arrays(pa.array(offsets), pa.array(vectors.reshape(-1))),
        }
    )
    connection.register("custext_batch", batch)
    connection.execute("INSERT INTO tokens BY NAME SELECT ? AS embedding, position, token FROM custext_batch", [name])
    connection.execute("INSERT INTO vectors BY NAME SELECT ? AS embedding, position, vector FROM custext_batch", [name])
    connection.unregister("custext_batch")


def delete_embedding(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Delete an embedding with its entries and vectors."""
    for table, column in (("embeddings", "name"), ("tokens", "embedding"), ("vectors", "embedding")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [name])
