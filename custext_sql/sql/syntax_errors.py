"""Errors of DuckDB's parser, told by line and character; the line that DuckDB shows may contain a text."""

import re
import unicodedata

from custext_sql.sql.query_words import QueryWords

_PARSER = "Parser Error: "
_NEAR = re.compile(r'Parser Error: syntax error at or near "(.*?)"\n', re.DOTALL)
_UNFINISHED = re.compile(
    r"Parser Error: (syntax error at end of input|unterminated (?:string literal|quoted identifier|/\* comment))"
)
_MARK = re.compile(r"\n\nLINE (\d+): (.*)\n( *)\^")


def explain_syntax(message: str, words: QueryWords, query: str | None) -> str | None:
    """Return what cannot be parsed, and where; None for messages of another kind."""
    if not message.startswith(_PARSER):
        return None
    if near := _NEAR.match(message):
        token = words.find_name(near[1])
        told = "syntax error" + (f' at or near "{token}"' if token else "")
        return f"{_PARSER}{told}{_tell_place(message, query, near[1])}"
    unfinished = _UNFINISHED.match(message)
    told = unfinished[1] if unfinished else "the query cannot be parsed"
    return f"{_PARSER}{told}{_tell_place(message, query, None)}"


def _tell_place(message: str, query: str | None, token: str | None) -> str:
    """Return where DuckDB's mark points, as far as that is certain: a token must be found at that place."""
    *_, mark = [None, *_MARK.finditer(message)]
    if mark is None or query is None:
        return ""
    number, excerpt = int(mark[1]), mark[2]
    line = dict(enumerate(query.split("\n"), start=1)).get(number, "")
    cut = 3 * excerpt.startswith("...")  # DuckDB shows a long line with dots at the start
    start = line.find(excerpt[cut:].removesuffix("..."))
    if start < 0:  # DuckDB parsed another text
        return ""
    place = start + _count_characters(line[start:], len(mark[3]) - len(f"LINE {number}: ") - cut)
    if not line.startswith(("'", '"', "/*") if token is None else token.split("\n")[0], place):
        return f" (line {number})"
    return f" (line {number}, character {place + 1})"


def _count_characters(text: str, cells: int) -> int:
    """Return how many characters of a text fill a number of terminal cells, the unit in which DuckDB counts."""
    for place, character in enumerate(text):
        if cells <= 0 and _count_cells(character):
            return place
        cells -= _count_cells(character)
    return len(text)


def _count_cells(character: str) -> int:
    if unicodedata.category(character) in ("Cc", "Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
