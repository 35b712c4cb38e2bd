"""The columns of a frame: found by name, quoted for Spark, and named so that no two are the same."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StringType

from custext_sql import SettingError, SourceError, suggest


def check_names(frame: DataFrame) -> None:
    """Raise SourceError if columns of the frame have the same name: they could not be told apart."""
    is_exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    counts = Counter(name if is_exact else name.lower() for name in frame.columns)
    for name, count in counts.items():
        if count > 1:
            raise SourceError(f"the frame has {count} columns named {name!r}; rename them")


def find_column(frame: DataFrame, name: str, kinds: type[DataType] | tuple[type[DataType], ...]) -> str:
    """Return the name of a column as the frame spells it; SourceError if it is missing or has the wrong type."""
    if not isinstance(name, str):
        raise SettingError(f"columns must be names of columns; found {type(name).__name__}")
    found = [column for column in frame.columns if column.lower() == name.lower()]
    if name in found and frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        found = [name] * found.count(name)
    if len(found) > 1:
        raise SourceError(f"the frame has {len(found)} columns named {name!r}; rename them")
    if not found:
        raise SourceError(f"the frame has no column {name!r}; {suggest(name, frame.columns, 'columns')}")
    kind = frame.schema[found[0]].dataType
    if not isinstance(kind, kinds):
        expected = "strings" if kinds is StringType else "strings or whole numbers"
        raise SourceError(f"the frame: column {name!r} has type {kind.typeName()}; expected {expected}")
    return found[0]


def find_new_name(frame: DataFrame, name: str) -> str:
    """Return the name, with underscores appended until no column of the frame has it."""
    while name in (column.lower() for column in frame.columns):
        name += "_"
    return name


def list_names(columns: str | Sequence[str]) -> list[str]:
    """Return the names of columns as a list."""
    if not isinstance(columns, Iterable):
        raise SettingError(f"columns must be a name or a list of names; found {type(columns).__name__}")
    return [columns] if isinstance(columns, str) else list(columns)


def quote(name: str) -> str:
    """Return the name of a column as Spark's SQL writes it."""
    return "`" + name.replace("`", "``") + "`"
