"""NumPy archives and Parquet files."""

import zipfile
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from custext_sql.errors import SourceError
from custext_sql.vector_files.source import Batch, row_error

_ROWS = 8192


def read_npz(path: Path, advance: Callable[[float], None]) -> Generator[Batch, None, None]:
    """Batches of an archive with one array of words and one matrix, whatever their names."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = [archive[name] for name in archive.files]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SourceError(f"{path.name}: cannot read the NumPy archive: {error}") from None
    words = [array for array in arrays if array.ndim == 1 and array.dtype.kind in "US"]
    matrices = [array for array in arrays if array.ndim == 2 and array.dtype.kind in "fiu"]
    del arrays
    if len(words) != 1 or len(matrices) != 1 or len(words[0]) != len(matrices[0]):
        raise SourceError(
            f"{path.name}: expected one array of words and one matrix with a row for each, "
            f"found {len(words)} and {len(matrices)}" + (" of unequal length" if words and matrices else "")
        )
    names, matrix = words[0], matrices[0]
    if names.dtype.kind == "S":
        try:
            names = np.char.decode(names, "utf-8")
        except UnicodeDecodeError:
            raise SourceError(f"{path.name}: expected words in UTF-8, found other bytes") from None
    for start in range(0, len(names), _ROWS):
        yield Batch(names[start : start + _ROWS].tolist(), _to_float32(matrix[start : start + _ROWS]), start + 1)
        advance(min(1.0, (start + _ROWS) / len(names)))


def read_parquet(path: Path, advance: Callable[[float], None]) -> Generator[Batch, None, None]:
    """Batches of a file with a text column and either one column of lists or a numeric column a dimension."""
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path.name}: cannot read the Parquet file: {error}") from None
    with file:
        word, lists, numbers = _columns(path, file.schema_arrow)
        first = 1
        try:
            for records in file.iter_batches(_ROWS, columns=[word, *([lists] if lists else numbers)]):
                column = records.column(word)
                if column.null_count:
                    row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                    raise row_error(path.name, "row", row, f"expected a word in column {word!r}, found NULL")
                vectors = (
                    _list_rows(path, records.column(lists), lists, first)
                    if lists
                    else _number_rows(path, records, numbers, first)
                )
                yield Batch(column.to_pylist(), vectors, first)
                first += len(records)
                advance(min(1.0, first / max(1, file.metadata.num_rows)))
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{path.name}: the file is damaged near row {first}: {error}") from None


def _columns(path: Path, schema: pa.Schema) -> tuple[str, str | None, list[str]]:
    """The names of the column of words, of the column of lists if there is one, and of the numeric columns."""
    words = [field.name for field in schema if _is_text(field.type)]
    lists = [field.name for field in schema if _is_list(field.type) and _is_number(field.type.value_type)]
    numbers = [field.name for field in schema if _is_number(field.type)]
    if len(words) != 1 or len(lists) > 1 or not (lists or numbers):
        found = ", ".join(f"{field.name} {field.type}" for field in list(schema)[:8]) or "no columns"
        raise SourceError(
            f"{path.name}: expected one text column and one column of number lists, or a numeric column for each "
            f"dimension; found {found}"
        )
    return words[0], lists[0] if lists else None, numbers


def _list_rows(path: Path, column: pa.Array, name: str, first: int) -> npt.NDArray[np.float32]:
    if column.null_count:
        row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise row_error(path.name, "row", row, f"expected a list in column {name!r}, found NULL")
    lengths = (
        column.value_lengths().to_numpy(zero_copy_only=False)
        if not pa.types.is_fixed_size_list(column.type)
        else np.full(len(column), column.type.list_size)
    )
    if len(lengths) and (lengths != lengths[0]).any():
        odd = int(np.argmax(lengths != lengths[0]))
        raise row_error(path.name, "row", first + odd, f"expected {lengths[0]} numbers, found {lengths[odd]}")
    values = column.flatten().to_numpy(zero_copy_only=False)  # a NULL inside becomes NaN, which is refused later
    return _to_float32(values.reshape(len(column), -1))


def _number_rows(path: Path, records: pa.RecordBatch, names: list[str], first: int) -> npt.NDArray[np.float32]:
    rows = np.empty((len(names), len(records)), dtype=np.float32)
    for index, name in enumerate(names):
        rows[index] = records.column(name).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(rows.T)


def _to_float32(matrix: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):  # too large becomes infinite, which is refused later
        return np.ascontiguousarray(matrix, dtype=np.float32)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
