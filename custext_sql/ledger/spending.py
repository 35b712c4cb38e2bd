"""Adds up the eps of releases exactly, per dataset, and checks budgets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Any

from custext_sql.errors import BudgetError
from custext_sql.ledger.entries import PENDING, RAW, Entry, fold
from custext_sql.parameters import count_of

Keyed = Mapping[tuple[str, str], Decimal]  # what each key has spent on one record, by key and data

_DIGITS = 60  # more than any sum of releases needs


@dataclass(frozen=True)
class Spent:
    """What was spent on a row. eps: None if unknown. at_least: whether it may be more."""

    eps: Decimal | None
    at_least: bool


@dataclass(frozen=True)
class Total:
    """What the releases of one dataset, and all others that share data with it, have spent together.

    dataset: the name of the data. releases: how many there are. pending: how many of them are not complete.
    total_eps: what any one row has spent at most. Fresh releases add up, each with its largest row; those by a key
        count record by record, so that a key adds its largest record. None if it is unknown, because a release was
        interrupted or data was released unprotected.
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
    The parts of one run count once, since each has other rows.
    """
    by_part = _group_by_part(releases)
    names: dict[str, str] = {}  # folded -> as first written
    by_name: dict[str, set[str]] = {}
    for release in releases:
        name = fold(release.dataset)
        names.setdefault(name, release.dataset)
        by_name.setdefault(name, set()).update(list_parts(release))
    totals = []
    for name, parts in by_name.items():
        together = {release.release_id: release for part in parts for release in by_part[part]}
        spent = [sum_spent(by_part[part], keyed) for part in parts]
        known = [part.eps for part in spent if part.eps is not None]
        totals.append(
            Total(
                dataset=names[name],
                releases=len(together),
                pending=sum(release.state == PENDING for release in together.values()),
                total_eps=max(known) if len(known) == len(spent) else None,
                at_least=any(part.at_least for part in spent),
                raw=any(release.draws == RAW for release in together.values()),
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
    """Return what the records of a keyed release are counted by: the key, and the name of the data."""
    return str(release.key_id), fold(release.dataset)


def list_parts(release: Entry) -> set[str]:
    """Return the files or tables of a release, or else the name of its dataset, folded."""
    return {fold(part) for part in release.parts or [release.dataset]}


def find_related(releases: Sequence[Entry], release: Entry) -> list[Entry]:
    """Return the releases that share data with this one."""
    parts = list_parts(release)
    return [other for other in releases if not parts.isdisjoint(list_parts(other))]


def check_budget(releases: Sequence[Entry], keyed: Keyed, release: Entry, budget: float, after: Keyed) -> None:
    """Raise BudgetError if a row of the data might exceed a total eps with this release.

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


def write_eps(eps: Decimal | None) -> str:
    """Return a sum of eps with all its digits, or "unknown"."""
    return "unknown" if eps is None else f"{eps.normalize():f}"


def _group_by_part(releases: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for release in releases:
        for part in list_parts(release):
            found.setdefault(part, []).append(release)
    return found
