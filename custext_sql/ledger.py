"""What each release spent and let through: the table `releases` of the custext database. It holds no text, no SQL."""

import json
import math
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import duckdb

from custext_sql.database import Database, reading, writing
from custext_sql.errors import BudgetError
from custext_sql.policy import Policy
from custext_sql.receipt import Receipt
from custext_sql.table_rows import insert_row, list_columns

PENDING, COMPLETE = "pending", "complete"
_PATIENCE = 30.0  # seconds to wait while other processes have the database open


@dataclass(frozen=True)
class Release:
    """One release. Counts are None while a stream still flows.

    state: pending until the output is in its place, then complete. draws: fresh, keyed or seeded. eps: the largest.
    """

    release_id: str
    state: str
    started_at: datetime
    completed_at: datetime | None
    dataset: str
    text_columns: str
    mapping: str
    fingerprint: str
    eps: float | None
    plus: bool | None
    policy: str
    calibration: str
    draws: str
    key_id: str | None
    record_column: str | None = None
    row_count: int | None = None
    word_count: int | None = None
    sampled: int | None = None
    stopwords: int | None = None
    numbers: int | None = None
    unknown_kept: int | None = None
    unknown_masked: int | None = None
    unknown_random: int | None = None
    endings: int | None = None
    alone_masked: int | None = None
    characters_in_clear: int | None = None
    largest_row_eps: float | None = None
    mean_row_eps: float | None = None
    worst_log_ratio: float | None = None
    hides_among: int | None = None

    def with_counts(self, receipt: Receipt) -> "Release":
        """With what a receipt says."""
        same = {field.name for field in fields(self)} & {field.name for field in fields(receipt)}
        counts = {name: getattr(receipt, name) for name in same - {"mapping", "fingerprint", "eps"}}
        return replace(self, row_count=receipt.rows, word_count=receipt.words, **counts)


@dataclass(frozen=True)
class Total:
    """What the releases of a dataset have spent together on the row on which each spent most; None: nobody knows."""

    dataset: str
    releases: int
    pending: int
    total_eps: float | None


def describe_policy(policy: Policy) -> str:
    return " ".join(f"{part}={choice}" for part, choice in asdict(policy).items())


def new_release(**settings: Any) -> Release:
    return Release(uuid.uuid4().hex, PENDING, _now(), None, **settings)


def begin(database: Database, release: Release, *, budget_total: float | None = None) -> None:
    """Enter a release as pending, unless it would take its dataset over a budget."""
    with writing(database, patience=_PATIENCE) as connection:
        if budget_total is not None:
            check_budget(_read(connection), release, budget_total)
        insert_row(connection, "releases", release)


def finish(release: Release) -> Release:
    """The release, complete."""
    return replace(release, state=COMPLETE, completed_at=_now())


def update(database: Database, release: Release) -> None:
    """Enter what has become of a release."""
    names = [field.name for field in fields(release) if field.name != "release_id"]
    changes = ", ".join(f"{name} = ?" for name in names)
    with writing(database, patience=_PATIENCE) as connection:
        values = [*(getattr(release, name) for name in names), release.release_id]
        connection.execute(f"UPDATE releases SET {changes} WHERE release_id = ?", values)


def withdraw(database: Database, release: Release) -> None:
    """Take back what was entered: nothing was released."""
    with writing(database, patience=_PATIENCE) as connection:
        connection.execute("DELETE FROM releases WHERE release_id = ?", [release.release_id])


def list_releases(database: Database = None, *, dataset: str | None = None) -> list[Release]:
    """All releases, or those of a dataset, the oldest first."""
    with reading(database) as connection:
        return [release for release in _read(connection) if dataset in (None, release.dataset)]


def add_up(releases: Sequence[Release]) -> list[Total]:
    """What each dataset has spent: fresh releases add up, those by one key count once."""
    totals = []
    for dataset in dict.fromkeys(release.dataset for release in releases):
        some = [release for release in releases if release.dataset == dataset]
        pending = sum(release.state == PENDING for release in some)
        spent = _sum_spent(some)
        totals.append(Total(dataset, len(some), pending, None if math.isinf(spent) else spent))
    return totals


def check_budget(releases: Sequence[Release], release: Release, budget: float) -> None:
    """Refuse a release that would take its dataset's largest row over a budget."""
    earlier = [other for other in releases if other.dataset == release.dataset]
    spent, together = _sum_spent(earlier), _sum_spent([*earlier, release])
    if math.isinf(together):
        raise BudgetError(
            f"{release.dataset}: a stream that was cut off before its counts were known has released a part of it; "
            "what its rows have spent cannot be told any more"
        )
    if together > budget * (1.0 + 1e-9):  # sums of decimal fractions are not exact
        raise BudgetError(
            f"{release.dataset}: this release would take its largest row to a total eps of {together:g}, over "
            f"--budget-total {budget:g}; {len(earlier):,} releases spent {spent:g} before; nothing was written"
        )


def to_json(releases: Release | Sequence[Release]) -> str:
    listed = asdict(releases) if isinstance(releases, Release) else [asdict(release) for release in releases]
    return json.dumps(listed, default=str, ensure_ascii=False, indent=2)


def _sum_spent(releases: Sequence[Release]) -> float:
    """Draws by the same key, of the same columns under the same records, are the same draws; all others add up."""
    by_draws: dict[object, float] = {}
    for release in releases:
        spent = math.inf if release.largest_row_eps is None else release.largest_row_eps
        keyed = (release.key_id, release.record_column, release.text_columns)
        draws = release.release_id if release.key_id is None else keyed
        by_draws[draws] = max(by_draws.get(draws, 0.0), spent)
    return math.fsum(by_draws.values())


def _read(connection: duckdb.DuckDBPyConnection) -> list[Release]:
    columns = list_columns(Release)
    rows = connection.execute(f"SELECT {columns} FROM releases ORDER BY started_at, release_id").fetchall()
    return [Release(*row) for row in rows]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
