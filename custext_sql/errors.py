"""Every error and warning of the package, and descriptions of types and system failures that quote no data."""

import re
import sys
import warnings
from collections.abc import Sequence
from types import FrameType

_OWN = ("custext_sql", "spacy_plugin", "contextlib")  # their lines mean nothing to the user who reads a warning


class CusTextError(Exception):
    """Base class of all errors of this package. The message says what to do next and quotes no user data."""


class DatabaseError(CusTextError):
    """A database or ledger is missing, locked, damaged, at another revision, or not one of custext-sql."""


class ForeignFileError(DatabaseError):
    """A file is not a DuckDB file."""


class DamagedFileError(DatabaseError):
    """A DuckDB file is damaged."""


class SourceError(CusTextError):
    """An input cannot be used: a vector file, word list or stopword corpus, or a file or table to sanitize."""


class MappingError(CusTextError):
    """A mapping cannot be built, does not exist, or was changed after it was built."""


class CertificateError(CusTextError):
    """The weights of a group do not satisfy the guarantee at this eps; nothing was sampled from them.

    group: the number of the group, from 0.
    """

    def __init__(self, group: int, eps: float, words: Sequence[str] = ()) -> None:
        named = f" ({', '.join(words[:5])}{', ...' if words[5:] else ''})" if words else ""
        super().__init__(
            f"group {group}{named}: found no weights that satisfy eps = {eps:g} for every pair of words in the group; "
            "nothing was sampled from it"
        )
        self.group = group


class SettingError(CusTextError):
    """A parameter has the wrong type, is out of range, or does not fit the others."""


class KeyFileError(CusTextError):
    """A key file cannot be read, written, or used with these settings or this data."""


class OutputError(CusTextError):
    """An output cannot be written to the given place."""


class BudgetError(CusTextError):
    """A release would exceed its budget, or is not allowed after earlier releases; nothing was written."""


class QueryError(CusTextError):
    """A query, or a file that it names, cannot be used."""


class PrivacyWarning(UserWarning):
    """Something that is allowed but weakens the protection."""


class ReleaseWarning(PrivacyWarning):
    """A release was made, but left words in the clear or could not be entered in the ledger."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, and show the line that called this package, however deep inside it the warning arises."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _OWN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# The name of a type can contain data: that of an ENUM lists its values. Only these types may appear in messages.
_WORDS = (
    r"TIMESTAMP(?:TZ)?(?:_S|_MS|_US|_NS)?",
    r"TIME(?:TZ|_NS)?",
    r"TIME(?:STAMP)? WITH TIME ZONE",
    r"U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)",
    r"U?INT(?:8|16|32|64|128)",
    r"DECIMAL(?:\(\d{1,2},\d{1,2}\))?",
    r"(?:INTEGER|STRING)_LITERAL",
    r"BOOLEAN|BOOL|FLOAT|DOUBLE|BIGNUM|DATE|INTERVAL|UUID|VARCHAR|BLOB|JSON|BIT|VARIANT|GEOMETRY|ANY|UNKNOWN",
    r'"NULL"|NULL',
)
PLAIN_TYPE = rf"(?:{'|'.join(_WORDS)})(?:\[\d{{0,6}}\])*(?![\w(\[])"


def tell_type(kind: str) -> str:
    """Return a description of a DuckDB type without data: its name, or its outermost word, or "another type"."""
    if re.fullmatch(PLAIN_TYPE, kind):
        return kind.replace('"', "")
    if nested := re.match(r"(?:STRUCT|TUPLE|MAP|UNION|ENUM)(?=\()", kind):  # the parentheses may contain data
        return f"a list of {nested[0]}" if kind.endswith("]") else nested[0]
    return "another type"


def are_plain(kinds: str) -> bool:
    """Return whether none of these DuckDB types, separated by commas, can contain data."""
    return re.fullmatch(rf"(?:{PLAIN_TYPE}(?:, {PLAIN_TYPE})*)?", kinds) is not None


def tell_arrow_type(kind: object) -> str:
    """Return the outermost word of an Arrow type; the rest may be data, such as the keys of a struct."""
    found = re.match(r"[a-z]+(?:_[a-z]+)*\d*", str(kind))
    return found[0] if found else "another type"


FULL = "the disk is full"
FULL_BY_SPILLING = f"{FULL}; temporary files need space"

# A message that contains one of these phrases may quote data around it, so it is replaced as a whole.
_FAILURES = {  # the phrase of the system: our wording
    "No space left on device": FULL,
    "failed to offload data block": FULL_BY_SPILLING,
    "Disk quota exceeded": "the disk quota is used up",
    "File too large": "the file would exceed the size limit",
    "Permission denied": "permission denied",
    "Operation not permitted": "permission denied",
    "Read-only file system": "the file system is read-only",
    "Too many open files": "too many files are open",
    "Input/output error": "the disk cannot be read or written",
    "Cannot allocate memory": "not enough memory",
    "File name too long": "the file name is too long",
    "No such file or directory": "no such file or folder",
    "Not a directory": "part of the path is a file, not a folder",
    "Is a directory": "expected a file, found a folder",
    "File exists": "a file or folder of that name already exists",
    "Conflicting lock is held": "another process has the file open",
}


def tell_failure(message: str) -> str | None:
    """Return the reason for a failure, if the message contains a known phrase of the operating system, else None."""
    return next((reason for phrase, reason in _FAILURES.items() if phrase.lower() in message.lower()), None)


def tell_system_error(error: OSError) -> str:
    """Return the reason that the operating system gives: in our words if it is known, else in its own."""
    return tell_failure(str(error.strerror)) or error.strerror or type(error).__name__
