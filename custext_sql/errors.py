"""Every error and warning of the package."""

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

    def __init__(self, group: int, epsilon: float, words: Sequence[str] = ()) -> None:
        named = f" ({', '.join(words[:5])}{', ...' if words[5:] else ''})" if words else ""
        super().__init__(
            f"group {group}{named}: no weights were found that keep any two of its words within eps = {epsilon:g}; "
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
