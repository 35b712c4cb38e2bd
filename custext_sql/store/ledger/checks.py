"""Refuses releases: over the budget, under a second mapping of the same data, or with a key used for other data."""

from collections.abc import Sequence

import duckdb

from custext_sql.errors import BudgetError, KeyFileError
from custext_sql.parameters import count_of
from custext_sql.store.ledger.dataset import Dataset, is_nameless
from custext_sql.store.ledger.spending import check_budget, find_related
from custext_sql.store.ledger.table import RAW, Release
from custext_sql.store.rows.mappings import read_infos


def check_release(
    connection: duckdb.DuckDBPyConnection, earlier: Sequence[Release], release: Release, dataset: Dataset
) -> None:
    """Raise BudgetError or KeyFileError if the earlier releases do not allow this one."""
    if dataset.budget_total is not None:
        check_budget(earlier, release, dataset.budget_total)
    if not is_nameless(release.dataset):
        if not dataset.second_mapping:
            _check_mapping(connection, earlier, release)
        if not dataset.reuse_key:
            _check_key(earlier, release)


def _check_mapping(connection: duckdb.DuckDBPyConnection, earlier: Sequence[Release], release: Release) -> None:
    """Raise BudgetError if the same data was released before, but only under other mappings."""
    related = [other for other in find_related(earlier, release) if other.draws != RAW]
    others = [other for other in related if other.fingerprint != release.fingerprint]
    if release.draws == RAW or len(others) < len(related) or not others:  # raw, or released under this mapping before
        return
    before = others[-1]
    raise BudgetError(
        f"{release.dataset} was released before under mapping {before.mapping}. Releasing it under {release.mapping} "
        f"too reveals a second group of every word, whatever eps: {_describe_overlap(connection, before, release)}. "
        f"Use --mapping {before.mapping} (in Python: mapping=...), or allow it with --second-mapping "
        "(in Python: Dataset(..., second_mapping=True))"
    )


def _describe_overlap(connection: duckdb.DuckDBPyConnection, before: Release, release: Release) -> str:
    """Return how few words a word shares both groups with, as a clause of a message."""
    names = {info.fingerprint: info.name for info in read_infos(connection)}
    missing = [one.mapping for one in (before, release) if one.fingerprint not in names]
    if missing:
        return f"how few words share both is unknown, since mapping {missing[0]} is no longer in the database"
    kept = "AND token NOT IN (SELECT word FROM stopwords)" if before.plus and release.plus else ""
    [(least, median)] = connection.execute(
        "SELECT min(together), quantile_disc(together, 0.5) FROM ("
        "SELECT count(*) OVER (PARTITION BY first.group_id, second.group_id) AS together "
        "FROM groups AS first JOIN groups AS second USING (token) "
        f"WHERE first.mapping = ? AND second.mapping = ? {kept})",
        [names[before.fingerprint], names[release.fingerprint]],
    ).fetchall()
    if least is None:
        return "the two mappings have no word in common"
    return f"as few as {count_of(least, 'candidate')} would remain for a word (median {median:,})"


def _check_key(earlier: Sequence[Release], release: Release) -> None:
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
