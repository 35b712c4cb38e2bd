"""Refuses releases: under a second mapping of the same data, or with a key used for other data."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from custext_sql.errors import BudgetError, KeyFileError, SettingError
from custext_sql.ledger.dataset import Dataset, is_nameless
from custext_sql.ledger.entries import RAW, Entry, fold
from custext_sql.ledger.spending import find_related, list_parts
from custext_sql.mapping.mapping import Mapping
from custext_sql.parameters import count_of
from custext_sql.store.database import Database, reading
from custext_sql.store.mappings import read_infos


@dataclass(frozen=True)
class SecondMapping:
    """Earlier releases of the same data used only other mappings: everyone sees a second group of every word.

    before: the mapping of the last of them. least, median: with how many words a word shares both groups, itself
    included: the fewest, and the median over words. Both are 0 if the mappings have no word in common, and None if a
    mapping is not in the database; `missing` is the name of that one.
    """

    before: str
    least: int | None
    median: int | None
    missing: str | None = None


def check_release(
    earlier: Sequence[Entry], release: Entry, dataset: Dataset, database: Database, appends_to: str | None = None
) -> None:
    """Raise a CusTextError if the earlier releases do not allow this one, whatever it spends.

    database: the one with the mappings. appends_to: the output that the release adds rows to, if it does.
    """
    if appends_to is not None:
        _check_columns(earlier, release, appends_to)
    if not is_nameless(release.dataset):
        earlier = [other for other in earlier if other.row_count != 0]
        if not dataset.second_mapping:
            _check_mapping(earlier, release, database)
        if not dataset.reuse_key:
            _check_key(earlier, release)
        _check_record_column(earlier, release)


def find_second_mapping(
    earlier: Sequence[Entry], release: Entry, database: Database, mapping: Mapping | None = None
) -> SecondMapping | None:
    """Return the other mapping under which the same data was released before; None if this release adds no mapping.

    mapping: that of the release, if it may not be stored.
    """
    others = [] if release.draws == RAW or is_nameless(release.dataset) else _find_others(earlier, release)
    if not others:
        return None
    with reading(database) as connection:
        return _compare(connection, others[-1], release, mapping)


def _compare(
    connection: duckdb.DuckDBPyConnection, before: Entry, release: Entry, mapping: Mapping | None
) -> SecondMapping:
    names = {info.fingerprint: info.name for info in read_infos(connection)}
    missing = [one for one in (before, release) if one.fingerprint not in names]
    if missing and (missing != [release] or mapping is None):
        return SecondMapping(before.mapping, None, None, missing[0].mapping)
    kept = before.plus is True and release.plus is True
    values: list[object]
    if mapping is None or not missing:
        second, values = "SELECT token, group_id FROM groups WHERE mapping = ?", [names[release.fingerprint]]
    else:
        second = "SELECT unnest(?::VARCHAR[]) AS token, unnest(?::INTEGER[]) AS group_id"
        values = [mapping.words, np.repeat(np.arange(len(mapping.sizes)), mapping.sizes).tolist()]
    return SecondMapping(before.mapping, *_count_shared(connection, names[before.fingerprint], second, values, kept))


def _find_others(earlier: Sequence[Entry], release: Entry) -> list[Entry]:
    """Return the releases of parts of the data that were released before, but never under the mapping of this one."""
    related = [other for other in find_related(earlier, release) if other.draws != RAW]
    known = [other for other in related if other.fingerprint == release.fingerprint]
    new = list_parts(release).difference(*map(list_parts, known))
    return [other for other in related if not new.isdisjoint(list_parts(other))]


def _count_shared(
    connection: duckdb.DuckDBPyConnection, first: str, second: str, values: Sequence[object], kept: bool
) -> tuple[int, int]:
    """Return with how many words a word shares both groups, itself included: the fewest, and the median over words.

    first: the name of a mapping. second, values: a query for the groups of the other one, and its values. kept: leave
    stopwords out.
    """
    condition = "AND token NOT IN (SELECT word FROM stopwords)" if kept else ""
    [(least, median)] = connection.execute(
        "SELECT min(together), quantile_disc(together, 0.5) FROM ("
        "SELECT count(*) OVER (PARTITION BY first.group_id, second.group_id) AS together "
        f"FROM ({second}) AS second JOIN groups AS first USING (token) WHERE first.mapping = ? {condition})",
        [*values, first],
    ).fetchall()
    return least or 0, median or 0


def _check_mapping(earlier: Sequence[Entry], release: Entry, database: Database) -> None:
    """Raise BudgetError if the same data was released before, but only under other mappings."""
    found = find_second_mapping(earlier, release, database)
    if found is None:
        return
    if found.missing is not None:
        left = f"how few words share both is unknown, since mapping {found.missing} is no longer in the database"
    elif not found.least:
        left = "the two mappings have no word in common"
    else:
        left = f"as few as {count_of(found.least, 'candidate')} would remain for a word (median {found.median:,})"
    raise BudgetError(
        f"{release.dataset} was released before under mapping {found.before}. Releasing it under {release.mapping} "
        f"too reveals a second group of every word, whatever eps: {left}. "
        f"Use --mapping {found.before} (in Python: mapping=...), or allow it with --second-mapping "
        "(in Python: Dataset(..., second_mapping=True))"
    )


def _check_columns(earlier: Sequence[Entry], release: Entry, output: str) -> None:
    """Raise SettingError if the rows of the output were sanitized in other columns."""
    before = [other for other in earlier if any(made["name"] == output for made in other.outputs)]
    if before and {*map(fold, before[-1].sanitized)} != {*map(fold, release.sanitized)}:
        raise SettingError(
            f"{output}: its rows were sanitized in {', '.join(before[-1].sanitized)}; rows that are sanitized in "
            f"{', '.join(release.sanitized)} cannot be added: use the same --column (in Python: columns)"
        )


def _check_record_column(earlier: Sequence[Entry], release: Entry) -> None:
    """Raise KeyFileError if the key knew the rows by another column: they would all be drawn again, uncounted."""
    if release.key_id is None or release.record_column is None:
        return
    for other in find_related(earlier, release):
        if other.key_id == release.key_id and fold(other.record_column or release.record_column) != fold(
            release.record_column
        ):
            raise KeyFileError(
                f"{release.dataset}: key {release.key_id} identified rows by column {other.record_column!r} before; by "
                f"{release.record_column!r}, all of them would be drawn again. Use --record-column "
                f"{other.record_column} (in Python: record_column=...), or make another key with: custext keygen PATH"
            )


def _check_key(earlier: Sequence[Entry], release: Entry) -> None:
    """Raise KeyFileError if the key was used for other data: equal records would get the same draws in both."""
    if release.key_id is None:
        return
    used = [other for other in earlier if other.key_id == release.key_id and not is_nameless(other.dataset)]
    if not used or find_related(used, release):  # never used, or used for this data too
        return
    raise KeyFileError(
        f"{release.dataset}: key {release.key_id} was used before for {used[0].dataset}; records with the same ID "
        "would get the same draws in both, which reveals where their texts are equal. Make another key with: "
        f"custext keygen PATH; if it is the same data, use --dataset {used[0].dataset} (in Python: dataset=...); or "
        "allow it with --reuse-key (in Python: Dataset(..., reuse_key=True))"
    )
