"""What of a query an error may repeat: its bare words, and the files that it names.

A message of DuckDB can quote data anywhere. So a piece of it is shown only if the query has the same word outside of
everything quoted: then the user typed it, and not as a text. Where it is unclear what is quoted, the rest of the query
counts as quoted.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

# Unclear are: a word that touches a quote (an apostrophe has ended a text too early), a backslash before a quote (what
# stands before the string decides whether that ends it), nested comments, quotes that are not closed or not ASCII.
_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ | --[^\n]* | /\*(?:(?!/\*|\*/).)*+\*/ )
  | (?P<string>  '(?:[^'\\]++|''|\\(?!'))*+'(?!['\w]) )
  | (?P<quoted>  "(?:[^"]++|"")*+"(?!["\w]) | `[^`]*`(?![`\w]) | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$(?![\w$]) )
  | (?P<mark>    \$\w+(?![\w$]) | [eExXbBnN](?=') | :=|=> | (?!--|/\*)[!#%&()*+,\-./:;<=>?@\[\]^{|}~] )
  | (?P<word>    \w++(?!['"`$]) )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = ("string", "quoted", "mark", "word")
_NAME = re.compile(r"[^\W\d]\w{0,99}")
_GENERATED = re.compile(r"column\d{1,4}")  # what DuckDB calls the columns of a CSV file without a header
_READERS = {"read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto"}
_OPTIONS = {  # of these readers, those whose values have names of columns in them
    **dict.fromkeys(("types", "dtypes", "column_types", "columns"), ("{", "}")),
    **dict.fromkeys(("names", "column_names"), ("[", "]")),
}
_DYNAMIC = re.compile(r"(?i)\b(?:getvariable|query|query_table)\b[\"`\s]*\(")  # functions that turn values into names
_FILE = re.compile(r"(?=.*[./])[\w.*?/-]{1,200}")

_Token = tuple[str, str]  # its kind and its text


@dataclass(frozen=True)
class QueryWords:
    """What may be repeated of a query. names: as written, by their lower case. strings: its string literals, among
    which are its files; None if the query is not known. is_dynamic: whether values become names in it.
    """

    names: dict[str, str]
    strings: Sequence[str] | None = None
    is_dynamic: bool = False

    @classmethod
    def read(cls, query: str | None, known: Collection[str] = ()) -> "QueryWords":
        """Read a query. known: names that may be shown too."""
        names = {name.lower(): name for name in known}
        if query is None:
            return cls(names)
        tokens = list(_split(query))
        words = [text for kind, text in tokens if kind == "word"] + list(_find_option_names(tokens))
        names |= {word.lower(): word for word in words if _NAME.fullmatch(word)}
        strings = [_unquote(text) for kind, text in tokens if kind == "string"]
        return cls(names, strings, _DYNAMIC.search(query) is not None)

    def find_name(self, name: str) -> str | None:
        """Return a name, or several with dots between them, as the query has it; None if it does not."""
        found = [self.names.get(part.lower()) for part in name.split(".")]
        return None if None in found else ".".join(map(str, found))

    def find_column(self, name: str) -> str | None:
        """Return the name of a column, if it is one that is known or that DuckDB has made up."""
        return name if _GENERATED.fullmatch(name) else self.find_name(name)

    def find_file(self, name: str) -> str | None:
        """Return the name of a file if the query names it, or a pattern that it matches; else None.

        Values in its path (year=2024) are left out. What is no file must at least look like the name of one.
        """
        if self.is_dynamic or not name.isprintable():
            return None
        patterns = [name] if self.strings is None else self.strings
        if _exists(name):
            is_named = name in patterns or any(fnmatch(name, pattern) for pattern in patterns)
        else:
            is_named = name in (self.strings or ()) and _FILE.fullmatch(name) is not None
        return re.sub(r"=[^/\\]*", "=...", name) if is_named else None


def read_bare_words(statement: str) -> list[str] | None:
    """List the words of a statement outside of everything quoted or in parentheses, in lower case.

    None if it is unclear what is quoted.
    """
    depth, words, read = 0, [], 0
    for found in _match(statement):
        read = found.end()
        depth += {"(": 1, ")": -1}.get(found[0], 0) if found["mark"] is not None else 0
        if found["word"] is not None and depth == 0:
            words.append(found[0].lower())
    return words if read == len(statement) else None


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # too long to be the name of a file
        return False


def _split(query: str) -> Iterator[_Token]:
    """Yield the tokens of a query up to where it is unclear what is quoted."""
    for found in _match(query):
        yield from ((kind, found[0]) for kind in _KINDS if found[kind] is not None)


def _match(query: str) -> Iterator[re.Match[str]]:
    """Yield the tokens and spaces of a query up to where it is unclear what is quoted."""
    place = 0
    while found := _TOKEN.match(query, place):
        place = found.end()
        yield found


def _find_option_names(tokens: Sequence[_Token]) -> Iterator[str]:
    """Yield the strings that readers take for names of columns: types = {'NAME': ...}, names = ['NAME']."""
    is_read = False
    for place in range(len(tokens) - 2):
        (kind, word), (_, equals), (_, opening) = tokens[place : place + 3]
        is_read |= kind == "word" and word.lower() in _READERS
        expected, closing = _OPTIONS.get(word.lower(), (None, None))
        if is_read and equals in ("=", ":=", "=>") and opening == expected:
            rest = tokens[place + 3 :]
            end = next((number for number, token in enumerate(rest) if token == ("mark", closing)), 0)
            for (inner, text), (_, after) in pairwise(rest[: end + 1]):
                if inner == "string" and (opening == "[" or after == ":"):
                    yield _unquote(text)


def _unquote(string: str) -> str:
    return string[1:-1].replace("''", "'")
