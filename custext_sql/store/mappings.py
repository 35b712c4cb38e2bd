"""Mappings in a database: reads and writes them, on an open connection.

They are in the tables mappings, groups and score_rows; the name of the default mapping is a setting.
"""

from collections.abc import Iterator

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from custext_sql.arrays import Places, Scores, Sizes
from custext_sql.errors import MappingError
from custext_sql.mapping.mapping import Mapping, MappingInfo, find_flaw
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES
from custext_sql.parameters import check_type, suggest
from custext_sql.store.database_files import insert_row, list_columns
from custext_sql.store.stopwords import SHIPPED_LANGUAGE

_CELLS = 1 << 21  # scores inserted at a time
_DEFAULT = "default_mapping"


def read_mapping(connection: duckdb.DuckDBPyConnection, info: MappingInfo) -> Mapping:
    """Return the mapping of that row; MappingError if its tables do not match its fingerprint."""
    try:
        words, sizes, ranks = _read_groups(connection, info)
        scores = _read_scores(connection, info, sizes)
    except TypeError:  # a column has NULLs or another type
        raise _changed(info, "a column has NULLs, or another type") from None
    mapping = Mapping(info, words, sizes, scores, ranks)
    flaw = find_flaw(mapping)
    if flaw is not None:
        raise _changed(info, flaw)
    return mapping


def save_mapping(connection: duckdb.DuckDBPyConnection, mapping: Mapping) -> None:
    """Insert a mapping within the caller's transaction; it becomes the default if there is none."""
    insert_row(connection, "mappings", mapping.info)
    name = mapping.info.name
    group_of, position = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes), _positions(mapping.sizes)
    groups = pa.table({"token": list(mapping.words), "group_id": group_of, "position": position, "rank": mapping.ranks})
    _insert(connection, "groups", name, groups)
    for batch in _score_batches(mapping, group_of, position):
        _insert(connection, "score_rows", name, batch)
    if default_name(connection) is None:
        set_default(connection, name)


def delete_mapping(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Delete a mapping with its groups and scores. The name of the default mapping is left unchanged."""
    for table, column in (("mappings", "name"), ("groups", "mapping"), ("score_rows", "mapping")):
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


def _score_batches(mapping: Mapping, group_of: Sizes, position: Places) -> Iterator[pa.Table]:
    """Yield the rows of scores, a few million scores at a time, in the order of the mapping."""
    offsets = np.append(0, np.cumsum(mapping.sizes[group_of]))
    first = 0
    while first < len(group_of):
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _CELLS, side="right")) - 1)
        begin, end = offsets[first], offsets[last]
        row_offsets = (offsets[first : last + 1] - begin).astype(np.int32)
        yield pa.table(
            {
                "group_id": group_of[first:last],
                "position": position[first:last],
                "units": pa.ListArray.from_arrays(row_offsets, mapping.scores[begin:end]),
            }
        )
        first = last


def _read_table(connection: duckdb.DuckDBPyConnection, info: MappingInfo, table: str, columns: str) -> pa.Table:
    """Return rows of a mapping, with group_id and position, ordered by them."""
    rows = connection.sql(
        f"SELECT group_id, position, {columns} FROM {table} WHERE mapping = ?", params=[info.name]
    ).to_arrow_table()
    places = read_integers(rows.column("group_id")).astype(np.int64) * 2**32 + read_integers(rows.column("position"))
    if (places[1:] <= places[:-1]).any():  # rows are stored in order, but nothing keeps them so
        rows = rows.take(np.argsort(places, kind="stable"))
    return rows


def _read_groups(connection: duckdb.DuckDBPyConnection, info: MappingInfo) -> tuple[tuple[str, ...], Sizes, Places]:
    """Return the words, the size of each group, and the rank of each word."""
    table = _read_table(connection, info, "groups", "token, rank")
    group_of, tokens = read_integers(table.column("group_id")), table.column("token")
    if tokens.null_count:
        raise TypeError("a token is NULL")
    if not len(group_of) or len(group_of) != info.words:
        raise _changed(info, "words were removed or added")
    if group_of.min() != 0 or group_of.max() != info.group_count - 1:
        raise _changed(info, "groups were removed or added")
    sizes = np.bincount(group_of)
    if (read_integers(table.column("position")) != _positions(sizes)).any():
        raise _changed(info, "positions within a group are not 0, 1, 2, ...")
    ranks = read_integers(table.column("rank")).astype(np.int64)
    return tuple(tokens.to_pylist()), sizes.astype(np.int64), ranks


def _positions(sizes: Sizes) -> Places:
    """Return the position of each word within its group."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _read_scores(connection: duckdb.DuckDBPyConnection, info: MappingInfo, sizes: Sizes) -> Scores:
    table = _read_table(connection, info, "score_rows", "units")
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    if table.num_rows != len(group_of):
        raise _changed(info, "rows of scores were removed or added")
    groups, positions = read_integers(table.column("group_id")), read_integers(table.column("position"))
    if (groups != group_of).any() or (positions != _positions(sizes)).any():
        raise _changed(info, "rows of scores do not match the words of the groups")
    lengths, scores = read_lists(table.column("units"))
    if (lengths != sizes[group_of]).any():
        raise _changed(info, "a word has more or fewer scores than its group has words")
    if scores is None:
        raise _changed(info, "a score is NULL")
    return scores


def read_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Return a column of 32-bit integers; TypeError if it has NULLs or another type.

    Arrow's own conversions load pandas if it is installed, or pyarrow.compute, which take long.
    """
    if column.null_count or not pa.types.is_int32(column.type):
        raise TypeError(f"expected 32-bit integers without NULLs, found {column.null_count} NULLs and {column.type}")
    found: npt.NDArray[np.int32] = np.from_dlpack(column.combine_chunks())  # type: ignore[assignment]
    return found


def read_lists(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], Scores | None]:
    """Return the length of each list of 32-bit integers, and all integers end to end; None if one of them is NULL.

    TypeError if a list is NULL, or the column has another type.
    """
    if column.null_count or not pa.types.is_list(column.type):
        raise TypeError(f"expected lists without NULLs, found {column.null_count} NULLs and {column.type}")
    lists = column.combine_chunks()
    bounds = read_integers(pa.chunked_array([lists.offsets]))
    values = pa.chunked_array([lists.values.slice(bounds[0], bounds[-1] - bounds[0])])
    return np.diff(bounds), None if values.null_count else read_integers(values)


def _changed(info: MappingInfo, how: str) -> MappingError:
    return MappingError(
        f"mapping {info.name}: the tables groups and score_rows were changed after it was built ({how}), so it cannot "
        f"be used; {_rebuilding(info)}"
    )


def _rebuilding(info: MappingInfo) -> str:
    """Return how to build the same mapping again."""
    if info.measure not in MEASURES:
        return "rebuild it in Python with its similarity function and replace=True"
    return f"rebuild it with: custext map {write_options(info.recipe, info.k)} --name {info.name} --replace"


def write_options(recipe: Recipe, k: int) -> str:
    """Return the options of `custext map` for a mapping of this recipe, but with groups of k words."""
    options = f"--embedding {recipe.embedding} --k {k}"
    for option, value, usual in (
        ("measure", recipe.measure, "euclidean"),
        ("normalization", recipe.normalization, "group"),
        ("grouping", recipe.grouping, "greedy"),
        ("order", recipe.pivot_order, "file"),
        ("seed", recipe.seed, None),
        ("limit", recipe.word_limit, None),
    ):
        if value != usual:
            options += f" --{option} {value}"
    if recipe.stopword_language is not None:
        options += " --separate-stopwords"
        if recipe.stopword_language != SHIPPED_LANGUAGE:
            options += f" --language {recipe.stopword_language}"
    return options
