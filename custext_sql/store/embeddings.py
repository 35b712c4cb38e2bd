"""Embeddings in a database: loads and reads them.

They are in the tables embeddings, tokens and vectors. An entry is a row of a vector file, a word or not.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Numbers, Points
from custext_sql.errors import CusTextError, SettingError, SourceError
from custext_sql.parameters import check_type, count_of, suggest
from custext_sql.store.database_files import insert_row, list_columns, writing_file
from custext_sql.text.word_boundaries import fold_word
from custext_sql.vectors.source import Batch, VectorSource

ShareDone = Callable[[float], None]


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


@dataclass(frozen=True)
class LoadReport:
    """The result of `load_embeddings`.

    embedding: what was stored.
    rows_read: rows of the source that were read, including those that were skipped.
    folded: rows skipped because an earlier row has the same entry in lower case.
    outside_vocabulary: rows skipped because their entry is not in the given vocabulary.
    not_found: words of the vocabulary that are missing from the source; None without a vocabulary, or if a limit ended
        the reading before the end of the source.
    seconds: how long it took.
    """

    embedding: Embedding
    rows_read: int
    folded: int
    outside_vocabulary: int
    not_found: int | None
    seconds: float


def load_vectors(
    path: Path,
    source: VectorSource,
    *,
    name: str,
    limit: int | None = None,
    vocabulary: frozenset[str] | None = None,
    replace: bool = False,
    progress: ShareDone | None = None,
) -> LoadReport:
    """Load an opened source into the database at `path`, in one transaction; see `load_embeddings`."""
    started = time.perf_counter()
    with ThreadPoolExecutor(1) as hashing, writing_file(path) as connection:
        if any(embedding.name == name for embedding in read_embeddings(connection)):
            if not replace:
                raise SettingError(
                    f"embedding {name!r} already exists; to replace it, use --replace (in Python: replace=True), or "
                    "choose another name"
                )
            delete_embedding(connection, name)
        digest = hashing.submit(source.digest)
        intake = _Intake(source, vocabulary, limit)
        for batch in source.batches:
            if kept := intake.accept(batch):
                _insert_entries(connection, name, *kept)
            if progress is not None:
                progress(source.share_read())
            if intake.is_full:
                break
        if not intake.kept:
            why = f" ({count_of(intake.outside, 'row')} not in the vocabulary)" if intake.outside else ""
            raise SourceError(f"{source.label}: no word was kept; expected at least one{why}")
        embedding = Embedding(
            name,
            source.label,
            source.format,
            intake.dimension,
            intake.kept,
            digest.result(),
            datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        )
        insert_row(connection, "embeddings", embedding)
    not_found = None if vocabulary is None or intake.is_full else len(vocabulary) - intake.kept
    return LoadReport(embedding, intake.rows, intake.folded, intake.outside, not_found, time.perf_counter() - started)


class _Intake:
    """Decides row by row what to keep, and counts the rest.

    rows: all rows read. kept, folded, outside: rows that were kept, that repeat a word, and that are not wanted.
    """

    def __init__(self, source: VectorSource, wanted: frozenset[str] | None, limit: int | None) -> None:
        self._source, self._wanted, self._limit = source, wanted, limit
        self._seen: set[str] = set()
        self.dimension = self.rows = self.folded = self.outside = self.kept = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self.kept >= self._limit

    def accept(self, batch: Batch) -> tuple[int, list[str], Points] | None:
        """Return the position of the first kept word, the kept words and their vectors; None if none is kept."""
        self._check_numbers(batch)
        start, words, rows = self.kept, [], []
        for row, raw in enumerate(batch.words):
            if self.is_full:
                break
            self.rows += 1
            word = fold_word(raw)
            if not word:
                raise self._source.error(batch.first + row, "expected a word, found an empty field")
            if self._wanted is not None and word not in self._wanted:
                self.outside += 1
            elif word in self._seen:
                self.folded += 1
            else:
                if not raw.isascii() and any("\ud800" <= character <= "\udfff" for character in raw):
                    raise self._source.error(batch.first + row, "expected valid Unicode, found a lone surrogate")
                self._seen.add(word)
                words.append(word)
                rows.append(row)
                self.kept += 1
        if not words:
            return None
        return start, words, batch.vectors if len(rows) == len(batch.vectors) else batch.vectors[rows]

    def _check_numbers(self, batch: Batch) -> None:
        found = batch.vectors.shape[1]
        self.dimension = self.dimension or found
        if found == 0 or found != self.dimension:
            expected = count_of(self.dimension, "number") if self.dimension else "numbers"
            raise self._source.error(batch.first, f"expected {expected}, found {found or 'none'}")
        finite = np.isfinite(batch.vectors)
        if not finite.all():
            row, column = np.argwhere(~finite)[0].tolist()
            value = batch.vectors[row, column]
            raise self._source.error(
                batch.first + row, f"expected finite float32 numbers, found {value} as number {column + 1}"
            )


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


def _insert_entries(
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


def _changed(embedding: Embedding, how: str) -> CusTextError:
    return CusTextError(
        f"embedding {embedding.name}: the tables tokens and vectors were changed after loading ({how}); "
        f"load {embedding.source} again with --replace (in Python: replace=True)"
    )
