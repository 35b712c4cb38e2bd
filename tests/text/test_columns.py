"""Texts in every type of column are sanitized and returned in the same type."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from custext_sql import CusTextError, Sanitizer
from custext_sql.sanitizer.settings import Settings
from custext_sql.text.columns import TextColumn, open_column
from tests.small_mapping import small_mapping

TEXTS = ["zq alice", None, "", "zé ’ 中文 😀", "x" * 3000]


@pytest.fixture(scope="module")
def sanitizer() -> Sanitizer:
    return Sanitizer(small_mapping(["alice", "bob"], k=2), frozenset(), Settings.settle(policy="paper"))


def kind_of(texts: Any) -> type:
    return list if isinstance(texts, tuple) else type(texts)


def as_list(texts: Any) -> list[Any]:
    return texts.to_pylist() if isinstance(texts, (pa.Array, pa.ChunkedArray)) else list(texts)


def without_names(texts: list[Any]) -> list[Any]:
    """Assert that names are replaced and everything else is unchanged."""
    return [text.replace("bob", "alice") if isinstance(text, str) else None for text in texts]


COLUMNS: dict[str, Any] = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "NumPy objects": np.array(TEXTS, dtype=object),
    "NumPy strings": np.array(TEXTS, dtype=np.dtypes.StringDType(na_object=None)),
    "NumPy strings, NaN": np.array(
        [np.nan if text is None else text for text in TEXTS], dtype=np.dtypes.StringDType(na_object=np.nan)
    ),
    "pandas objects": pd.Series(TEXTS, dtype=object, index=[3, 1, 4, 1, 5], name="body"),
    "pandas strings": pd.Series(TEXTS, dtype="string", name="body"),
    "pandas str": pd.Series(TEXTS, dtype="str"),
    "pandas index": pd.Index(TEXTS, dtype=object, name="body"),
    "polars": pl.Series("body", TEXTS),
    "Arrow string": pa.array(TEXTS, pa.string()),
    "Arrow large_string": pa.array(TEXTS, pa.large_string()),
    "Arrow string_view": pa.array(TEXTS, pa.string_view()),
    "Arrow chunks": pa.chunked_array([pa.array(TEXTS[:2]), pa.array([], pa.string()), pa.array(TEXTS[2:])]),
    "Arrow slice": pa.array(["alice", None, *TEXTS, "bob"], pa.string()).slice(2, len(TEXTS)),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_comes_out_as_the_same_kind(sanitizer: Sanitizer, kind: str) -> None:
    given = COLUMNS[kind]
    for result in (sanitizer.sanitize_batch(given), sanitizer.release(given)[0]):
        assert kind_of(result) is kind_of(given)
        assert without_names(as_list(result)) == without_names(TEXTS)
        if hasattr(given, "dtype"):
            assert result.dtype == given.dtype
        if hasattr(given, "name"):
            assert result.name == given.name
        if isinstance(given, pd.Series):
            assert result.index.equals(given.index)
        if isinstance(given, (pa.Array, pa.ChunkedArray)):
            assert result.type == given.type
            result.validate(full=True)
        if isinstance(given, pa.ChunkedArray):
            assert [len(chunk) for chunk in result.chunks] == [len(chunk) for chunk in given.chunks]


def test_fixed_width_strings_may_grow(sanitizer: Sanitizer) -> None:
    strict = Sanitizer(sanitizer.mapping, frozenset(), Settings.settle(policy="strict"))
    assert strict.sanitize_batch(np.array(["zq", "a b"])).tolist() == ["<unk>", "<unk> <unk>"]


def test_categories_become_plain_texts(sanitizer: Sanitizer) -> None:
    """Two rows of the same category are drawn separately."""
    names = ["alice"] * 500
    for given in (
        pd.Series(names, dtype="category"),
        pl.Series(names, dtype=pl.Categorical),
        pa.array(names).dictionary_encode(),
    ):
        assert set(as_list(sanitizer.sanitize_batch(given))) == {"alice", "bob"}


@pytest.mark.parametrize(
    "empty",
    [[], np.array([], dtype=object), pa.array([], pa.string()), pa.chunked_array([], pa.string()), pl.Series([])],
)
def test_nothing_gives_nothing(sanitizer: Sanitizer, empty: Any) -> None:
    assert as_list(sanitizer.sanitize_batch(empty)) == []


def test_what_lies_below_a_null_is_never_read(sanitizer: Sanitizer) -> None:
    hidden = pa.array(["alice", "secret", "bob"]).buffers()
    validity = pa.py_buffer(bytes([0b101]))
    column = pa.StringArray.from_buffers(3, hidden[1], hidden[2], validity)
    result, receipt = sanitizer.release(column)
    assert result.to_pylist()[1] is None
    assert (receipt.rows, receipt.words, receipt.unknown_kept) == (2, 2, 0)
    assert b"secret" not in b"".join(bytes(buffer) for buffer in result.buffers() if buffer)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("alice", "must be a list or a NumPy, pandas, polars or Arrow column; found str"),
        (3, "found int"),
        ({"alice"}, "found set"),
        (["alice", 3], "strings or None; found int at index 1"),
        (np.array(["alice", 3.5], dtype=object), "found float at index 1"),
        (np.array([["a"]]), "one column; found an array of 2 dimensions"),
        (np.array([b"secret"]), "found an array of bytes or a masked array"),
        (np.ma.MaskedArray(["secret"], [True]), "found an array of bytes or a masked array"),
        (np.array([1.5]), "found float at index 0"),
        (pa.array([1, 2]), "a column of int64"),
        (pl.Series([1, 2]), "a column of int64"),
        (pd.Series([1, 2]), "found int"),
        (["alice", "secret\ud800"], "valid Unicode; found a lone surrogate at index 1"),
    ],
)
def test_other_things_are_refused_without_quoting_them(sanitizer: Sanitizer, texts: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message) as caught:
        sanitizer.sanitize_batch(texts)
    assert "secret" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(sanitizer: Sanitizer) -> None:
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xc3\x28"))
    with pytest.raises(CusTextError, match="valid Arrow data in UTF-8"):
        sanitizer.sanitize_batch(bad)


def test_eps_and_plus_may_differ_by_row(sanitizer: Sanitizer) -> None:
    columns = (np.array([100.0, 0.001] * 500), [100.0, 0.001] * 500, pd.Series([100.0, 0.001] * 500))
    for eps in columns:
        drawn = sanitizer.sanitize_batch(["alice"] * 1000, eps)
        assert drawn[::2].count("alice") == 500
        assert 100 < drawn[1::2].count("alice") < 400
    keeping = Sanitizer(sanitizer.mapping, frozenset({"alice"}))
    drawn = keeping.sanitize_batch(["alice"] * 1000, 0.001, [True, False] * 500)
    assert drawn[::2].count("alice") == 500 > drawn[1::2].count("alice")
    wrong: list[tuple[Any, Any, str]] = [
        ([1.0], False, "eps must have one value per text, 2 in all; found 1"),
        ([1.0, 0.0005], False, "eps must be 0, or between 0.001 and 100; found 0.0005"),
        (["a", "b"], False, "eps must be a number, or one number per text"),
        (1.0, [True], "plus must have one value per text, 2 in all; found 1"),
        (1.0, [1, 0], "plus must be a bool, or one bool per text; found int"),
        ([[1.0], [1.0]], False, "eps must have one value per text; found an array of 2 dimensions"),
    ]
    for eps, plus, message in wrong:
        with pytest.raises(CusTextError, match=message):
            sanitizer.sanitize_batch(["a", "b"], eps, plus)


def test_a_column_of_bytes_end_to_end() -> None:
    column, rebuild = open_column(["a", None, "bc", ""])
    assert (column.text.tobytes(), column.offsets.tolist()) == (b"abc", [0, 1, 1, 3, 3])
    assert column.missing is not None
    assert column.missing.tolist() == [False, True, False, False]
    assert rebuild(column) == ["a", None, "bc", ""]
    assert column[slice(1, 3)].to_arrow().to_pylist() == [None, "bc"]
    assert len(TextColumn.from_arrow(pa.chunked_array([], pa.string()))) == 0
