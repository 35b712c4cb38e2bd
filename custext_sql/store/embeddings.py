"""Embeddings in the database: load, list, read back, drop."""

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Numbers, Points
from custext_sql.errors import CusTextError, SettingError, SourceError
from custext_sql.parameters import check_name, check_whole, suggest
from custext_sql.store.database import Database, reading, writing
from custext_sql.store.table_rows import insert_row, list_columns
from custext_sql.text.word_boundaries import fold_word
from custext_sql.vectors import Batch, VectorSource, find_header, open_stream, open_vectors

ShareDone = Callable[[float], None]


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


@dataclass(frozen=True)
class LoadReport:
    """What loading read and what it kept."""

    embedding: Embedding
    rows_read: int
    folded: int  # rows whose word, in lower case, was there already
    outside_vocabulary: int  # rows left out because the vocabulary does not have their word
    not_found: int | None  # words of the vocabulary that the source does not have; None if it was not read through
    seconds: float


def load_embeddings(
    database: Database,
    source: str | os.PathLike[str],
    *,
    name: str,
    format: str | None = None,
    member: str | None = None,
    limit: int | None = None,
    vocabulary: str | os.PathLike[str] | Iterable[str] | None = None,
    replace: bool = False,
    progress: ShareDone | None = None,
) -> LoadReport:
    """Load word vectors under a name, in one transaction.

    source: a vector file (GloVe, word2vec, fastText, .npz, Parquet; plain, .gz or in a .zip), `spacy:PIPELINE`, or
    "starter". Words are lower-cased; of rows that fold to one word the first is kept. limit: keep at most so many
    words. vocabulary: keep only these words; a file has one a line, alone or with numbers behind it. progress: called
    with the share of the source read so far.
    """
    started = time.perf_counter()
    check_name(name, "an embedding")
    if limit is not None and check_whole(limit, "limit") < 1:
        raise SettingError(f"limit must be at least 1; found {limit}")
    wanted = None if vocabulary is None else _read_vocabulary(vocabulary)
    with (
        ThreadPoolExecutor(1) as hashing,
        _open(os.fspath(source), format, member) as opened,
        writing(database) as connection,
    ):
        _make_room(connection, name, replace)
        digest = hashing.submit(opened.digest)
        intake = _Intake(opened, wanted, limit)
        for batch in opened.batches:
            if kept := intake.accept(batch):
                _insert(connection, name, *kept)
            if progress is not None:
                progress(opened.share_read())
            if intake.is_full:
                break
        if not intake.kept:
            raise SourceError(f"{opened.label}: no word was kept; expected at least one" + intake.why_empty())
        embedding = Embedding(
            name,
            opened.label,
            opened.format,
            intake.dimension,
            intake.kept,
            digest.result(),
            datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        )
        insert_row(connection, "embeddings", embedding)
    not_found = None if wanted is None or intake.is_full else len(wanted) - intake.kept
    return LoadReport(embedding, intake.rows, intake.folded, intake.outside, not_found, time.perf_counter() - started)


def list_embeddings(database: Database = None) -> list[Embedding]:
    """All embeddings, oldest first."""
    with reading(database) as connection:
        return _embeddings(connection)


def find_embedding(connection: duckdb.DuckDBPyConnection, name: str) -> Embedding:
    known = {embedding.name: embedding for embedding in _embeddings(connection)}
    if name not in known:
        raise CusTextError(f"there is no embedding {name!r}; {suggest(name, known)}")
    return known[name]


def read_tokens(connection: duckdb.DuckDBPyConnection, embedding: Embedding) -> list[str]:
    """The tokens in the order of their source."""
    rows = connection.sql(
        "SELECT position, token FROM tokens WHERE embedding = ? ORDER BY position", params=[embedding.name]
    ).to_arrow_table()
    if not np.array_equal(rows.column("position").to_numpy(), np.arange(embedding.size)):
        raise _changed(embedding, "tokens are missing or added")
    tokens: list[str] = rows.column("token").to_pylist()
    if len(set(tokens)) != len(tokens):
        raise _changed(embedding, "a token stands there twice")
    return tokens


def read_vectors(connection: duckdb.DuckDBPyConnection, embedding: Embedding, positions: Numbers) -> Points:
    """The vectors of the tokens at these positions, one a row, without a second copy of the table in memory."""
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


def drop_embedding(database: Database = None, *, name: str) -> None:
    """Remove an embedding's tokens and vectors. Mappings built from it stay: they stand on their own."""
    with writing(database) as connection:
        find_embedding(connection, name)
        _delete(connection, name)


def _embeddings(connection: duckdb.DuckDBPyConnection) -> list[Embedding]:
    rows = connection.execute(f"SELECT {list_columns(Embedding)} FROM embeddings ORDER BY created_at, name").fetchall()
    return [Embedding(*row) for row in rows]


def _delete(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    for table, column in (("embeddings", "name"), ("tokens", "embedding"), ("vectors", "embedding")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [name])


def _open(source: str, format: str | None, member: str | None) -> VectorSource:
    if source == "starter":
        from custext_sql import starter  # it loads embeddings, so it imports this module

        if format is not None or member is not None:
            raise SettingError("--format and --member are for files; the starter vectors are none")
        return starter.open_starter()
    return open_vectors(source, format, member)


def _make_room(connection: duckdb.DuckDBPyConnection, name: str, replace: bool) -> None:
    if all(embedding.name != name for embedding in _embeddings(connection)):
        return
    if not replace:
        raise SettingError(
            f"there is an embedding {name!r} already; replace it (--replace, replace=True), or choose another name"
        )
    _delete(connection, name)


def _read_vocabulary(vocabulary: str | os.PathLike[str] | Iterable[str]) -> frozenset[str]:
    if not isinstance(vocabulary, str | os.PathLike):
        return frozenset(map(fold_word, vocabulary))
    stream = open_stream(Path(vocabulary))
    try:
        text = bytearray()
        while chunk := stream.read(1 << 24):
            text += chunk
    finally:
        stream.close()
    try:
        lines = text.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{stream.label}, line {line}: expected UTF-8, found other bytes") from None
    if find_header(lines[0].encode()) and any(len(line.split()) > 2 for line in lines[1:2]):
        del lines[0]  # of a word2vec or fastText file
    words = frozenset(fold_word(line.rstrip("\r").partition(" ")[0].partition("\t")[0]) for line in lines) - {""}
    if not words:
        raise SourceError(f"{stream.label}: expected one word a line, found none")
    return words


class _Intake:
    """Decides row by row what is kept, and counts what is not."""

    def __init__(self, source: VectorSource, wanted: frozenset[str] | None, limit: int | None) -> None:
        self._source, self._wanted, self._limit = source, wanted, limit
        self._seen: set[str] = set()
        self.dimension = 0
        self.rows = self.folded = self.outside = self.kept = 0

    @property
    def is_full(self) -> bool:
        return self._limit is not None and self.kept >= self._limit

    def why_empty(self) -> str:
        return f" ({self.outside} rows are outside the vocabulary)" if self.outside else ""

    def accept(self, batch: Batch) -> tuple[int, list[str], Points] | None:
        """The position of the first kept word, the kept words and their vectors, or None."""
        self._check(batch)
        words: list[str] = []
        rows: list[int] = []
        for row, raw in enumerate(batch.words):
            if self.kept + len(words) == self._limit:
                break
            self.rows += 1
            word = fold_word(raw)
            if not word:
                raise self._source.error(batch.first + row, "expected a word, found an empty one")
            if self._wanted is not None and word not in self._wanted:
                self.outside += 1
            elif word in self._seen:
                self.folded += 1
            else:
                self._seen.add(word)
                words.append(word)
                rows.append(row)
        self._check_unicode(batch, rows)
        start = self.kept
        self.kept += len(words)
        if not words:
            return None
        return start, words, batch.vectors if len(rows) == len(batch.vectors) else batch.vectors[rows]

    def _check_unicode(self, batch: Batch, rows: list[int]) -> None:
        for row in rows:
            try:
                batch.words[row].encode()
            except UnicodeEncodeError:
                raise self._source.error(batch.first + row, "expected valid Unicode, found a lone surrogate") from None

    def _check(self, batch: Batch) -> None:
        found = batch.vectors.shape[1]
        self.dimension = self.dimension or found
        if found == 0 or found != self.dimension:
            raise self._source.error(batch.first, f"expected {self.dimension or 'some'} numbers, found {found}")
        finite = np.isfinite(batch.vectors)
        if not finite.all():
            row, column = (int(index[0]) for index in np.nonzero(~finite))
            value = batch.vectors[row, column]
            raise self._source.error(
                batch.first + row, f"expected finite numbers within float32, found {value} as number {column + 1}"
            )


def _insert(connection: duckdb.DuckDBPyConnection, name: str, start: int, words: list[str], vectors: Points) -> None:
    offsets = np.arange(len(words) + 1, dtype=np.int32) * np.int32(vectors.shape[1])
    batch = pa.table(
        {
            "position": pa.array(np.arange(start, start + len(words), dtype=np.int32)),
            "token": pa.array(words, pa.string()),
            "vector": pa.ListArray.from_arrays(pa.array(offsets), pa.array(vectors.reshape(-1))),
        }
    )
    connection.register("custext_batch", batch)
    connection.execute("INSERT INTO tokens BY NAME SELECT ? AS embedding, position, token FROM custext_batch", [name])
    connection.execute("INSERT INTO vectors BY NAME SELECT ? AS embedding, position, vector FROM custext_batch", [name])
    connection.unregister("custext_batch")
