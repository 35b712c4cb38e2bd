"""What a component has sanitized, counted, and entered in the ledger if its config names a dataset."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from custext_sql import Dataset, Receipt
from custext_sql.errors import SettingError
from custext_sql.replacing.tally import Tally
from custext_sql.store.ledger.entry import Entry
from custext_sql.store.ledger.running_entry import RunningRelease, check_running

OpenEntry = Callable[[Dataset], Entry]


class Counting:
    """Counts Docs. With a dataset, they are one release for as long as the component lives, whose total says "at
    least": the component cannot know whether a text passes twice.

    open_entry: makes an entry in the ledger. receipt: says what was counted.
    """

    def __init__(self, dataset: Dataset | None, open_entry: OpenEntry, receipt: Callable[[Tally], Receipt]) -> None:
        self.tally = Tally()
        self._receipt = receipt
        self._running: RunningRelease | None = None
        if dataset is not None:
            self._running = RunningRelease(lambda: open_entry(dataset), self._count, self._forget)

    def drawing(self) -> AbstractContextManager[None]:
        """Return what to draw within: the release is in the ledger before that."""
        return nullcontext() if self._running is None else self._running.drawing()

    def _count(self, entry: Entry) -> tuple[Receipt, str | None]:
        return self._receipt(self.tally), self.tally.keyed_sum

    def _forget(self) -> None:
        self.tally = Tally()


def read_dataset(dataset: str | dict[str, Any] | None) -> Dataset | None:
    """Return the dataset that a config names, or describes by the parts of `custext_sql.Dataset`."""
    if dataset is None:
        return None
    try:
        return check_running(Dataset(**dataset) if isinstance(dataset, dict) else dataset)
    except TypeError:
        raise SettingError("dataset has the parts name, second_mapping and reuse_key") from None
    except SettingError as error:
        raise SettingError(f"dataset: {error}") from None
