"""Reads and writes the tables mappings, groups and scores, and the name of the default mapping."""

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Places, Sizes, Units
from custext_sql.errors import MappingError
from custext_sql.mapping.mapping import Mapping, MappingInfo, fingerprint
from custext_sql.mapping.scoring import UNIT
from custext_sql.mapping.similarity import MEASURES
from custext_sql.parameters import check_type, suggest
from custext_sql.store.rows.columns import insert_row, list_columns

_CELLS = 1 << 21  # scores inserted at a time
_DEFAULT = "default_mapping"


def read_mapping(connection: duckdb.DuckDBPyConnection, info: MappingInfo) -> Mapping:
    """Return the mapping of that row; MappingError if its tables do not match its fingerprint."""
    words, sizes, ranks = _read_groups(connection, info)
    scores = _read_scores(connection, info, sizes)
    if fingerprint(words, sizes, scores) != info.fingerprint:
        raise _changed(info, "fingerprint mismatch")
    return Mapping(info, words, sizes, scores, ranks)


def save_mapping(connection: duckdb.DuckDBPyConnection, mapping: Mapping) -> None:
    """Insert a mapping within the caller's transaction; it becomes the default if there is none."""
    insert_row(connection, "mappings", mapping.info)
    name = mapping.info.name
    group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
    position = np.arange(len(mapping.words)) - mapping.word_starts[group_of]
    groups = pa.table({"token": list(mapping.words), "group_id": group_of, "position": position, "rank": mapping.ranks})
    _insert(connection, "groups", name, groups)
    for batch in _score_batches(mapping, group_of):
        _insert(connection, "scores", name, batch)
    if default_name(connection) is None:
        set_default(connection, name)


def delete_mapping(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Delete a mapping with its groups and scores. The name of the default mapping is left unchanged."""
    for table, column in (("mappings", "name"), ("groups", "mapping"), ("scores", "mapping")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [name])


def read_infos(connection: duckdb.DuckDBPyConnection) -> list[MappingInfo]:
    """Return the rows of all mappings in the order in which they were built."""
    columns = list_columns(MappingInfo)
    rows = connection.execute(f"SELECT {columns} FROM mappings ORDER BY created_at, rowid").fetchall()
    return [MappingInfo(*row) for row in rows]


def default_name(connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return the name of the default mapping, or None."""
    rows = connection.execute("SELECT value FROM settings WHERE key = ?", [_DEFAULT]).fetchall()
    return str(rows[0][0]) if rows else None


def find_mapping(connection: duckdb.DuckDBPyConnection, name: str | None) -> MappingInfo:
    """Return the row of the mapping of that name, or of the default one; MappingError if it does not exist."""
    known = {info.name: info for info in read_infos(connection)}
    if not known:
        raise MappingError("the database has no mapping yet; build one with: custext map --embedding NAME --k 20")
    name = default_name(connection) if name is None else name
    if name is None:
        raise MappingError(
            f"there is no default mapping; choose one with: custext use NAME (mappings: {', '.join(known)})"
        )
    check_type(name, str, "mapping must be the name of a mapping")
    if name not in known:
        raise MappingError(f"mapping {name!r} does not exist; {suggest(name, known, 'mappings')}")
    return known[name]


def forget_default(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Remove the default if it is this mapping."""
    connection.execute("DELETE FROM settings WHERE key = ? AND value = ?", [_DEFAULT, name])


def set_default(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Make a mapping the default one."""
    connection.execute("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", [_DEFAULT, name])


def _insert(connection: duckdb.DuckDBPyConnection, table: str, name: str, batch: pa.Table) -> None:
    """Insert rows of a mapping into a table that has the same columns."""
    connection.register("custext_batch", batch)
    connection.execute(f"INSERT INTO {table} BY NAME SELECT ? AS mapping, * FROM custext_batch", [name])
    connection.unregister("custext_batch")


def _score_batches(mapping: Mapping, group_of: Sizes) -> Iterator[pa.Table]:
    """Yield the scores with their words, a few million at a time, in the order of the mapping."""
    words = pa.array(mapping.words)
    row_sizes = mapping.sizes[group_of]
    row_ends = np.cumsum(row_sizes)
    first = 0
    while first < len(row_sizes):
        start = int(row_ends[first] - row_sizes[first])
        last = max(first + 1, int(np.searchsorted(row_ends, start + _CELLS, side="right")))
        sizes = row_sizes[first:last]
        rows = np.repeat(np.arange(first, last), sizes)
        columns = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        outputs = mapping.word_starts[group_of[rows]] + columns
        yield pa.table(
            {
                "group_id": group_of[rows],
                "input": pa.DictionaryArray.from_arrays(rows.astype(np.int32), words),
                "output": pa.DictionaryArray.from_arrays(outputs.astype(np.int32), words),
                "score": mapping.scores[start : start + len(rows)] / UNIT,
            }
        )
        first = last


def _read_groups(connection: duckdb.DuckDBPyConnection, info: MappingInfo) -> tuple[tuple[str, ...], Sizes, Places]:
    """Return the words, the size of each group, and the rank of each word."""
    table = connection.sql(
        "SELECT token, group_id, position, rank FROM groups WHERE mapping = ? ORDER BY group_id, position",
        params=[info.name],
    ).to_arrow_table()
    words = tuple(table.column("token").to_pylist())
    group_of = table.column("group_id").to_numpy().astype(np.int64)
    if len(words) != info.words or not len(words):
        raise _changed(info, "words were removed or added")
    if group_of.min() != 0 or group_of.max() != info.group_count - 1:
        raise _changed(info, "groups were removed or added")
    sizes = np.bincount(group_of)
    starts = np.cumsum(sizes) - sizes
    if (sizes < 2).any():
        raise _changed(info, "a word is alone in a group")
    if len(set(words)) != len(words):
        raise _changed(info, "a word is in two groups")
    if (table.column("position").to_numpy() != np.arange(len(words)) - starts[group_of]).any():
        raise _changed(info, "positions within a group are not 0, 1, 2, ...")
    ranks = table.column("rank").to_numpy().astype(np.int64)
    if ranks.min() < 0 or len(np.unique(ranks)) != len(ranks):
        raise _changed(info, "a rank is negative, or two words have the same rank")
    return words, sizes.astype(np.int64), ranks


def _read_scores(connection: duckdb.DuckDBPyConnection, info: MappingInfo, sizes: Sizes) -> Units:
    table = connection.sql(
        """
        SELECT scores.group_id, inputs.position AS input, outputs.position AS output, scores.score
        FROM scores
        LEFT JOIN groups AS inputs
          ON inputs.mapping = $name AND inputs.group_id = scores.group_id AND inputs.token = scores.input
        LEFT JOIN groups AS outputs
          ON outputs.mapping = $name AND outputs.group_id = scores.group_id AND outputs.token = scores.output
        WHERE scores.mapping = $name
        """,
        params={"name": info.name},
    ).to_arrow_table()
    if table.num_rows != (sizes**2).sum() or table.column("input").null_count or table.column("output").null_count:
        raise _changed(info, "scores were removed or added, or have a word from outside the group")
    group, row, column = (table.column(name).to_numpy().astype(np.int64) for name in ("group_id", "input", "output"))
    cells = (np.cumsum(sizes**2) - sizes**2)[group] + row * sizes[group] + column
    units = table.column("score").to_numpy() * UNIT
    if (np.bincount(cells, minlength=len(cells)) != 1).any():
        raise _changed(info, "a pair of words has two scores")
    if not (np.abs(units) <= UNIT).all() or (units != np.rint(units)).any():
        raise _changed(info, "a score is not a multiple of 2**-20 between -1 and 1")
    scores = np.empty(len(cells), dtype=np.int32)
    scores[cells] = units
    return scores


def _changed(info: MappingInfo, how: str) -> MappingError:
    return MappingError(
        f"mapping {info.name}: the tables groups and scores were changed after it was built ({how}), so it cannot be "
        f"used; {_rebuilding(info)}"
    )


def _rebuilding(info: MappingInfo) -> str:
    """Return how to build the same mapping again."""
    if info.measure not in MEASURES:
        return "rebuild it in Python with its similarity function and replace=True"
    options = f"--embedding {info.embedding} --k {info.k} --measure {info.measure} --normalization {info.normalization}"
    if info.grouping != "greedy":
        options += f" --grouping {info.grouping}"
    if info.seed is not None:
        options += f" --order {info.pivot_order} --seed {info.seed}"
    if info.stopword_language is not None:
        options += f" --separate-stopwords --language {info.stopword_language}"
    if info.word_limit is not None:
        options += f" --limit {info.word_limit}"
    return f"rebuild it with: custext map {options} --name {info.name} --replace"
