"""custext-sql on Spark: SQL functions for a session, and releases of frames. Needs the extra `spark` and Java 17."""

try:
    import pyspark  # noqa: F401
except ImportError:  # the package is not on PyPI: only a checkout can install an extra by name
    raise ImportError(
        "this needs PySpark 4.1 or later; in a checkout of custext-sql, run: pip install '.[spark]'"
    ) from None

from custext_sql.spark.functions import register
from custext_sql.spark.releases import sanitize

__all__ = ["register", "sanitize"]
