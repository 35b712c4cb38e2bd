"""Every error and warning of the package."""


class CusTextError(Exception):
    """Base of all errors raised on purpose; the message says what to do next."""


class DatabaseError(CusTextError):
    """A custext database is missing, locked, foreign, or at another revision."""


class SourceError(CusTextError):
    """A vector file, word list or stopword corpus cannot be used as it is."""


class MappingError(CusTextError):
    """A mapping cannot be built, found, or trusted."""


class SettingError(CusTextError):
    """A parameter is outside its range."""
