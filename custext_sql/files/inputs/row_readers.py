"""What to select from a source of rows, so that texts and IDs are read as they are in the file."""

from collections.abc import Sequence

from custext_sql.files.inputs.source import Source
from custext_sql.store.quoting import quote_name, quote_text


def choose_reader(source: Source, chosen: Sequence[str], record: str | None, target_format: str) -> str:
    """Return what to select from so that columns that are not sanitized stay unchanged.

    A record is the text in the file, whatever the output format, so its column is never converted.
    """
    if source.exact_reader is not None:
        if target_format in ("csv", "tsv"):
            return source.exact_reader
        types = "" if record is None else f", types = {{{quote_text(record)}: 'VARCHAR'}}"
        return f"{source.reader[:-1]}{types})"
    if source.format == "json":
        texts = (*chosen, *(() if record is None or target_format == "json" else (record,)))
        kinds = source.columns if target_format != "json" else dict.fromkeys(source.columns, "JSON")
        kinds = kinds | dict.fromkeys(texts, "VARCHAR")
        listed = ", ".join(f"{quote_text(column)}: {quote_text(kind)}" for column, kind in kinds.items())
        return f"{source.reader[:-1]}, columns = {{{listed}}})"
    return source.reader


def read_record(source: Source, record: str, target_format: str) -> str:
    """Return SQL for the text of a row's record."""
    column = quote_name(record)
    if source.format == "json" and target_format == "json":
        return f"({column} ->> '$')"
    return f"CAST({column} AS VARCHAR)"
