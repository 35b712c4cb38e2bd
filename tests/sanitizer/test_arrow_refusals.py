"""What is wrong with an Arrow column is told without quoting it, as DuckDB's functions do."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from custext_sql import CusTextError, Sanitizer, SettingError, connect
from custext_sql.text import columns

SECRET = "zqsecret"


def message_of(call: Callable[..., object], *columns: object, **named: object) -> str:
    with pytest.raises(CusTextError) as caught:
        call(*columns, **named)
    assert SECRET not in str(caught.value)
    assert type(caught.value) is SettingError
    return str(caught.value)


@pytest.mark.parametrize("nulls", [pa.array([None, 1.0]), pa.nulls(2), pa.chunked_array([[1.0], [None]], pa.float64())])
def test_null_settings_are_refused_as_in_duckdb(
    mapped_template: Path, key: Path, sanitizer: Sanitizer, keyed: Sanitizer, nulls: pa.Array | pa.ChunkedArray
) -> None:
    texts, flags = pa.array([SECRET, SECRET]), nulls.cast(pa.bool_())
    found = {
        "custext_sanitize('zq', NULL, true)": message_of(sanitizer.sanitize_arrow, texts, nulls),
        "custext_sanitize('zq', 1.0, NULL)": message_of(sanitizer.sanitize_arrow, texts, 1.0, flags),
        "custext_epsilon('zq', NULL, true)": message_of(sanitizer.spend_arrow, texts, nulls),
        "custext_epsilon('zq', 1.0, NULL)": message_of(sanitizer.spend_arrow, texts, 1.0, flags),
        "custext_sanitize_keyed('zq', NULL)": message_of(keyed.sanitize_arrow, texts, records=nulls.cast(pa.string())),
    }
    with connect(mapped_template, key_file=key) as connection:
        for call, message in found.items():
            with pytest.raises(duckdb.InvalidInputException) as caught:
                connection.execute(f"SELECT {call}").fetchall()
            assert message in str(caught.value)
    decimals = pa.array([Decimal(1), None], pa.decimal128(3, 1))
    assert message_of(sanitizer.sanitize_arrow, texts, decimals) == found["custext_sanitize('zq', NULL, true)"]
    no_eps, no_plus = pa.scalar(None, pa.float64()), pa.scalar(None, pa.bool_())  # not the defaults
    assert message_of(sanitizer.sanitize_arrow, texts, no_eps) == found["custext_sanitize('zq', NULL, true)"]
    assert message_of(sanitizer.sanitize_arrow, texts, 1.0, no_plus) == found["custext_sanitize('zq', 1.0, NULL)"]


OTHERS: dict[str, pa.Array] = {
    "binary": pa.array([SECRET.encode()]),
    "list": pa.array([[SECRET]]),
    "struct": pa.array([{SECRET: SECRET}]),
    "timestamp": pa.array([0], pa.timestamp("s", "UTC")),
    "dictionary": pa.array([[SECRET]]).value_lengths().dictionary_encode(),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("chunked", [False, True])
def test_other_types_are_named_without_data(sanitizer: Sanitizer, keyed: Sanitizer, kind: str, chunked: bool) -> None:
    wrong, texts = OTHERS[kind], pa.array([SECRET])
    if chunked:
        wrong = pa.chunked_array([wrong])
    found = f"; found a column of {kind}"
    assert message_of(sanitizer.sanitize_arrow, wrong) == f"texts must be strings or missing{found}"
    assert message_of(sanitizer.spend_arrow, wrong) == f"texts must be strings or missing{found}"
    assert message_of(sanitizer.sanitize_arrow, texts, wrong) == f"eps must be numbers{found}"
    assert message_of(sanitizer.sanitize_arrow, texts, 1, wrong) == f"plus must be true or false{found}"
    message = message_of(keyed.sanitize_arrow, texts, records=wrong)
    assert message == f"records must be strings or missing{found}"


def test_what_is_no_arrow_array_is_refused(sanitizer: Sanitizer, keyed: Sanitizer) -> None:
    other: Any
    for other in ([SECRET], SECRET, None, pa.table({"text": [SECRET]}), pa.scalar(SECRET)):
        name = type(other).__name__
        for call in (sanitizer.sanitize_arrow, sanitizer.spend_arrow):
            assert message_of(call, other) == f"texts must be an Arrow array; found {name}"
        if other is not None:
            message = message_of(keyed.sanitize_arrow, pa.array([SECRET]), records=other)
            assert message == f"records must be an Arrow array; found {name}"
    assert message_of(sanitizer.sanitize_arrow, pa.chunked_array([], pa.int64())).endswith("a column of int64")


def test_columns_must_have_one_value_per_text(sanitizer: Sanitizer, keyed: Sanitizer) -> None:
    texts = pa.array([SECRET, SECRET])
    for count in (0, 1, 3):
        ends = f"must have one value per text, 2 in all; found {count}"
        numbers, records = pa.array([1.0] * count, pa.float64()), pa.array(["r"] * count, pa.string())
        assert message_of(sanitizer.sanitize_arrow, texts, numbers).endswith(ends)
        assert message_of(sanitizer.spend_arrow, texts, 1, numbers.cast(pa.bool_())).endswith(ends)
        assert message_of(keyed.sanitize_arrow, texts, records=records).endswith(ends)
    assert "only for keyed draws" in message_of(sanitizer.sanitize_arrow, texts, records=texts)


HALF = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 4, 12], np.int32)), pa.py_buffer(b"abc\xe2zqsecret"))
OUTSIDE = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 400, 8], np.int32)), pa.py_buffer(SECRET.encode()))


@pytest.mark.parametrize(
    "broken",
    [
        HALF,
        OUTSIDE,
        pa.chunked_array([pa.array(["a"]), HALF]),
        pa.chunked_array([pa.array(["a"]), OUTSIDE]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), HALF),
        pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array([SECRET]), safe=False),
    ],
)
def test_broken_arrays_are_refused_before_they_are_read(
    sanitizer: Sanitizer, broken: pa.Array | pa.ChunkedArray
) -> None:
    message = "texts must be valid Arrow data in UTF-8; found an invalid column"
    assert message_of(sanitizer.sanitize_arrow, broken) == message
    assert message_of(sanitizer.spend_arrow, broken) == message


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
