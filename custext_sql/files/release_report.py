"""The result of a release."""

import warnings
from dataclasses import dataclass

from custext_sql.errors import ReleaseWarning
from custext_sql.sanitizer.receipt import Receipt


@dataclass(frozen=True)
class ReleaseReport:
    """The result of a release.

    rows: the number of rows. receipt: what was drawn, let through and spent. output: what was written, such as a path;
    None if it went to a stream or to the caller. copied: columns that were copied unchanged.
    """

    rows: int
    receipt: Receipt
    output: str | None = None
    copied: tuple[str, ...] = ()

    def warn(self, stacklevel: int = 2) -> None:
        """Issue a ReleaseWarning for each thing that passed in the clear."""
        for message in self.receipt.warnings:
            warnings.warn(message, ReleaseWarning, stacklevel=stacklevel + 1)
