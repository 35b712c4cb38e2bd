"""The tables embeddings, tokens and vectors. Their rows are entries: words, and what else a vector file lists."""

from dataclasses import dataclass
from datetime import datetime

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Numbers, Points
from custext_sql.errors import CusTextError
from custext_sql.parameters import suggest
from custext_sql.store.rows.columns import list_columns


@dataclass(frozen=True)
class Embedding:
    """A row of the table embeddings."""

    name: str
    source: str
    format: str
    dimension: int
    size: int
    sha256: str
    created_at: datetime


def read_embeddings(connection: duckdb.DuckDBPyConnection) -> list[Embedding]:
    """Return all embeddings, oldest first."""
    rows = connection.execute(f"SELECT {list_columns(Embedding)} FROM embeddings ORDER BY created_at, name").fetchall()
    return [Embedding(*row) for row in rows]


def find_embedding(connection: duckdb.DuckDBPyConnection, name: str) -> Embedding:
    """Return the embedding of that name."""
    known = {embedding.name: embedding for embedding in read_embeddings(connection)}
    if name not in known:
        raise CusTextError(f"there is no embedding {name!r}; {suggest(name, known)}")
    return known[name]


def read_entries(connection: duckdb.DuckDBPyConnection, embedding: Embedding) -> list[str]:
    """Return the entries in the order of their source."""
    rows = connection.sql(
        "SELECT position, token FROM tokens WHERE embedding = ? ORDER BY position", params=[embedding.name]
    ).to_arrow_table()
    if not np.array_equal(rows.column("position").to_numpy(), np.arange(embedding.size)):
        raise _changed(embedding, "tokens are missing or added")
    entries: list[str] = rows.column("token").to_pylist()
    if len(set(entries)) != len(entries):
        raise _changed(embedding, "a token stands there twice")
    return entries


def read_vectors(connection: duckdb.DuckDBPyConnection, embedding: Embedding, positions: Numbers) -> Points:
    """Return the vectors at these positions, one per row, without a second copy of the table in memory."""
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
            raise _changed(embedding, "a vector has another length")
        found += np.bincount(places, minlength=embedding.size)
        rows = row_of[places]
        vectors = column.flatten().to_numpy(zero_copy_only=False).reshape(len(batch), embedding.dimension)
        matrix[rows[rows >= 0]] = vectors[rows >= 0]
    if (found != 1).any():
        raise _changed(embedding, "vectors are missing or added")
    if not np.isfinite(matrix).all():
        raise _changed(embedding, "a vector is not finite")
    return matrix


def _changed(embedding: Embedding, how: str) -> CusTextError:
    return CusTextError(
        f"embedding {embedding.name}: the tables tokens and vectors are not those that were loaded ({how}); "
        f"load {embedding.source} again with --replace"
    )


def insert_entries(
    connection: duckdb.DuckDBPyConnection, name: str, start: int, entries: list[str], vectors: Points
) -> None:
    """Insert entries and their vectors; start: the position of the first."""
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
