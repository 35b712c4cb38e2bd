"""What the functions of a DuckDB instance did, over all queries."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.store.ledger.entry import LedgerEntry


class Usage:
    """What the functions of an instance did, over all queries: counts, and the settings of the calls.

    guard: a context that every draw is made in.
    """

    def __init__(self, guard: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.guard = guard
        self.forget()

    def forget(self) -> None:
        """Reset all counts."""
        self.tally = Tally()
        self.epsilons: set[float] = set()
        self.plus: set[bool] = set()
        self._was_keyed = self._was_fresh = False

    def note(self, sanitizer: Sanitizer, eps: Any, plus: Any) -> None:
        """Record a finished call."""
        self.epsilons.update({float(np.max(eps, initial=0.0)), float(np.min(eps, initial=np.inf))})
        self.plus.update(np.unique(plus).tolist())
        if sanitizer.key is None:
            self._was_fresh = True
        else:
            self._was_keyed = True

    def describe(self, entry: LedgerEntry, sanitizer: Sanitizer) -> Receipt:
        """Describe in an entry how the functions were called, and return the receipt.

        The functions see calls, not rows, and a query may draw a row several times. So a row has spent at least what a
        call has; at eps = 0, exactly nothing.
        """
        terms = sanitizer.terms if self.is_keyed else sanitizer.with_fresh_draws().terms
        plus = next(iter(self.plus)) if len(self.plus) == 1 else None
        largest = max(self.epsilons)
        entry.describe(draws=terms.draws, key_id=terms.key_id, eps=largest, plus=plus, at_least=largest > 0)
        return self.receipt(sanitizer)

    def receipt(self, sanitizer: Sanitizer) -> Receipt:
        """Return the receipt of what was drawn."""
        budgets = {max(self.epsilons), *self.epsilons & {0.0}}  # at 0 nothing is drawn, unlike at any other eps
        return self.tally.receipt(sanitizer.policy, sanitizer.guarantee(budgets, self.plus))

    @property
    def was_called(self) -> bool:
        return self._was_fresh or self._was_keyed

    @property
    def is_keyed(self) -> bool:
        """Whether all draws came from the key."""
        return self._was_keyed and not self._was_fresh

    @property
    def keyed_sum(self) -> str | None:
        """The digest by which equal releases are recognized, if all draws came from the key; None otherwise."""
        return self.tally.keyed_sum if self.is_keyed else None
