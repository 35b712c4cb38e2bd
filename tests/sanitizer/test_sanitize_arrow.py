"""Arrow columns are sanitized in every type and however they are chunked; eps, plus and records can be columns.

What is wrong with a column is told without quoting it, as DuckDB's functions do.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql import CusTextError, Sanitizer, connect
from custext_sql.errors import SettingError
from custext_sql.text import columns

TEXTS = ["Alice met bob.", None, "", "zé ’ 中文 😀 carol", "dave " * 700, None]
RECORDS = [f"r{place}" for place in range(len(TEXTS))]
SECRET = "zqsecret"  # beside a slice, so never in a result


def as_dictionary(texts: list[str | None], content: pa.DataType, indices: pa.DataType | None = None) -> pa.Array:
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    places = [None if text is None else distinct.index(text) for text in texts]
    dictionary = pa.array(distinct, content)
    return pa.DictionaryArray.from_arrays(pa.array(places, indices or pa.int8()), dictionary)


PLAIN: dict[str, pa.DataType] = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
}
MAKERS: dict[str, Callable[[list[str | None], pa.DataType], pa.Array | pa.ChunkedArray]] = {
    "array": lambda texts, kind: pa.array(texts, kind),
    "slice": lambda texts, kind: pa.array([SECRET, None, *texts, SECRET], kind).slice(2, len(texts)),
    "chunks": lambda texts, kind: pa.chunked_array(
        [pa.array(part, kind) for part in ([], texts[:1], [], texts[1:], [])], kind
    ),
    "dictionary slice": lambda texts, kind: as_dictionary([SECRET, *texts], kind).slice(1),
    "dictionaries": lambda texts, kind: pa.chunked_array(
        [as_dictionary(texts[:3], kind), as_dictionary([], kind), as_dictionary(texts[3:], kind)]
    ),
}


@settings(max_examples=20)
@given(
    texts=st.lists(st.none() | st.text(st.sampled_from("abé😀 '.\u200d"), max_size=8) | st.sampled_from(TEXTS)),
    cuts=st.lists(st.integers(0, 20)),
    kind=st.sampled_from(list(PLAIN)),
)
def test_chunks_do_not_matter(
    sanitizer: Sanitizer, keyed: Sanitizer, texts: list[str | None], cuts: list[int], kind: str
) -> None:
    whole = pa.array(texts, PLAIN[kind])
    records = pa.array([f"r{place}" for place in range(len(texts))], pa.string())
    bounds = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    parts = list(pairwise(bounds))
    chunked = pa.chunked_array([whole[slice(*part)] for part in parts], PLAIN[kind])
    alone = [keyed.sanitize_arrow(whole[slice(*part)], records=records[slice(*part)]) for part in parts]
    expected = keyed.sanitize_batch(texts, records=records.to_pylist())
    assert keyed.sanitize_arrow(whole, records=records).to_pylist() == expected
    assert keyed.sanitize_arrow(chunked, records=records).to_pylist() == expected
    assert [text for part in alone for text in part.to_pylist()] == expected
    assert sanitizer.sanitize_arrow(chunked).to_pylist() == sanitizer.sanitize_batch(texts)
    assert sanitizer.sanitize_arrow(whole).to_pylist() == sanitizer.sanitize_batch(texts)


def message_of(call: Callable[..., object], *columns: object, **named: object) -> str:
    with pytest.raises(CusTextError) as caught:
        call(*columns, **named)
    assert SECRET not in str(caught.value)
    assert type(caught.value) is SettingError
    return str(caught.value)


HALF = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 4, 12], np.int32)), pa.py_buffer(b"abc\xe2zqsecret"))
OUTSIDE = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 400, 8], np.int32)), pa.py_buffer(SECRET.encode()))


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()])
def test_a_result_that_does_not_fit_is_refused(
    sanitizer: Sanitizer, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's limit is 2 GB; a real array of that size failed with the same message."""
    monkeypatch.setattr(columns, "_LARGEST_NARROW", 9)
    texts = pa.array(["zq", "zq"], kind)  # becomes <unk>, twice
    expected = (
        f"the sanitized texts exceed 2 GB, the most that an Arrow array of {kind} can hold; pass it as large_string or "
        "in chunks"
    )
    assert message_of(sanitizer.sanitize_arrow, texts) == expected
    assert message_of(sanitizer.sanitize_arrow, pa.chunked_array([texts, texts])) == expected
    assert sanitizer.sanitize_arrow(texts.cast(pa.large_string())).to_pylist() == ["<unk>"] * 2
    assert sanitizer.sanitize_arrow(pa.chunked_array([texts[:1]] * 4)).to_pylist() == ["<unk>"] * 4


@pytest.mark.parametrize(("form", "kind"), [(form, "string") for form in MAKERS] + [("chunks", kind) for kind in PLAIN])
def test_every_form_comes_out_as_plain_strings_of_its_type(
    sanitizer: Sanitizer, keyed: Sanitizer, form: str, kind: str
) -> None:
    texts = MAKERS[form](TEXTS, PLAIN[kind])
    assert texts.to_pylist() == TEXTS
    for result, expected in (
        (sanitizer.sanitize_arrow(texts), sanitizer.sanitize_batch(TEXTS)),
        (keyed.sanitize_arrow(texts, records=pa.array(RECORDS)), keyed.sanitize_batch(TEXTS, records=RECORDS)),
    ):
        result.validate(full=True)
        assert (result.type, result.to_pylist()) == (PLAIN[kind], expected)
        assert isinstance(result, pa.ChunkedArray) == isinstance(texts, pa.ChunkedArray)
        if isinstance(texts, pa.ChunkedArray):
            assert [len(chunk) for chunk in result.chunks] == [len(chunk) for chunk in texts.chunks]
    assert sanitizer.spend_arrow(texts, 1.0, False).to_pylist() == [2.0, None, 0.0, 1.0, 700.0, None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([], pa.string()),
        pa.chunked_array([], pa.large_string()),
        pa.array(["a"], pa.string_view()).slice(1),
        pa.nulls(3),
        pa.chunked_array([], pa.null()),
        pa.chunked_array([pa.array([None], pa.string()), pa.array([], pa.string()), pa.array([None], pa.string())]),
    ],
)
def test_nothing_comes_out_as_nothing(sanitizer: Sanitizer, keyed: Sanitizer, column: Any) -> None:
    assert sanitizer.sanitize_arrow(column).equals(column)
    assert keyed.sanitize_arrow(column, records=pa.array(RECORDS[: len(column)], pa.string())).equals(column)
    spent = sanitizer.spend_arrow(column, pa.array([1.0] * len(column), pa.float64()))
    assert spent.equals(pa.nulls(len(column), pa.float64()))


def test_dictionaries_can_contain_null_and_need_not_fit_together(sanitizer: Sanitizer) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["alice", None]))
    assert sanitizer.sanitize_arrow(texts).to_pylist() == [None, sanitizer.sanitize("alice"), None]
    words = [[f"zq{part}x{word}" for word in range(100)] for part in range(3)]  # 300 indices do not fit into 8 bits
    chunks = pa.chunked_array([as_dictionary([*part], pa.string()) for part in words])
    assert sanitizer.sanitize_arrow(chunks).to_pylist() == ["<unk>"] * 300


@pytest.mark.parametrize("nulls", [pa.array([None, 1.0]), pa.nulls(2), pa.chunked_array([[1.0], [None]], pa.float64())])
def test_null_settings_are_refused_as_in_duckdb(
    mapped_template: Path, key: Path, sanitizer: Sanitizer, keyed: Sanitizer, nulls: pa.Array | pa.ChunkedArray
) -> None:
    texts, flags = pa.array([SECRET, SECRET]), nulls.cast(pa.bool_())
    no_eps, no_plus = (
        message_of(sanitizer.sanitize_arrow, texts, nulls),
        message_of(sanitizer.sanitize_arrow, texts, 1.0, flags),
    )
    found = {
        "custext_sanitize('zq', NULL, true)": no_eps,
        "custext_sanitize('zq', 1.0, NULL)": no_plus,
        "custext_epsilon('zq', NULL, true)": message_of(sanitizer.spend_arrow, texts, nulls),
        "custext_epsilon('zq', 1.0, NULL)": message_of(sanitizer.spend_arrow, texts, 1.0, flags),
        "custext_sanitize_keyed('zq', NULL)": message_of(keyed.sanitize_arrow, texts, records=nulls.cast(pa.string())),
    }
    with connect(mapped_template, key_file=key) as connection:
        for call, message in found.items():
            with pytest.raises(duckdb.InvalidInputException, match=re.escape(message)):
                connection.execute(f"SELECT {call}").fetchall()
    for missing in (pa.array([Decimal(1), None], pa.decimal128(3, 1)), pa.scalar(None, pa.float64())):  # no defaults
        assert message_of(sanitizer.sanitize_arrow, texts, missing) == no_eps
    assert message_of(sanitizer.sanitize_arrow, texts, 1.0, pa.scalar(None, pa.bool_())) == no_plus


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (pa.array([SECRET.encode()]), "a column of binary"),
        (pa.array([{SECRET: SECRET}]), "a column of struct"),
        (pa.chunked_array([pa.array([0], pa.timestamp("s", "UTC"))]), "a column of timestamp"),
        (pa.array([[SECRET]]).value_lengths().dictionary_encode(), "a column of dictionary"),
        ([SECRET], "list"),
        (pa.table({"text": [SECRET]}), "Table"),
    ],
)
def test_other_types_are_named_without_data(sanitizer: Sanitizer, keyed: Sanitizer, wrong: Any, found: str) -> None:
    texts, expected = pa.array([SECRET]), "an Arrow array" if "column" not in found else "strings or missing"
    for call in (sanitizer.sanitize_arrow, sanitizer.spend_arrow):
        assert message_of(call, wrong) == f"texts must be {expected}; found {found}"
    assert message_of(keyed.sanitize_arrow, texts, records=wrong) == f"records must be {expected}; found {found}"
    if "column" in found:
        assert message_of(sanitizer.sanitize_arrow, texts, wrong) == f"eps must be numbers; found {found}"
        assert message_of(sanitizer.sanitize_arrow, texts, 1, wrong) == f"plus must be true or false; found {found}"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_columns_must_have_one_value_per_text(sanitizer: Sanitizer, keyed: Sanitizer, count: int) -> None:
    texts, numbers = pa.array([SECRET, SECRET]), pa.array([1.0] * count, pa.float64())
    ends = f"must have one value per text, 2 in all; found {count}"
    assert message_of(sanitizer.sanitize_arrow, texts, numbers).endswith(ends)
    assert message_of(sanitizer.spend_arrow, texts, 1, numbers.cast(pa.bool_())).endswith(ends)
    assert message_of(keyed.sanitize_arrow, texts, records=numbers.cast(pa.string())).endswith(ends)
    assert "only for keyed draws" in message_of(sanitizer.sanitize_arrow, texts, records=texts)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(38, 30), pa.decimal256(76, 5)),
        *([pa.decimal32(9, 4), pa.decimal64(18, 4)] if hasattr(pa, "decimal32") else []),  # from Arrow 19 on
    ],
)
def test_eps_can_have_any_type_of_numbers(sanitizer: Sanitizer, kind: pa.DataType) -> None:
    """Decimals become the closest floats: Arrow's own cast gives 0.30000000000000004 for 0.3."""
    texts, written = pa.array(["alice", "bob", "carol dave"]), ["0", "0.3", "2"]
    if pa.types.is_floating(kind):
        eps = pa.array(np.array([9, 0, 0.3, 2], kind.to_pandas_dtype())).slice(1)
    else:
        eps = pa.array([Decimal(one) for one in written], kind)
    for column in (eps, pa.chunked_array([eps[:1], eps[:0], eps[1:]])):
        assert sanitizer.spend_arrow(texts, column).to_pylist() == [0.0, float(eps[1].as_py()), 4.0]
        assert sanitizer.sanitize_arrow(texts, column)[0].as_py() == sanitizer.sanitize("alice", 0)
    assert sanitizer.spend_arrow(texts[:1], eps[1]).to_pylist() == [float(eps[1].as_py())]
    for whole in (pa.int8(), pa.uint64()):
        assert sanitizer.spend_arrow(texts, pa.array([0, 1, 2], whole)).to_pylist() == [0.0, 1.0, 4.0]


def test_plus_can_be_a_column(sanitizer: Sanitizer) -> None:
    stopping, texts = Sanitizer(sanitizer.mapping, frozenset({"alice"})), pa.array(["alice bob", "alice bob"])
    flags = pa.array([None, True, False]).slice(1)
    for plus in (flags, pa.chunked_array([flags[:1], flags[:0], flags[1:]])):
        assert stopping.spend_arrow(texts, 1, plus).to_pylist() == [1.0, 2.0]
        assert stopping.sanitize_arrow(texts, 0, plus)[0].as_py().startswith("alice ")
    assert stopping.spend_arrow(texts[:1], 1, flags[0]).to_pylist() == [1.0]


@pytest.mark.parametrize("broken", [HALF, OUTSIDE])
def test_broken_arrays_are_refused_before_they_are_read(sanitizer: Sanitizer, broken: pa.Array) -> None:
    message = "texts must be valid Arrow data in UTF-8; found an invalid column"
    indices = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array([SECRET]), safe=False)
    chunks, dictionary = pa.chunked_array([["a"], broken]), pa.DictionaryArray.from_arrays(pa.array([0, 1]), broken)
    for texts in (broken, chunks, dictionary, indices):
        for call in (sanitizer.sanitize_arrow, sanitizer.spend_arrow):
            assert message_of(call, texts) == message
