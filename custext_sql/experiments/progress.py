"""How experiments report progress: a function that takes the share of the work done, 0 to 1."""

from collections.abc import Callable

ShareDone = Callable[[float], None]


def part_of(progress: ShareDone | None, number: int, count: int) -> ShareDone:
    """Return a function that reports the progress of one of several equal parts of some work."""
    return lambda share: None if progress is None else progress((number + share) / count)
