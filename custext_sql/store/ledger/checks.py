"""What the ledger refuses: a release over its budget, a second mapping of the same data, a key from other data."""

from collections.abc import Sequence

import duckdb

from custext_sql.errors import BudgetError, KeyFileError
from custext_sql.store.ledger.dataset import Dataset, is_nameless
from custext_sql.store.ledger.spending import check_budget, find_related
from custext_sql.store.ledger.table import RAW, Release
from custext_sql.store.rows.mappings import read_infos


def check_release(
    connection: duckdb.DuckDBPyConnection, earlier: Sequence[Release], release: Release, dataset: Dataset
) -> None:
    """Refuse a release that the earlier ones do not allow."""
    if dataset.budget_total is not None:
        check_budget(earlier, release, dataset.budget_total)
    if not is_nameless(release.dataset):
        if not dataset.second_mapping:
            _check_mapping(connection, earlier, release)
        if not dataset.reuse_key:
            _check_key(earlier, release)


def _check_mapping(connection: duckdb.DuckDBPyConnection, earlier: Sequence[Release], release: Release) -> None:
    """Refuse another mapping than that of earlier releases of the same data."""
    related = [other for other in find_related(earlier, release) if other.draws != RAW]
    others = [other for other in related if other.fingerprint != release.fingerprint]
    if release.draws == RAW or len(others) < len(related) or not others:  # unprotected, or under this mapping before
        return
    before = others[-1]
    raise BudgetError(
        f"{release.dataset} was released under mapping {before.mapping} before. Whoever has both outputs learns "
        f"a second group of every word from mapping {release.mapping}, whatever eps: "
        f"{_tell_intersection(connection, before, release)}. Use --mapping {before.mapping}, or allow it with "
        "--second-mapping"
    )


def _tell_intersection(connection: duckdb.DuckDBPyConnection, before: Release, release: Release) -> str:
    """Say how few words share both groups of a word."""
    names = {info.fingerprint: info.name for info in read_infos(connection)}
    missing = [one.mapping for one in (before, release) if one.fingerprint not in names]
    if missing:
        return f"how few words share both cannot be told, since {missing[0]} is not in the database anymore"
    kept = "AND token NOT IN (SELECT word FROM stopwords)" if before.plus and release.plus else ""
    [(least, median)] = connection.execute(
        "SELECT min(together), quantile_disc(together, 0.5) FROM ("
        "SELECT count(*) OVER (PARTITION BY first.group_id, second.group_id) AS together "
        "FROM groups AS first JOIN groups AS second USING (token) "
        f"WHERE first.mapping = ? AND second.mapping = ? {kept})",
        [names[before.fingerprint], names[release.fingerprint]],
    ).fetchall()
    if least is None:
        return "the two have no word in common"
    return f"a word then hides among as few as {least}, in the median among {median}"


def _check_key(earlier: Sequence[Release], release: Release) -> None:
    """Refuse a key that other data was released with: equal records would be drawn alike in both."""
    if release.key_id is None:
        return
    used = [other for other in earlier if other.key_id == release.key_id and not is_nameless(other.dataset)]
    if not used or find_related(used, release):  # not at all, or already for this data
        return
    raise KeyFileError(
        f"{release.dataset}: key {release.key_id} was used for {used[0].dataset} before; records with the same id "
        "would be drawn alike in both, which tells where their texts agree. Make another key with custext keygen; "
        f"if it is the same data, say --dataset {used[0].dataset}; or allow it with --reuse-key"
    )
