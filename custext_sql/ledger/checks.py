"""Adds up what releases of the same data spent, exactly, and refuses a release that earlier ones do not allow."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from custext_sql.errors import BudgetError, KeyFileError, SettingError
from custext_sql.ledger.dataset import Dataset, is_nameless
from custext_sql.ledger.entries import PENDING, RAW, Entry, fold
from custext_sql.mapping.mapping import Mapping
from custext_sql.parameters import count_of
from custext_sql.store.database import Database, reading
from custext_sql.store.mappings import read_infos

Keyed = dict[tuple[str, str], Decimal]  # the most that each key has spent on any one record, by key and data

_DIGITS = 60  # more than any sum of releases needs


@dataclass(frozen=True)
class Spent:
    """The most that was spent on any one row. eps: None if unknown. at_least: whether it may be more."""

    eps: Decimal | None
    at_least: bool


@dataclass(frozen=True)
class Total:
    """What the releases of one dataset, and all others that share data with it, have spent together.

    dataset: the name of the data. releases: how many there are. pending: how many of them are pending.
    total_eps: the most that any one row has spent. Fresh releases add up, each with its largest row; those by a key
        count record by record, so that a key adds its largest record. None if it is unknown, because a release is
        running or was interrupted, or data was released unprotected.
    at_least: whether it may be more, because a query, a connection or a pipeline may have drawn a row more than once.
    raw: whether data was released unprotected.
    """

    dataset: str
    releases: int
    pending: int
    total_eps: Decimal | None
    at_least: bool
    raw: bool

    def to_dict(self) -> dict[str, Any]:
        """Return every field, ready for JSON: total_eps is a float."""
        return asdict(self) | {"total_eps": None if self.total_eps is None else float(self.total_eps)}


def add_up(releases: Sequence[Entry], keyed: Keyed) -> list[Total]:
    """Return the total of each dataset.

    Releases that share a file, a table or a name add up for it; the total of a dataset is that of its worst part.
    Of the releases of one run, only the largest counts, since each has different rows.
    """
    names: dict[str, str] = {}  # folded -> as first written
    by_name, by_part = defaultdict[str, set[str]](set), defaultdict[str, list[Entry]](list)
    for release in releases:
        name = fold(release.dataset)
        names.setdefault(name, release.dataset)
        for part in list_parts(release):
            by_name[name].add(part)
            by_part[part].append(release)
    totals = []
    for name, parts in by_name.items():
        together = {release.release_id: release for part in parts for release in by_part[part]}.values()
        spent = [sum_spent(by_part[part], keyed) for part in parts]
        known = [part.eps for part in spent if part.eps is not None]
        totals.append(
            Total(
                dataset=names[name],
                releases=len(together),
                pending=sum(release.state == PENDING for release in together),
                total_eps=max(known) if len(known) == len(spent) else None,
                at_least=any(part.at_least for part in spent),
                raw=any(release.draws == RAW for release in together),
            )
        )
    return totals


def sum_spent(releases: Iterable[Entry], keyed: Keyed) -> Spent:
    """Return the sum of releases that share data."""
    by_draws: dict[object, Decimal] = {}
    at_least = False
    for release in releases:
        if release.largest_row_eps is None:
            return Spent(None, at_least=False)
        if release.by_record:
            scope = name_scope(release)
            by_draws[scope] = keyed[scope]
        else:
            by_draws[release.run_id] = max(by_draws.get(release.run_id, Decimal()), release.largest_row_eps)
        at_least |= release.at_least
    with localcontext() as context:
        context.prec = _DIGITS
        return Spent(sum(by_draws.values(), Decimal()), at_least)


def name_scope(release: Entry) -> tuple[str, str]:
    """Return the scope in which records of a keyed release are counted: the key, and the name of the data."""
    return str(release.key_id), fold(release.dataset)


def list_parts(release: Entry) -> set[str]:
    """Return the files of a release, or else the name of its dataset, such as a table, folded."""
    return {fold(part) for part in release.parts or [release.dataset]}


def find_related(releases: Sequence[Entry], release: Entry) -> list[Entry]:
    """Return the releases that share data with this one."""
    parts = list_parts(release)
    return [other for other in releases if not parts.isdisjoint(list_parts(other))]


def write_eps(eps: Decimal | None) -> str:
    """Return a sum of eps with all its digits, or "unknown"."""
    return "unknown" if eps is None else f"{eps.normalize():f}"


def check_budget(releases: Sequence[Entry], keyed: Keyed, release: Entry, budget: float, after: Keyed) -> None:
    """Raise BudgetError if this release might take a row of the data over the budget.

    keyed: what keys have spent so far; after: with this release.
    """
    for name in release.parts or [release.dataset]:
        part = fold(name)
        earlier = [other for other in releases if part in list_parts(other)]
        before, together = sum_spent(earlier, keyed), sum_spent([*earlier, release], after)
        if any(other.draws == RAW for other in earlier):
            raise BudgetError(f"{name} was released unprotected before (--allow-raw), so no budget can be kept")
        if together.eps is None:
            raise BudgetError(
                f"{name}: an earlier release is running or was interrupted, so what its rows have spent is unknown and "
                "no budget can be kept; end it, or say what it counts as: custext ledger settle ID"
            )
        if together.at_least:
            raise BudgetError(
                f"{name}: a query, a connection or a pipeline may have drawn its rows more than once, so no budget can "
                f"be kept; they have spent at least {write_eps(before.eps)}; release it without --budget-total (in "
                "Python: budget_total)"
            )
        if together.eps > Decimal(repr(budget)):
            raise BudgetError(
                f"{name}: with this release, a row may have spent a total eps of {write_eps(together.eps)}, more than "
                f"--budget-total {budget:g} (in Python: budget_total); {count_of(len(earlier), 'earlier release')} "
                f"spent {write_eps(before.eps)}; nothing was written"
            )


def check_release(
    earlier: Sequence[Entry], release: Entry, dataset: Dataset, database: Database, appends_to: str | None = None
) -> None:
    """Raise a CusTextError if the earlier releases do not allow this one, whatever it spends.

    database: the one with the mappings. appends_to: the output to which the release adds rows, if it adds to one.
    """
    if appends_to is not None:
        _check_columns(earlier, release, appends_to)
    if not is_nameless(release.dataset):
        earlier = [other for other in earlier if other.row_count != 0]
        if not dataset.second_mapping:
            _check_mapping(earlier, release, database)
        if release.key_id is not None:
            _check_key(earlier, release, reuse=dataset.reuse_key)


def _check_columns(earlier: Sequence[Entry], release: Entry, output: str) -> None:
    """Raise SettingError if different columns were sanitized in the rows that the output already has."""
    before = [other for other in earlier if any(made["name"] == output for made in other.outputs)]
    if before and {*map(fold, before[-1].sanitized)} != {*map(fold, release.sanitized)}:
        raise SettingError(
            f"{output}: its rows were sanitized in {', '.join(before[-1].sanitized)}; rows that are sanitized in "
            f"{', '.join(release.sanitized)} cannot be added: use the same --column (in Python: columns)"
        )


def _check_key(earlier: Sequence[Entry], release: Entry, *, reuse: bool) -> None:
    """Raise KeyFileError if the key was used for other data, or with another record column for this data.

    Records of other data with the same ID would get the same draws. With another column, every row would be drawn again
    under a new record, so that the two draws would not add up.
    """
    used = [other for other in earlier if other.key_id == release.key_id and not is_nameless(other.dataset)]
    related, column = find_related(used, release), release.record_column
    if used and not related and not reuse:
        raise KeyFileError(
            f"{release.dataset}: key {release.key_id} was used before for {used[0].dataset}; records with the same ID "
            "would get the same draws in both, which reveals where their texts are equal. Make another key with: "
            f"custext keygen PATH; if it is the same data, use --dataset {used[0].dataset} (in Python: dataset=...); "
            "or allow it with --reuse-key (in Python: Dataset(..., reuse_key=True))"
        )
    for other in related:
        if column is not None and fold(other.record_column or column) != fold(column):
            raise KeyFileError(
                f"{release.dataset}: key {release.key_id} identified rows by column {other.record_column!r} before; by "
                f"{column!r}, all of them would be drawn again. Use --record-column {other.record_column} (in Python: "
                "record_column=...), or make another key with: custext keygen PATH"
            )


@dataclass(frozen=True)
class SecondMapping:
    """What a release reveals if earlier releases of the same data used only other mappings: a second group for words.

    before: the mapping of the last of them. least, median: how many words, itself included, share both groups with a
    word: the fewest, and the median over words. Both are 0 if the mappings have no word in common, and None if one of
    the mappings is not in the database; `missing` is its name.
    """

    before: str
    least: int | None
    median: int | None
    missing: str | None = None


def _check_mapping(earlier: Sequence[Entry], release: Entry, database: Database) -> None:
    """Raise BudgetError if some of the data was released before, but only under other mappings."""
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


def find_second_mapping(
    earlier: Sequence[Entry], release: Entry, database: Database, mapping: Mapping | None = None
) -> SecondMapping | None:
    """Return the other mapping under which the same data was released before; None if this release adds no mapping.

    mapping: that of the release, if it may not be stored.
    """
    if release.draws == RAW or is_nameless(release.dataset):
        return None
    related = [other for other in find_related(earlier, release) if other.draws != RAW]
    known = [list_parts(other) for other in related if other.fingerprint == release.fingerprint]
    new = list_parts(release).difference(*known)
    others = [other for other in related if not new.isdisjoint(list_parts(other))]
    if not others:
        return None
    before = others[-1]
    with reading(database) as connection:
        names = {info.fingerprint: info.name for info in read_infos(connection)}
        missing = [one for one in (before, release) if one.fingerprint not in names]
        if missing and (missing != [release] or mapping is None):
            return SecondMapping(before.mapping, None, None, missing[0].mapping)
        values: list[object]
        if mapping is None or not missing:
            second, values = "SELECT token, group_id FROM groups WHERE mapping = ?", [names[release.fingerprint]]
        else:
            second = "SELECT unnest(?::VARCHAR[]) AS token, unnest(?::INTEGER[]) AS group_id"
            values = [mapping.words, np.repeat(np.arange(len(mapping.sizes)), mapping.sizes).tolist()]
        kept = "AND token NOT IN (SELECT word FROM stopwords)" if before.plus and release.plus else ""
        [(least, median)] = connection.execute(
            "SELECT min(together), quantile_disc(together, 0.5) FROM ("
            "SELECT count(*) OVER (PARTITION BY first.group_id, second.group_id) AS together "
            f"FROM ({second}) AS second JOIN groups AS first USING (token) WHERE first.mapping = ? {kept})",
            [*values, names[before.fingerprint]],
        ).fetchall()
    return SecondMapping(before.mapping, least or 0, median or 0)
