"""Releases without a defined end, such as those of a pipeline or a server."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property

from custext_sql.replacing.counts import Counts
from custext_sql.replacing.guarantee import Guarantee
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.tally import Tally
from custext_sql.sanitizing.sanitizer import Sanitizer
from custext_sql.store.ledger.dataset import Dataset
from custext_sql.store.ledger.entry import LedgerEntry
from custext_sql.store.ledger.running_entry import RunningEntry, check_running


class RunningRelease:
    """Counts what a sanitizer draws, and enters it in the ledger of the sanitizer's database if a dataset is named.

    All draws are one release. It is in the ledger before the first draw, and is brought up to date after a second
    without draws and when the process ends. Its total says "at least", because a text may pass twice. With a dataset, a
    fork of the process counts from zero and has its own entry.

    dataset: the name of the data in the ledger. budgets: every eps at which words may be drawn, and plus: whether
    stopwords are kept; by default those of the sanitizer. listed: the only words that are drawn, if there is a list.
    run_id: a name that processes share if each makes a part of one run.
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
        """Raise an error if the ledger does not allow the release; call it before anything is drawn."""
        if self._dataset is not None:
            self._open_entry().check()

    @contextmanager
    def drawing(self) -> Iterator[Tally]:
        """Yield the tally to add counts to. Draw within: by then, the release is in the ledger."""
        if self._entry is None:
            yield self._tally
        else:
            with self._entry.drawing():
                yield self._tally

    @property
    def receipt(self) -> Receipt:
        """The receipt of all that was drawn so far in this process."""
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
