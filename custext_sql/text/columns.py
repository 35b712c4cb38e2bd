"""Converts columns of texts (lists, NumPy, pandas, polars, Arrow) to one buffer of bytes, and back."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from custext_sql.arrays import Bytes, Flags, Places
from custext_sql.errors import SettingError, tell_arrow_type
from custext_sql.text.encoded_text import join_texts

_BLOCK = 1 << 20  # bytes per block: enough that NumPy works for long stretches without the interpreter lock
_FEW = 50  # rows that take less time than a call of Arrow
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_NARROW = (1 << 31) - 1  # bytes of text that Arrow's string and string_view can hold, because of 32-bit offsets


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Texts end to end in UTF-8.

    offsets: where each text begins and ends. missing: which texts are missing; None if none is.
    """

    text: Bytes
    offsets: Places
    missing: Flags | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> "TextColumn":
        """Return some consecutive rows."""
        first, last, _ = rows.indices(len(self))
        start, end = self.offsets[first], self.offsets[last]
        missing = None if self.missing is None else self.missing[rows]
        return TextColumn(self.text[start:end], self.offsets[first : last + 1] - start, missing)

    @classmethod
    def from_arrow(cls, array: pa.Array | pa.ChunkedArray) -> "TextColumn":
        """Return a column from an array of any text type of Arrow; SettingError if it has other values."""
        kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
        if not any(is_kind(_type_of_values(array)) for is_kind in kinds):
            raise SettingError(f"texts must be strings or missing; found a column of {tell_arrow_type(array.type)}")
        try:
            array.validate(full=True)  # also data from DuckDB, which does not validate Arrow tables
        except pa.ArrowException:
            raise SettingError("texts must be valid Arrow data in UTF-8; found an invalid column") from None
        if isinstance(array, pa.ChunkedArray):  # several chunks may exceed 2 GB together
            chunks = array.chunks or [pa.nulls(0, pa.large_string())]
            array = chunks[0] if len(chunks) == 1 else pa.concat_arrays([_to_large_string(chunk) for chunk in chunks])
        if not pa.types.is_string(array.type):
            array = _to_large_string(array)
        missing = None
        if array.null_count:
            missing = array.is_null().to_numpy(zero_copy_only=False)
            array = array.fill_null("")  # the bytes below a null may be anything
        if not len(array):
            return cls(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
        _, offsets, content = array.buffers()
        width = np.int32 if pa.types.is_string(array.type) else np.int64
        places = np.frombuffer(offsets, dtype=width)[array.offset : array.offset + len(array) + 1]
        text = np.frombuffer(content or b"", dtype=np.uint8)[places[0] : places[-1]]
        return cls(text, places.astype(np.int64) - int(places[0]), missing)

    def to_arrow(self) -> pa.Array:
        """Return the column as an Arrow array of type large_string."""
        validity = None if self.missing is None else pa.py_buffer(np.packbits(~self.missing, bitorder="little"))
        offsets, text = pa.py_buffer(self.offsets), pa.py_buffer(self.text)
        return pa.LargeStringArray.from_buffers(len(self), offsets, text, validity)


def _type_of_values(texts: pa.Array | pa.ChunkedArray) -> pa.DataType:
    return texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type


def _to_large_string(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return array.dictionary.cast(pa.large_string()).take(array.indices)
    return array if pa.types.is_large_string(array.type) else array.cast(pa.large_string())


def join_rows(*columns: tuple[Bytes, Places]) -> list[bytes]:
    """Return the bytes of each row of some columns: of `ab`, `c` and `d`, `ef` they are `abd`, `cef`."""
    if len(columns[0][1]) < _FEW:
        parts = [[text[start:end].tobytes() for start, end in pairwise(offsets.tolist())] for text, offsets in columns]
        return [b"".join(row) for row in zip(*parts, strict=True)]
    kind = pa.large_binary()
    arrays = [
        pa.LargeBinaryArray.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)])
        for text, offsets in columns
    ]
    rows: list[bytes] = pc.binary_join_element_wise(*arrays, pa.scalar(b"", kind)).to_pylist()
    return rows


def join_blocks(blocks: Sequence[tuple[Bytes, Places]], missing: Flags | None) -> TextColumn:
    """Join blocks of texts and offsets to one column. missing: which texts of the column are missing."""
    texts, offsets, size = [np.zeros(0, dtype=np.uint8)], [np.zeros(1, dtype=np.int64)], 0
    for text, places in blocks:  # a block may have no texts
        texts.append(text)
        offsets.append(places[1:] + size)
        size += len(text)
    return TextColumn(np.concatenate(texts), np.concatenate(offsets), missing)


def split_column(column: TextColumn) -> Iterator[tuple[slice, TextColumn]]:
    """Return the blocks of a column, each with the slice of its rows."""
    return ((rows, column[rows]) for rows in slice_texts(column.offsets))


def slice_texts(offsets: Places) -> Iterator[slice]:
    """Yield slices of consecutive texts, each of about one block."""
    start = 0
    while start < len(offsets) - 1:
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _BLOCK, side="right")) - 1)
        yield slice(start, end)
        start = end


def open_column(texts: Any) -> tuple[TextColumn, Callable[[TextColumn], Any]]:
    """Return the texts of a list or column, and a function that turns new texts into the same type.

    Raise SettingError if it does not have strings or missing values.
    """
    kind = f"{type(texts).__module__.partition('.')[0]}.{type(texts).__name__}"
    if kind == "polars.Series":
        return TextColumn.from_arrow(texts.to_arrow()), lambda column: type(texts)(texts.name, column.to_arrow())
    if kind in ("pandas.Series", "pandas.Index"):
        return _from_python(texts), lambda column: _like_pandas(texts, column)
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        return TextColumn.from_arrow(texts), lambda column: _like_arrow(texts, column)
    if isinstance(texts, np.ndarray):
        if texts.ndim != 1:
            raise SettingError(f"texts must be one column; found an array of {texts.ndim} dimensions")
        if texts.dtype.kind == "S" or isinstance(texts, np.ma.MaskedArray):
            raise SettingError("texts must be strings or None; found an array of bytes or a masked array")
        return _from_python(texts.tolist()), lambda column: _like_numpy(texts, column)
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Sequence):
        raise SettingError(
            f"texts must be a list or a NumPy, pandas, polars or Arrow column; found {type(texts).__name__}"
        )
    return _from_python(texts), lambda column: column.to_arrow().to_pylist()


def _from_python(texts: Any) -> TextColumn:
    """Return a column in which None and the missing values of pandas are missing texts."""
    try:
        if isinstance(texts, list) and all(type(text) is str for text in texts):
            return TextColumn(*join_texts(texts))  # the conversion below would load pandas, if that is installed
        return TextColumn.from_arrow(pa.array(texts, pa.large_string(), from_pandas=True))
    except UnicodeEncodeError:
        place = next(at for at, text in enumerate(texts) if isinstance(text, str) and _SURROGATE.search(text))
        problem = "valid Unicode; found a lone surrogate"
    except (pa.ArrowException, TypeError, UnicodeDecodeError):
        others = ((place, text) for place, text in enumerate(texts) if text is not None and not isinstance(text, str))
        place, text = next(others, (0, ""))
        problem = f"strings or None; found {type(text).__name__}" if text else "valid Unicode; found an invalid text"
    raise SettingError(f"texts must be {problem} at index {place}")


def _like_arrow(texts: pa.Array | pa.ChunkedArray, column: TextColumn) -> pa.Array | pa.ChunkedArray:
    wanted = _type_of_values(texts)
    if pa.types.is_null(wanted):
        return texts
    if not isinstance(texts, pa.ChunkedArray):
        return _to_type(column, wanted)
    bounds = np.cumsum([0, *map(len, texts.chunks)]).tolist()
    return pa.chunked_array([_to_type(column[slice(*rows)], wanted) for rows in pairwise(bounds)], wanted)


def _to_type(column: TextColumn, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_large_string(wanted) and len(column.text) > _LARGEST_NARROW:
        raise SettingError(
            f"the sanitized texts exceed 2 GB, the most that an Arrow array of {tell_arrow_type(wanted)} can hold; "
            "pass it as large_string or in chunks"
        )
    return column.to_arrow().cast(wanted)


def _like_numpy(texts: npt.NDArray[Any], column: TextColumn) -> npt.NDArray[Any]:
    result = column.to_arrow().to_pylist()
    if texts.dtype.kind == "U":
        return np.array(result, dtype=np.str_)
    missing = getattr(texts.dtype, "na_object", None)  # of NumPy's StringDType
    return np.array([missing if text is None else text for text in result], dtype=texts.dtype)


def _like_pandas(texts: Any, column: TextColumn) -> Any:
    dtype = object if str(texts.dtype) == "category" else texts.dtype
    index = {"index": texts.index} if hasattr(texts, "index") else {}  # an Index has none itself
    return type(texts)(column.to_arrow().to_pylist(), name=texts.name, dtype=dtype, **index)
