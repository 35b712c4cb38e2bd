"""Public texts, from which attackers learn: read as a release reads its texts, with errors that name their options."""

from collections.abc import Iterator

from custext_sql.errors import SettingError
from custext_sql.files.inputs.encodings import renamed_errors
from custext_sql.files.inputs.texts import Texts, has_columns, list_texts, stream_texts
from custext_sql.text.columns import TextColumn

_OPTIONS = {
    **{f"--{name}": f"--public-{name}" for name in ("column", "format", "encoding", "no-quotes", "table")},
    "--data": "--public",
    "in Python: column": "in Python: public_column",
    "leave out column": "leave out public_column",
}


def stream_public(public: Texts, column: str | None) -> Iterator[TextColumn]:
    """Yield public texts in blocks, as `stream_texts` does for others."""
    with renamed_errors(_OPTIONS):
        yield from stream_texts(public, column)


def list_public(public: Texts, column: str | None) -> tuple[list[str], int]:
    """Return the public texts that are not empty, and the number of those that are."""
    with renamed_errors(_OPTIONS):
        texts = list_texts(public, column)
    found = [text for text in texts if text and text.strip()]
    return found, len(texts) - len(found)


def find_public_column(public: Texts, public_column: str | None, column: str | None) -> str | None:
    """Return the column of public texts: the given one, else that of the user's texts; None if they have no columns."""
    with renamed_errors(_OPTIONS):
        return public_column or (column if has_columns(public) else None)


def check_column_use(texts: Texts | None, column: str | None, *, public: bool) -> None:
    """Raise SettingError if a column is named, but no texts. public: whether it is the column of public texts."""
    if column is not None and texts is None:
        option = "--public-column (in Python: public_column)" if public else "--column (in Python: column)"
        raise SettingError(f"{option} names a column of texts, but no texts were given")
