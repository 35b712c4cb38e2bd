"""Every error and warning of the package, and what a message may say of types and of the operating system."""

import re
from collections.abc import Sequence


class CusTextError(Exception):
    """Base of all errors raised on purpose; the message says what to do next."""


class DatabaseError(CusTextError):
    """A custext database is missing, locked, foreign, or at another revision."""


class ForeignFileError(DatabaseError):
    """A file is not one of DuckDB."""


class SourceError(CusTextError):
    """A vector file, word list or stopword corpus cannot be used as it is."""


class MappingError(CusTextError):
    """A mapping cannot be built, found, or trusted."""


class CertificateError(CusTextError):
    """Weights do not keep the promise of epsilon; nothing was sampled from them."""

    def __init__(self, group: int, eps: float, words: Sequence[str] = ()) -> None:
        named = f" ({', '.join(words[:5])}{', ...' if words[5:] else ''})" if words else ""
        super().__init__(
            f"group {group}{named}: no weights were found that keep any two of its words within eps = {eps:g}; "
            "nothing may be sampled from it"
        )
        self.group = group


class SettingError(CusTextError):
    """A parameter is outside its range."""


class KeyFileError(CusTextError):
    """A key file cannot be used, or not for what was asked."""


class OutputError(CusTextError):
    """An output cannot be written where it was asked for."""


class BudgetError(CusTextError):
    """A release would spend more than it may; nothing was written."""


class QueryError(CusTextError):
    """A query or a file that it names cannot be used; the message quotes no data."""


class PrivacyWarning(UserWarning):
    """What was asked for is allowed, but weakens the protection."""


class ReleaseWarning(PrivacyWarning):
    """A release that was made let words through, or could not be entered in the ledger."""


# A type can quote data, as an ENUM quotes its values: what is told of it quotes none.
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
_PLAIN = re.compile(PLAIN_TYPE)
_NESTED = re.compile(r"(?:STRUCT|TUPLE|MAP|UNION|ENUM)(?=\()")  # what is in the parentheses may be data


def tell_type(kind: str) -> str:
    """Return a type of DuckDB if it quotes nothing, else its outermost word, else words for any other type."""
    if _PLAIN.fullmatch(kind):
        return kind.replace('"', "")
    nested = _NESTED.match(kind)
    if nested is None:
        return "another type"
    return f"a list of {nested[0]}" if kind.endswith("]") else nested[0]


def are_plain(kinds: str) -> bool:
    """Return whether types of DuckDB, with commas between them, all quote nothing."""
    return re.fullmatch(rf"(?:{PLAIN_TYPE}(?:, {PLAIN_TYPE})*)?", kinds) is not None


def tell_arrow_type(kind: object) -> str:
    """Return the outermost word of a type of Arrow; what follows may be data: keys of a struct, a time zone."""
    found = re.match(r"[a-z]+(?:_[a-z]+)*\d*", str(kind))
    return found[0] if found else "another type"


# The message around the words of the operating system may quote data: these are told in fixed words.
_FAILURES = {  # what the system says, and what is told
    "No space left on device": "the disk is full",
    "Disk quota exceeded": "the disk quota is used up",
    "File too large": "the file would become larger than is allowed here",
    "Permission denied": "permission denied",
    "Operation not permitted": "permission denied",
    "Read-only file system": "the file system is read-only",
    "Too many open files": "too many files are open",
    "Input/output error": "the disk cannot be read or written",
    "Cannot allocate memory": "there is not enough memory",
    "File name too long": "the name of the file is too long",
    "No such file or directory": "there is no such file or folder",
    "Not a directory": "a part of the path is a file, not a folder",
    "Is a directory": "expected a file, found a folder",
    "File exists": "a file or folder of that name is in the way",
    "Conflicting lock is held": "another process has the file open",
}


def tell_failure(message: str) -> str | None:
    """Return what went wrong, if a message has words of the operating system that are known."""
    return next((told for sign, told in _FAILURES.items() if sign.lower() in message.lower()), None)
