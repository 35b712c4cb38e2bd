"""A release that goes on for as long as texts pass, as in a pipeline or a server; nobody ends it."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property

from custext_sql.replacing.guarantee import Guarantee
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.replacer import Counts
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizer import Sanitizer
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import LedgerEntry
from custext_sql.store.ledger.running_entry import RunningEntry, check_running


class RunningRelease:
    """Counts what a sanitizer draws, and enters it in the ledger of the sanitizer's database if a dataset is named.

    All draws are one release, in the ledger before the first of them, and brought up to date when nothing was drawn for
    a second and when the process ends. Its total says "at least": nobody knows whether a text passes twice. With a
    dataset, a fork of the process counts from zero and has an entry of its own.

    dataset: what the ledger calls the data. budgets: every eps at which words may be drawn, and plus, whether stopwords
    stay; if not given, those that the sanitizer was loaded with. listed: the only words that are drawn, if a list says
    so. run_id: a name that the parts of one run share if several processes have a part in it.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        dataset: str | Dataset | None = None,
        *,
        budgets: Collection[float] | None = None,
        plus: bool | None = None,
        listed: frozenset[str] | None = None,
        run_id: str | None = None,
    ) -> None:
        self._sanitizer = sanitizer
        settled = [sanitizer.settings.settle_rows(eps, plus, 1) for eps in budgets or {sanitizer.settings.eps}]
        self._budgets = {float(settings.epsilon) for settings in settled}
        self._plus = bool(settled[0].plus)
        self._listed, self._run_id = listed, run_id
        self._tally = Tally()
        self._dataset = None if dataset is None else check_running(dataset)
        self._entry = None if dataset is None else RunningEntry(self._open_entry, self._count, self._forget)

    def check(self) -> None:
        """Refuse what the ledger does not allow, before anything is drawn."""
        if self._dataset is not None:
            self._open_entry().check()

    @contextmanager
    def drawing(self) -> Iterator[Tally]:
        """Draw within, and add what was counted to the tally: the release is in the ledger before anything is drawn."""
        if self._entry is None:
            yield self._tally
        else:
            with self._entry.drawing():
                yield self._tally

    @property
    def receipt(self) -> Receipt:
        """Return what was drawn, let through and spent so far, in this process."""
        return self._make_receipt(self._tally)

    def make_receipt(self, counts: Counts) -> Receipt:
        """Return the receipt of some of the texts alone."""
        tally = Tally()
        tally.add(counts)
        return self._make_receipt(tally)

    def _make_receipt(self, tally: Tally) -> Receipt:
        return tally.receipt(self._sanitizer.policy, self._guarantee)

    @cached_property
    def _guarantee(self) -> Guarantee:
        return self._sanitizer.guarantee(self._budgets, {self._plus}, self._listed)

    def _open_entry(self) -> LedgerEntry:
        assert self._dataset is not None
        return self._sanitizer.open_entry(
            self._dataset, eps=max(self._budgets), plus=self._plus, at_least=True, run_id=self._run_id
        )

    def _count(self, entry: LedgerEntry) -> tuple[Receipt, str | None]:
        return self.receipt, self._tally.keyed_sum

    def _forget(self) -> None:
        self._tally = Tally()
