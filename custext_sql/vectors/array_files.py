"""Reads word vectors that are arrays: NumPy archives, Parquet, word2vec's binary format, and arrays in memory."""

import hashlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from custext_sql.arrays import Points
from custext_sql.errors import SourceError, tell_arrow_type
from custext_sql.parameters import count_of
from custext_sql.vectors.source import Batch, Stream, VectorSource, label_of, one_line, row_error
from custext_sql.vectors.text_files import find_header

_ROWS = 8192
_BLOCK = 4 << 20
_LONGEST_WORD = 1 << 16


def read_npz(path: Path, advance: Callable[[float], None]) -> Generator[Batch, None, None]:
    """Yield the batches of an archive that contains one array of words and one matrix, under any names."""
    label = label_of(path.name)
    arrays = _archived_arrays(path, label)
    words = [array for array in arrays if array.ndim == 1 and array.dtype.kind in "US"]
    matrices = [array for array in arrays if array.ndim == 2 and array.dtype.kind in "fiu"]
    del arrays
    if len(words) != 1 or len(matrices) != 1:
        raise SourceError(
            f"{label}: expected one array of words and one matrix of numbers; found {count_of(len(words), 'array')} of "
            f"words and {count_of(len(matrices), 'matrix', 'matrices')}"
        )
    names, matrix = words[0], matrices[0]
    if len(names) != len(matrix):
        raise SourceError(
            f"{label}: expected one row of the matrix per word; found {count_of(len(names), 'word')} and "
            f"{count_of(len(matrix), 'row')}"
        )
    if not len(names):
        raise SourceError(f"{label}: expected words and their numbers; found no rows")
    for start in range(0, len(names), _ROWS):
        part = names[start : start + _ROWS]
        try:
            listed = part.tolist() if part.dtype.kind == "U" else np.char.decode(part, "utf-8").tolist()
        except (UnicodeDecodeError, SystemError):
            raise SourceError(f"{label}, rows {start + 1} to {start + len(part)}: expected words in UTF-8") from None
        yield Batch(listed, _to_float32(matrix[start : start + _ROWS]), start + 1)
        advance(min(1.0, (start + _ROWS) / len(names)))


def _archived_arrays(path: Path, label: str) -> list[npt.NDArray[Any]]:
    try:
        with path.open("rb") as file:  # np.load leaves a file open when it fails
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise SourceError(f"{label}: expected a NumPy .npz archive, found a single array")
            found = [archive[name] for name in archive.files]
    except SourceError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen types for damaged archives
        raise SourceError(
            f"{label}: expected a NumPy .npz archive of plain arrays; reading it failed: {one_line(error)}"
        ) from None
    return [array for array in found if isinstance(array, np.ndarray)]


def read_parquet(path: Path, advance: Callable[[float], None]) -> Generator[Batch, None, None]:
    """Yield the batches of a file with a text column and one column of lists, or one float column per dimension."""
    label = label_of(path.name)
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{label}: cannot read the Parquet file: {one_line(error)}") from None
    with file:
        word, lists, numbers = _columns(label, file.schema_arrow)
        first, dimension = 1, 0
        try:
            for records in file.iter_batches(_ROWS, columns=[word, *([lists] if lists is not None else numbers)]):
                words = _word_rows(label, records.column(word), word, first)
                if lists is None:
                    vectors = _number_rows(label, records, numbers, first)
                else:
                    vectors = _list_rows(label, records.column(lists), lists, first, dimension)
                dimension = vectors.shape[1]
                yield Batch(words, vectors, first)
                first += len(records)
                advance(min(1.0, first / max(1, file.metadata.num_rows)))
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{label}: the file is damaged near row {first}: {one_line(error)}") from None
        if first == 1:
            raise SourceError(f"{label}: expected words and their numbers; found no rows")


def _columns(label: str, schema: pa.Schema) -> tuple[str, str | None, list[str]]:
    """Return the names of the word column, of the list column if there is one, and of the float columns."""
    words = [field.name for field in schema if _is_text(field.type)]
    lists = [field.name for field in schema if _is_list(field.type)]
    numbers = [field.name for field in schema if pa.types.is_floating(field.type)]
    if len(words) != 1 or len(lists) > 1 or not (lists or numbers) or len(set(schema.names)) != len(schema.names):
        found = ", ".join(f"{field.name} {tell_arrow_type(field.type)}" for field in list(schema)[:8]) or "no columns"
        raise SourceError(
            f"{label}: expected one text column and one column of number lists, or one float column per dimension; "
            f"found {found}"
        )
    return words[0], lists[0] if lists else None, numbers


def _word_rows(label: str, column: pa.Array, name: str, first: int) -> list[str]:
    _refuse_null(label, column, f"a word in column {name!r}", first)
    try:
        words: list[str] = column.to_pylist()
    except UnicodeDecodeError:
        last = first + len(column) - 1
        raise SourceError(f"{label}, rows {first} to {last}: expected UTF-8 in column {name!r}") from None
    return words


def _list_rows(label: str, column: pa.Array, name: str, first: int, dimension: int) -> Points:
    _refuse_null(label, column, f"a list in column {name!r}", first)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    expected = dimension or int(lengths[0])
    if (lengths != expected).any():
        odd = int(np.argmax(lengths != expected))
        raise row_error(label, "row", first + odd, f"expected {count_of(expected, 'number')}, found {lengths[odd]}")
    values = column.flatten()
    if values.null_count:
        odd = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False))) // max(1, expected)
        raise row_error(label, "row", first + odd, f"expected numbers in column {name!r}, found NULL")
    return _to_float32(values.to_numpy(zero_copy_only=False).reshape(len(column), expected))


def _number_rows(label: str, records: pa.RecordBatch, names: list[str], first: int) -> Points:
    rows = np.empty((len(names), len(records)), dtype=np.float32)
    for index, name in enumerate(names):
        column = records.column(name)
        _refuse_null(label, column, f"a number in column {name!r}", first)
        rows[index] = _to_float32(column.to_numpy(zero_copy_only=False))
    return np.ascontiguousarray(rows.T)


def _refuse_null(label: str, column: pa.Array, expected: str, first: int) -> None:
    if column.null_count:
        row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise row_error(label, "row", row, f"expected {expected}, found NULL")


def _to_float32(values: npt.NDArray[np.generic]) -> Points:
    with np.errstate(over="ignore"):  # numbers too large for float32 become infinite, and are refused later
        return np.ascontiguousarray(values, dtype=np.float32)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def read_binary(stream: Stream) -> Generator[Batch, None, None]:
    """Yield the batches of a word2vec binary file. Errors give the number of the word.

    It has a header, then for each word its bytes, a space, and float32 values.
    """
    header = find_header(stream.peek(1 << 12))
    if header is None or header.dimension < 1:
        raise SourceError(f"{stream.label}: expected a header of two numbers, the word count and the dimension")
    stream.read(header.length)
    if header.words == 0:
        raise SourceError(f"{stream.label}: expected words; found a header that declares none")
    done, rest = 0, b""
    while done < header.words:
        chunk = stream.read(_BLOCK)
        buffer = rest + chunk
        words, values, end = _split_records(buffer, header.words - done, 4 * header.dimension)
        if words:
            yield _read_records(stream.label, words, values, header.dimension, done + 1)
        done, rest = done + len(words), buffer[end:]
        if done < header.words and not chunk:
            expected = f"{count_of(header.words, 'word')} of {count_of(header.dimension, 'number')}"
            raise row_error(stream.label, "word", done + 1, f"the header declares {expected}; the file ends here")
        if len(rest) > _LONGEST_WORD + 4 * header.dimension and b" " not in rest[:_LONGEST_WORD]:
            raise row_error(stream.label, "word", done + 1, "expected a word that ends with a space")
    if (rest + stream.read(16)).strip(b"\r\n"):
        raise SourceError(
            f"{stream.label}: the header declares {count_of(header.words, 'word')}; found more data after them"
        )


def _split_records(buffer: bytes, count: int, width: int) -> tuple[list[bytes], list[bytes], int]:
    """Return up to `count` whole records, as words and value bytes, and where the last one ends."""
    words: list[bytes] = []
    values: list[bytes] = []
    position = 0
    while len(words) < count:
        space = buffer.find(b" ", position)
        end = space + 1 + width
        if space < 0 or end > len(buffer):
            break
        words.append(buffer[position:space])
        values.append(buffer[space + 1 : end])
        position = end
    return words, values, position


def _read_records(label: str, words: list[bytes], values: list[bytes], dimension: int, first: int) -> Batch:
    vectors = np.frombuffer(b"".join(values), dtype="<f4").reshape(len(words), dimension).astype(np.float32, copy=False)
    decoded = []
    for index, word in enumerate(words):
        try:
            decoded.append(word.lstrip(b"\n").decode())  # some writers end each record with a newline
        except UnicodeDecodeError:
            raise row_error(label, "word", first + index, "expected UTF-8, found other bytes") from None
    return Batch(decoded, vectors, first)


def open_word_vectors(
    words: Sequence[str], vectors: Any, *, label: str = "the array", format: str = "array"
) -> VectorSource:
    """Open words and their vectors as a source. vectors: anything that NumPy converts to a matrix of numbers.

    label: the name of the source in messages. format: its format in the database. Raise SourceError if the words are
    not strings or the vectors are not one row of numbers per word.
    """
    if not isinstance(words, Sequence | np.ndarray) or isinstance(words, str):
        raise SourceError(f"expected a sequence of words; found {type(words).__name__}")
    words = list(words)
    if wrong := [type(word).__name__ for word in words if not isinstance(word, str)]:
        raise SourceError(f"expected words as strings; found {wrong[0]}")
    try:
        matrix = _read_matrix(vectors)
    except (TypeError, ValueError, OverflowError):
        raise SourceError("expected an array of numbers with one row per word; found something else") from None
    if matrix.ndim != 2 or len(matrix) != len(words):
        found = " x ".join(map(str, matrix.shape)) or "a single number"
        raise SourceError(f"expected an array with one row for each of {count_of(len(words), 'word')}; found {found}")
    share = [0.0]

    def batches() -> Generator[Batch, None, None]:
        for start in range(0, len(words), _ROWS):
            yield Batch(words[start : start + _ROWS], matrix[start : start + _ROWS], start + 1)
            share[0] = min(1.0, (start + _ROWS) / len(words))

    def digest() -> str:
        content = hashlib.sha256("\n".join(words).encode(errors="surrogatepass") + b"\n")
        content.update(np.ascontiguousarray(matrix).astype("<f4", copy=False).tobytes())
        return content.hexdigest()

    return VectorSource(label, format, "row", batches(), lambda: share[0], digest)


def _read_matrix(vectors: Any) -> Points:
    """Return the numbers in float32. Raise ValueError if they are complex or masked."""
    found = np.asanyarray(vectors)
    if found.dtype.kind == "c" or (isinstance(found, np.ma.MaskedArray) and np.ma.is_masked(found)):
        raise ValueError(found.dtype)
    with np.errstate(over="ignore"):  # as above
        return np.asarray(found, dtype=np.float32)
