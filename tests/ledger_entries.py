"""Writes releases directly to a ledger."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from custext_sql.store.ledger import table as ledger
from custext_sql.store.ledger.checks import check_release
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.table import Release, Terms

TERMS = Terms("m", "f", policy="", calibration="paper", draws="fresh", key_id=None)


def make_release(dataset: str, *, largest_row_eps: float | str | None = None, **settings: Any) -> Release:
    """Return a release of a dataset."""
    largest = None if largest_row_eps is None else Decimal(str(largest_row_eps))
    defaults: dict[str, Any] = {"parts": [], "eps": 1.0, "plus": True, "largest_row_eps": largest}
    return ledger.new_release(TERMS, dataset=dataset, **(defaults | settings))


def enter_release(db: str | Path, dataset: str, *, budget_total: float | None = None, **settings: Any) -> Release:
    """Enter a release of a dataset and return it; BudgetError if the budget does not allow it."""
    release = make_release(dataset, **settings)
    known = Dataset(dataset, budget_total)
    ledger.enter(db, release, lambda connection, earlier: check_release(connection, earlier, release, known))
    return release
