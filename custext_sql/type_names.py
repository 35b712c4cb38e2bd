"""Names of types that a message may show: a type can quote data, as an ENUM quotes its values."""

import re

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
