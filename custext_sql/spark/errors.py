"""Raises the errors of workers again in the driver, under their own types."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

import custext_sql

_RAISED = re.compile(r"custext_sql\.errors\.(\w+Error): (.+)")  # the last line of a traceback


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the CusTextError that a worker raised, instead of Spark's error about it."""
    try:
        yield
    except PySparkException as error:
        found = _RAISED.search(str(error))
        kind = getattr(custext_sql, found[1], None) if found else None
        if found is None or kind is None:
            raise
        raise kind(found[2]) from None
