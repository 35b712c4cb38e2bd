"""What each release spent and let through: the table `releases` of the custext database. It holds no text, no SQL."""

import json
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import duckdb

from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.store.database import Database, reading, writing
from custext_sql.store.ledger.dataset import resolve_name
from custext_sql.store.rows.columns import insert_row, list_columns

PENDING, COMPLETE = "pending", "complete"
RAW = "raw"  # instead of draws: what was released was not protected at all
_PATIENCE = 30.0  # seconds to wait while other processes have the database open
_UNLIKE = frozenset({"mapping", "fingerprint", "eps", "largest_row_eps"})  # fields that receipts have too


@dataclass(frozen=True)
class Terms:
    """How words were drawn, as far as a sanitizer knows."""

    mapping: str
    fingerprint: str
    policy: str
    calibration: str
    draws: str
    key_id: str | None


@dataclass(frozen=True, kw_only=True)
class Release:
    """One release. Counts are None while nobody knows them.

    run_id: shared by releases that are parts of one, each made by a process. state: pending until the output is in its
    place, then complete. parts: the files or the table that a release is of, else the name of its dataset; releases
    that share one add up. draws: fresh, keyed, seeded or raw. eps: the largest. keyed_sum: equal for keyed releases of
    the same texts under the same records. largest_row_eps: what the row spent that spent most; at_least: it may have
    spent more, because nobody knows whether it was drawn more than once.
    """

    release_id: str
    run_id: str
    state: str
    started_at: datetime
    completed_at: datetime | None = None
    dataset: str
    parts: list[str]
    text_columns: str = ""
    mapping: str
    fingerprint: str
    eps: float | None
    plus: bool | None
    policy: str
    calibration: str
    draws: str
    key_id: str | None = None
    record_column: str | None = None
    keyed_sum: str | None = None
    row_count: int | None = None
    word_count: int | None = None
    sampled: int | None = None
    stopwords: int | None = None
    numbers: int | None = None
    unknown_kept: int | None = None
    unknown_masked: int | None = None
    unknown_random: int | None = None
    endings: int | None = None
    kept: int | None = None
    alone_masked: int | None = None
    symbols: int | None = None
    characters_in_clear: int | None = None
    largest_row_eps: Decimal | None = None
    at_least: bool = False
    mean_row_eps: float | None = None
    worst_log_ratio: float | None = None
    hides_among: int | None = None

    def with_counts(self, receipt: Receipt) -> "Release":
        """Return the release with what a receipt says."""
        same = {field.name for field in fields(self)} & {field.name for field in fields(receipt)}
        counts = {name: getattr(receipt, name) for name in same - _UNLIKE}
        largest = to_decimal(receipt.largest_row_eps)
        return replace(self, row_count=receipt.rows, word_count=receipt.words, largest_row_eps=largest, **counts)

    def to_dict(self) -> dict[str, Any]:
        """Return every column, with numbers as JSON has them."""
        largest = self.largest_row_eps
        return asdict(self) | {"largest_row_eps": None if largest is None else float(largest)}


def to_decimal(eps: float) -> Decimal:
    """Return the decimal that was meant, so that sums are exact: 0.3, not the double nearest to it."""
    return Decimal(repr(eps))


def describe_policy(policy: Policy) -> str:
    return " ".join(f"{part}={choice}" for part, choice in asdict(policy).items())


def new_release(terms: Terms, **settings: Any) -> Release:
    """Return a release that begins now. settings: other fields."""
    release_id = uuid.uuid4().hex
    known: dict[str, Any] = {"release_id": release_id, "run_id": release_id, "state": PENDING, "started_at": _now()}
    return Release(**(known | asdict(terms) | settings))


def finish(release: Release) -> Release:
    """Return the release, complete."""
    return replace(release, state=COMPLETE, completed_at=_now())


def list_releases(database: Database = None, *, dataset: str | None = None) -> list[Release]:
    """List all releases, or those of data of that name or that has such a part, the oldest first."""
    with reading(database) as connection:
        found = read_releases(connection)
    wanted = None if dataset is None else fold(resolve_name(dataset))
    return [release for release in found if wanted is None or wanted in name_data(release)]


def read_releases(connection: duckdb.DuckDBPyConnection) -> list[Release]:
    names = [field.name for field in fields(Release)]
    rows = connection.execute(f"SELECT {list_columns(Release)} FROM releases ORDER BY started_at, release_id")
    return [Release(**dict(zip(names, row, strict=True))) for row in rows.fetchall()]


def name_data(release: Release) -> set[str]:
    """List what a release's data is known by: its parts, and the dataset's name, as they are compared."""
    return {fold(name) for name in (release.dataset, *release.parts)}


def fold(name: str) -> str:
    """Return the form in which names of data are compared."""
    return unicodedata.normalize("NFKC", name.strip()).casefold()


def enter(
    database: Database, release: Release, check: Callable[[duckdb.DuckDBPyConnection, Sequence[Release]], None]
) -> None:
    """Enter a new release, unless a check against all earlier ones refuses it."""
    with writing(database, patience=_PATIENCE) as connection:
        check(connection, read_releases(connection))
        insert_row(connection, "releases", release)


def update(database: Database, release: Release) -> None:
    """Enter what has become of a release."""
    fixed = ("release_id", "parts")  # DuckDB would delete and insert a row whose list is set, and find its key taken
    names = [field.name for field in fields(release) if field.name not in fixed]
    changes = ", ".join(f"{name} = ?" for name in names)
    with writing(database, patience=_PATIENCE) as connection:
        values = [*(getattr(release, name) for name in names), release.release_id]
        connection.execute(f"UPDATE releases SET {changes} WHERE release_id = ?", values)


def withdraw(database: Database, release: Release) -> None:
    """Take back what was entered: nothing was released."""
    with writing(database, patience=_PATIENCE) as connection:
        connection.execute("DELETE FROM releases WHERE release_id = ?", [release.release_id])


def to_json(release: Release) -> str:
    return json.dumps(release.to_dict(), default=str, ensure_ascii=False, indent=2)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
