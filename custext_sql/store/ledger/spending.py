"""Adds up the eps of releases exactly, per dataset, and checks budgets."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Any

from custext_sql.errors import BudgetError
from custext_sql.parameters import count_of
from custext_sql.store.ledger.table import PENDING, RAW, Release, fold

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
    total_eps: the sum, over the releases, of the largest eps that each spent on a row: no row spent more. None if it is
        unknown, because a release was interrupted or data was released unprotected.
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


def add_up(releases: Sequence[Release]) -> list[Total]:
    """Return the total of each dataset.

    Releases that share a file, a table or a name add up for it; the total of a dataset is that of its worst part.
    Keyed releases of the same records and texts have the same draws and count once. So do the parts of one run, since
    each has other rows.
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
        spent = [sum_spent(by_part[part]) for part in parts]
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


def sum_spent(releases: Iterable[Release]) -> Spent:
    """Return the sum of releases that share data."""
    by_draws: dict[object, Decimal] = {}
    at_least = False
    for release in releases:
        if release.largest_row_eps is None:
            return Spent(None, at_least=False)
        draws = release.run_id if release.keyed_sum is None else (release.key_id, release.keyed_sum)
        by_draws[draws] = max(by_draws.get(draws, Decimal()), release.largest_row_eps)
        at_least |= release.at_least
    with localcontext() as context:
        context.prec = _DIGITS
        return Spent(sum(by_draws.values(), Decimal()), at_least)


def list_parts(release: Release) -> set[str]:
    """Return the files or tables of a release, or else the name of its dataset, folded."""
    return {fold(part) for part in release.parts or [release.dataset]}


def find_related(releases: Sequence[Release], release: Release) -> list[Release]:
    """Return the releases that share data with this one."""
    parts = list_parts(release)
    return [other for other in releases if not parts.isdisjoint(list_parts(other))]


def check_budget(releases: Sequence[Release], release: Release, budget: float) -> None:
    """Raise BudgetError if a row of the data might exceed a total eps with this release."""
    for name in release.parts or [release.dataset]:
        part = fold(name)
        earlier = [other for other in releases if part in list_parts(other)]
        before, together = sum_spent(earlier), sum_spent([*earlier, release])
        if any(other.draws == RAW for other in earlier):
            raise BudgetError(f"{name} was released unprotected before (--allow-raw), so no budget can be kept")
        if together.eps is None:
            raise BudgetError(
                f"{name}: an earlier release was interrupted, so what its rows have spent is unknown and no budget can "
                "be kept; release it without --budget-total (in Python: budget_total)"
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


def _group_by_part(releases: Sequence[Release]) -> dict[str, list[Release]]:
    found: dict[str, list[Release]] = {}
    for release in releases:
        for part in list_parts(release):
            found.setdefault(part, []).append(release)
    return found
