"""Rows of a release: all columns of a row are sanitized together, and parts of a release in several processes."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from custext_sql.arrays import Flags
from custext_sql.errors import SettingError
from custext_sql.ledger.release import Release
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.tally import Counts, Tally, join_counts
from custext_sql.text.columns import TextColumn


def sanitize_rows(
    sanitizer: Sanitizer, columns: Mapping[str, pa.Array], ids: pa.Array | None, tally: Tally
) -> list[pa.Array]:
    """Return the new texts of columns by name, and add to the tally what each row spends in all of them.

    ids: with a key, one per row; the record of a text is COLUMN:ID.
    """
    identifiers = None if ids is None else ids.to_pylist()
    missing = np.ones(len(next(iter(columns.values()))), dtype=bool)
    counts, done = [], []
    for name, texts in columns.items():
        column, spent = TextColumn.from_arrow(texts), _Spent()
        records = None
        if identifiers is not None and sanitizer.key is not None:
            records = sanitizer.key.name_records(name, identifiers)
        new = sanitizer.sanitize_column(column, records=records, named=True, tally=spent)
        counts.append(join_counts(spent.parts))
        missing &= False if column.missing is None else column.missing
        done.append(new.to_arrow())
    tally.add(reduce(add, counts), missing=missing)
    return done


class _Spent:
    """Stands in for a tally: collects what each row spent in a column."""

    def __init__(self) -> None:
        self.parts: list[Counts] = []

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        self.parts.append(counts)


def sanitize_part(
    sanitizer: Sanitizer, columns: Mapping[str, pa.Array], ids: pa.Array | None = None
) -> tuple[dict[str, pa.Array], bytes]:
    """Return the sanitized columns of some rows of a release, and their counts, for `add_part`.

    eps and plus are those of the sanitizer. ids: with a key, one per row; the record of a text is COLUMN:ID.
    """
    _check_part(sanitizer, columns, ids)
    tally = Tally()
    done = sanitize_rows(sanitizer, columns, ids, tally)
    rows = len(next(iter(columns.values())))
    part = {"made_with": _describe(sanitizer), "counts": tally.pack().decode(), "rows": rows}
    return dict(zip(columns, done, strict=True)), json.dumps(part).encode()


def _check_part(sanitizer: Sanitizer, columns: Mapping[str, pa.Array], ids: pa.Array | None) -> None:
    """Raise SettingError unless the columns and IDs fit together, and IDs are integers or texts.

    1 and 1.0 would be different records, so that a row would be drawn twice and counted as two.
    """
    if not columns:
        raise SettingError("a part must have at least one column")
    if ids is None and sanitizer.key is not None:
        raise SettingError("draws from a key need the ID of each row: sanitize_part(sanitizer, columns, ids)")
    if ids is not None and sanitizer.key is None:
        raise SettingError("IDs are only for draws from a key; use sanitizer.with_key(read_key_file(PATH))")
    if ids is not None and ids.null_count:
        raise SettingError("record must not be NULL: it identifies the text")
    if len({*map(len, columns.values()), *([] if ids is None else [len(ids)])}) > 1:
        raise SettingError("all columns of a part, and its IDs, must have the same number of rows")
    if ids is not None and not pa.types.is_integer(ids.type):
        try:
            TextColumn.from_arrow(ids)
        except SettingError as error:
            raise SettingError(f"IDs{str(error).removeprefix('texts')}") from None


def _describe(sanitizer: Sanitizer) -> dict[str, Any]:
    """Return the settings that all parts of a release must share."""
    return asdict(sanitizer.terms) | {"eps": sanitizer.settings.eps, "plus": sanitizer.settings.plus}


def add_part(release: Release[Sanitizer], counts: bytes) -> int:
    """Add what `sanitize_part` returned for a part to a release, and return the number of its rows.

    Add each part of the output exactly once. SettingError if it was made with other settings than the release.
    """
    try:
        part = json.loads(counts)
        made_with, packed, rows = part["made_with"], part["counts"].encode(), int(part["rows"])
    except (AttributeError, LookupError, TypeError, ValueError):
        raise SettingError("counts must be what sanitize_part returned") from None
    if made_with != _describe(release.sanitizer):
        raise SettingError("a part was made with other settings than the release: mapping, eps, plus, policy or key")
    release.tally.add_packed(packed)
    return rows
