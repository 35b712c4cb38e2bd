"""What releases have spent together on the row on which each spent most: exact sums, budgets."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Any

from custext_sql.errors import BudgetError
from custext_sql.store.ledger.table import PENDING, RAW, Release, fold

_DIGITS = 60  # more than any sum of releases has


@dataclass(frozen=True)
class Spent:
    """What was spent on a row. eps: None if nobody knows; at_least: it may be more."""

    eps: Decimal | None
    at_least: bool


@dataclass(frozen=True)
class Total:
    """What all releases that share data with a dataset have spent on the row on which each spent most.

    total_eps: None if nobody knows, or if data was released as it is (raw). at_least: it may be more, since a query, a
    connection or a pipeline may have drawn a row more than once.
    """

    dataset: str
    releases: int
    pending: int
    total_eps: Decimal | None
    at_least: bool
    raw: bool

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, with numbers as JSON has them."""
        return asdict(self) | {"total_eps": None if self.total_eps is None else float(self.total_eps)}


def add_up(releases: Sequence[Release]) -> list[Total]:
    """Add up what each dataset has spent.

    Releases that share a file, a table or a name add up for it; a dataset has spent what the worst of its parts has.
    Keyed releases of the same records and texts are the same draws and count once, as do the parts of one run, which
    have other rows.
    """
    by_part = _group_by_part(releases)
    names: dict[str, str] = {}  # as they were first written
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
    """Add up releases that share data."""
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
    """List the files or tables of a release, or else the name of its dataset, as they are compared."""
    return {fold(part) for part in release.parts or [release.dataset]}


def find_related(releases: Sequence[Release], release: Release) -> list[Release]:
    """Find the releases that share data with this one."""
    parts = list_parts(release)
    return [other for other in releases if not parts.isdisjoint(list_parts(other))]


def check_budget(releases: Sequence[Release], release: Release, budget: float) -> None:
    """Refuse a release that would take a row of its data over a budget, or of which nobody could tell."""
    for name in release.parts or [release.dataset]:
        part = fold(name)
        earlier = [other for other in releases if part in list_parts(other)]
        before, together = sum_spent(earlier), sum_spent([*earlier, release])
        if any(other.draws == RAW for other in earlier):
            raise BudgetError(f"{name}: it was released unprotected, with --allow-raw; no budget is left to keep")
        if together.eps is None:
            raise BudgetError(
                f"{name}: a release that was cut off before its counts were known has released a part of it; what its "
                "rows have spent cannot be told anymore"
            )
        if together.at_least:
            raise BudgetError(
                f"{name}: a query, a connection or a pipeline may have drawn its rows more than once, so that they "
                f"have spent at least {write_eps(before.eps)}; no --budget-total can be kept; release it without one"
            )
        if together.eps > Decimal(repr(budget)):
            raise BudgetError(
                f"{name}: this release would take its largest row to a total eps of {write_eps(together.eps)}, over "
                f"--budget-total {budget:g}; {len(earlier):,} earlier "
                f"{'release' if len(earlier) == 1 else 'releases'} spent {write_eps(before.eps)}; nothing was written"
            )


def write_eps(eps: Decimal | None) -> str:
    """Return a sum as people write it, to its last digit."""
    return "unknown" if eps is None else f"{eps.normalize():f}"


def _group_by_part(releases: Sequence[Release]) -> dict[str, list[Release]]:
    found: dict[str, list[Release]] = {}
    for release in releases:
        for part in list_parts(release):
            found.setdefault(part, []).append(release)
    return found
