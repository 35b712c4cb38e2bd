"""Names and numbers that callers pass: what they may be, and hints for those that are not found."""

import difflib
import math
import numbers
import operator
import re
from collections.abc import Iterable

from custext_sql.errors import SettingError

_NAME = re.compile(r"\w[\w.+-]{0,99}")


def check_name(name: str, what: str) -> str:
    """The name, if it can stand in a command and a message without quoting."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingError(
            f"the name of {what} must be letters, digits and . + - _, up to 100 and not beginning with a sign; "
            f"found {name!r}"
        )
    return name


def check_whole(number: int, what: str) -> int:
    """The number as a Python int, if it is a whole one of any kind."""
    try:
        return operator.index(number)
    except TypeError:
        raise SettingError(f"{what} must be a whole number; found {number!r}") from None


def check_positive(number: float | None, option: str, name: str) -> None:
    """Refuse a number that is not above 0 and finite; None is no limit. option, name: what callers know it by."""
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise SettingError(f"{option} must be a number ({name}); found {type(number).__name__}")
    if not 0 < number < math.inf:
        raise SettingError(f"{option} must be greater than 0 and finite ({name}); found {float(number):g}")


def find_closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name most like one that was not found; None if none is alike, by difflib's ratio."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint for a name that was not found: the closest known one, or all of them."""
    names = sorted(known)
    if not names:
        return "there are none yet"
    close = find_closest(name, names)
    return f"did you mean {close!r}?" if close else f"there is {', '.join(names[:40])}"
