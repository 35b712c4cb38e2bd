"""Checks names and numbers that callers pass, and words messages about them: counts, and names that do not exist."""

import difflib
import math
import numbers
import operator
import os
import re
from collections.abc import Iterable

from custext_sql.errors import SettingError

_NAME = re.compile(r"\w[\w.+-]{0,99}")
_NAMES_SHOWN = 40


def check_name(name: str, what: str) -> str:
    """Return the name if it needs no quotes in a command or a message; SettingError otherwise. what: "a mapping"."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingError(
            f"the name of {what} must have 1 to 100 characters, only letters, digits and . + - _, and start with a "
            f"letter, a digit or _; found {name!r}"
        )
    return name


def check_type(value: object, expected: type | tuple[type, ...], what: str, hint: str = "") -> None:
    """Raise SettingError unless a value has the expected type. what: "mapping must be a Mapping"; hint: what to do."""
    if not isinstance(value, expected):
        raise SettingError(f"{what}; found {type(value).__name__}{hint and f'; {hint}'}")


def check_path(path: str | os.PathLike[str], what: str) -> None:
    """Raise SettingError unless a value is a path: a string, or a PathLike object. what: its name."""
    check_type(path, (str, os.PathLike), f"{what} must be a path")


def check_whole(number: int, what: str) -> int:
    """Return the number as a Python int; SettingError if it is not an integer of some type. what: its name."""
    try:
        return operator.index(number)
    except TypeError:
        raise SettingError(f"{what} must be a whole number; found {number!r}") from None


def check_at_least(number: int, least: int, parameter: str) -> int:
    """Return the number as an int; SettingError, which names the parameter, if it is not a whole number that large."""
    what = f"--{parameter.replace('_', '-')} (in Python: {parameter})"
    if (found := check_whole(number, what)) < least:
        raise SettingError(f"{what} must be at least {least}; found {found}")
    return found


def check_limit(number: float | None, option: str, name: str, *, or_zero: bool = False) -> None:
    """Raise SettingError unless the number is finite and greater than 0, or None, or (or_zero) 0.

    option, name: what the number is called on the command line and in Python.
    """
    if number is None:
        return
    option = f"{option} (in Python: {name})"
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise SettingError(f"{option} must be a number; found {type(number).__name__}")
    if not 0 < number < math.inf and not (or_zero and number == 0):
        least = "at least" if or_zero else "greater than"
        raise SettingError(f"{option} must be {least} 0 and finite; found {float(number):g}")


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 row", "1,200 rows". plural: for nouns that do not just add an "s"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def find_closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to this one, if one is. cutoff: the least ratio of difflib."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def suggest(name: str, known: Iterable[str], plural: str = "expected one of", *, quoted: bool = False) -> str:
    """Return a hint for a name that does not exist: "did you mean 'starter'?" or "mappings: large, starter".

    plural: the noun before a list of the known names. quoted: quote them, because they may contain commas.
    """
    names = sorted(known)
    if not names:
        return "there are none yet"
    close = find_closest(name, names)
    if close is not None:
        return f"did you mean {close!r}?"
    shown = [repr(one) if quoted else one for one in names[:_NAMES_SHOWN]]
    return f"{plural}: {', '.join(shown)}{', ...' if names[_NAMES_SHOWN:] else ''}"
