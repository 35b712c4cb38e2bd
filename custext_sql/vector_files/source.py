"""What every reader hands on: where rows come from, and the rows."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt

from custext_sql.errors import SourceError


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a source; `first` is the number of the first, counted as the source counts."""

    words: Sequence[str]
    vectors: npt.NDArray[np.float32]
    first: int


@dataclass(frozen=True)
class VectorSource:
    """An opened source of word vectors; a context manager that closes it.

    label: how messages name it. unit: what its rows are called ("line", "row", "word").
    share_read: how much of it has been read, from 0 to 1. digest: the sha256 of the source, in hex.
    """

    label: str
    format: str
    unit: str
    batches: Generator[Batch, None, None]
    share_read: Callable[[], float]
    digest: Callable[[], str]
    close_file: Callable[[], None] | None = None

    def __enter__(self) -> "VectorSource":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.batches.close()
        if self.close_file is not None:
            self.close_file()

    def error(self, number: int, message: str) -> SourceError:
        """The error for one row."""
        return row_error(self.label, self.unit, number, message)


def row_error(label: str, unit: str, number: int, message: str) -> SourceError:
    return SourceError(f"{label}, {unit} {number}: {message}")
