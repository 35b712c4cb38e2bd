"""Functions for Spark raise no error that quotes data. This needs PySpark, but neither Java nor a cluster."""

import traceback

import pyarrow as pa
import pytest

from custext_sql import CusTextError, SettingError

pytestmark = pytest.mark.cluster

SECRET = "Zaphod"


def fail_with(error: Exception) -> str:
    """Return the traceback of a function that raises an error; Spark writes such tracebacks to its logs."""
    functions = pytest.importorskip("custext_sql.spark.arrow_functions")

    def custext_failing(text: pa.Array) -> pa.Array:
        raise error

    try:
        functions._guard(custext_failing)(pa.array([SECRET]))
    except CusTextError as raised:
        return "".join(traceback.format_exception(raised))
    raise AssertionError("no error")


def test_an_unexpected_error_is_named_but_not_quoted() -> None:
    found = fail_with(ValueError(SECRET))
    assert "CusTextError: custext_failing failed (ValueError)" in found
    assert SECRET not in found


def test_an_error_of_ours_keeps_its_type_and_its_message() -> None:
    found = fail_with(SettingError("eps must be numbers"))
    assert "SettingError: eps must be numbers" in found
    assert SECRET not in found
