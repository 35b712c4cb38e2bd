"""What came of a release."""

import warnings
from dataclasses import dataclass

from custext_sql.errors import ReleaseWarning
from custext_sql.replacing.receipt import Receipt


@dataclass(frozen=True)
class ReleaseReport:
    """The result of a release.

    receipt: what was drawn, let through and spent. output: what there is now, as people call it, such as a path;
    None where it went to a stream or to the caller. copied: columns that were copied as they were. note: what the user
    should know of the ledger, if something went wrong with it.
    """

    rows: int
    receipt: Receipt
    output: str | None = None
    copied: tuple[str, ...] = ()
    note: str | None = None

    def warn(self, stacklevel: int = 2) -> None:
        """Tell in warnings what passed in the clear, and what went wrong with the ledger."""
        for message in (*self.receipt.warnings, *(() if self.note is None else (self.note,))):
            warnings.warn(message, ReleaseWarning, stacklevel=stacklevel + 1)
