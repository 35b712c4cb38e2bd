"""Reads the ledger beside a database, and writes entries directly to it."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from custext_sql import read_ledger
from custext_sql.ledger.checks import Total, check_budget, check_release
from custext_sql.ledger.dataset import Dataset
from custext_sql.ledger.entries import Entry, Terms, finish, new_entry
from custext_sql.ledger.places import LedgerFile
from custext_sql.ledger.schema import insert_entry, read_entries, read_keyed, update_entry

TERMS = Terms("m", "f", policy="", calibration="paper", draws="fresh", key_id=None)


def list_releases(db: str | Path | None = None) -> list[Entry]:
    """Return all entries of the ledger, oldest first."""
    return read_ledger(db).releases


def peek_releases(db: str | Path | None = None) -> list[Entry]:
    """Return all entries of the ledger as they are, even those that this process would settle before it reads them."""
    with LedgerFile.locate(None, db).reading() as connection:
        return [] if connection is None else read_entries(connection)


def list_totals(db: str | Path | None = None) -> list[Total]:
    """Return the totals of the ledger."""
    return read_ledger(db).totals


def make_release(dataset: str, *, largest_row_eps: float | str | None = None, **settings: Any) -> Entry:
    """Return a release of a dataset."""
    largest = None if largest_row_eps is None else Decimal(str(largest_row_eps))
    defaults: dict[str, Any] = {"parts": [], "eps": 1.0, "plus": True, "largest_row_eps": largest}
    return new_entry(TERMS, dataset=dataset, **(defaults | settings))


def enter_release(db: str | Path, dataset: str, *, budget_total: float | None = None, **settings: Any) -> Entry:
    """Enter a release of a dataset and return it; an error if earlier ones, or the budget, do not allow it."""
    release = make_release(dataset, **settings)
    known = Dataset(dataset, budget_total)
    with LedgerFile.locate(None, db).writing() as connection:
        earlier, keyed = read_entries(connection), read_keyed(connection)
        check_release(earlier, release, known, db)
        if known.budget_total is not None:
            check_budget(earlier, keyed, release, known.budget_total, keyed)
        insert_entry(connection, release)
    return release


def complete_release(db: str | Path, release: Entry) -> Entry:
    """Enter a release that was pending as complete, and return it."""
    done = finish(release)
    with LedgerFile.locate(None, db).writing() as connection:
        assert update_entry(connection, done)
    return done
