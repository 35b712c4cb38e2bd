"""The entries of the ledger, one per release. They contain neither the user's texts nor the user's SQL."""

import unicodedata
import uuid
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from custext_sql.kinds import Counted, spread_counts
from custext_sql.sanitizer.receipt import Receipt

PENDING, COMPLETE, SETTLED = "pending", "complete", "settled"
RAW = "raw"  # a value of `draws`: nothing in the release was protected
_NOT_COPIED = frozenset({"mapping", "fingerprint", "eps", "largest_row_eps"})  # the entry sets its own


@dataclass(frozen=True)
class Terms:
    """The settings of a release that its sanitizer knows; see the fields of `Entry`."""

    mapping: str
    fingerprint: str
    policy: str
    calibration: str
    draws: str
    key_id: str | None


@dataclass(frozen=True, kw_only=True)
class Entry(Counted):
    """One release in the ledger. Counts are None as long as they are unknown.

    release_id: a random identifier. run_id: the same for the parts of one release that several processes made.
    state: "pending" until the output is in its place, then "complete"; "settled" if a person said what a pending
        release counts as. started_at, completed_at: UTC, without a time zone; completed_at is None while the release is
        pending. version: of custext-sql.
    dataset: the name of the data, such as a path. parts: the files of the release; none for a table or named dataset;
        releases that share one add up. sanitized, copied, dropped: columns of the input, by what became of them.
        outputs: what was written: the "name" and "sha256" of each file, or the "name" of a table.
    mapping, fingerprint: the name of the mapping, and the SHA-256 of its words, groups and scores.
    eps: the privacy budget per word, the largest one if there were several. plus: whether stopwords were kept; None if
        a query set it per row. policy, calibration: see `Settings`.
    draws: "fresh", "keyed", "seeded", or "raw" if nothing was protected. key_id: the name of the key.
        record_column: the column whose values identify rows to a key. by_record: whether what the release spent is
        counted record by record, together with the other releases by the same key.
    row_count, word_count: numbers of rows and words. counts: of words by kind, such as "replaced"; each is an attribute
        too. symbols, characters_in_clear, mean_row_eps, worst_log_ratio, hides_among: see `Receipt`.
    largest_row_eps: the largest eps spent on one row, exact. at_least: whether it may be more, because a row may have
        been drawn more than once.
    struck_at, struck_reason: when and why the release was struck through. It counts like any other.
    """

    release_id: str
    run_id: str
    state: str
    started_at: datetime
    completed_at: datetime | None = None
    version: str
    dataset: str
    parts: list[str]
    sanitized: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    outputs: list[dict[str, str]] = field(default_factory=list)
    mapping: str
    fingerprint: str
    eps: float | None
    plus: bool | None
    policy: str
    calibration: str
    draws: str
    key_id: str | None = None
    record_column: str | None = None
    by_record: bool = False
    row_count: int | None = None
    word_count: int | None = None
    counts: dict[str, int] | None = None
    symbols: int | None = None
    characters_in_clear: int | None = None
    largest_row_eps: Decimal | None = None
    at_least: bool = False
    mean_row_eps: float | None = None
    worst_log_ratio: float | None = None
    hides_among: int | None = None
    struck_at: datetime | None = None
    struck_reason: str | None = None

    def with_counts(self, receipt: Receipt) -> "Entry":
        """Return the release with the counts of a receipt."""
        same = {field.name for field in fields(self)} & {field.name for field in fields(receipt)}
        counts = {name: getattr(receipt, name) for name in same - _NOT_COPIED}
        largest = to_decimal(receipt.largest_row_eps)
        return replace(self, row_count=receipt.rows, word_count=receipt.words, largest_row_eps=largest, **counts)

    def to_dict(self) -> dict[str, Any]:
        """Return every field, ready for JSON: times are ISO strings in UTC, eps are floats."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in self.to_row().items()
        }

    def to_row(self) -> dict[str, Any]:
        """Return every field, with each count as a field; the largest eps of a row is a float."""
        largest = self.largest_row_eps
        return spread_counts(asdict(self)) | {"largest_row_eps": None if largest is None else float(largest)}


def to_decimal(eps: float) -> Decimal:
    """Return eps as the decimal number that was meant, such as 0.3, so that sums are exact."""
    return Decimal(repr(eps))


def new_entry(terms: Terms, **settings: Any) -> Entry:
    """Return a pending release that starts now. settings: the other fields."""
    release_id = new_id()
    known: dict[str, Any] = {
        "release_id": release_id,
        "run_id": release_id,
        "state": PENDING,
        "started_at": now(),
        "version": version("custext-sql"),
    }
    return Entry(**(known | asdict(terms) | settings))


def new_id() -> str:
    """Return a new random identifier."""
    return uuid.uuid4().hex


def finish(release: Entry) -> Entry:
    """Return the release marked as complete, as of now."""
    return replace(release, state=COMPLETE, completed_at=now())


def name_data(release: Entry) -> set[str]:
    """Return all names of the data of a release, folded: those of its parts, and that of its dataset."""
    return {fold(name) for name in (release.dataset, *release.parts)}


def fold(name: str) -> str:
    """Return a name of data in the form in which names are compared."""
    return unicodedata.normalize("NFKC", name.strip()).casefold()


def now() -> datetime:
    """Return the current time in UTC, without a time zone."""
    return datetime.now(UTC).replace(tzinfo=None)
