"""Templates of DuckDB's messages, and what may be shown in each of their gaps.

A message is matched from its start; what follows the template (suggestions, an excerpt of the query) is dropped. A gap
is filled with the text of the message if that is harmless, else with dots.
"""

import re
from collections.abc import Callable
from functools import cache

from custext_sql.errors import are_plain
from custext_sql.sql.query_words import QueryWords

_GAP = re.compile(r"<(\w+)>")
_GAPS = {  # what may stand in a gap; a match is checked again before it is shown
    "name": r"(.*?)",
    "file": r"(.*?)",
    "call": r"(.*?)",
    "number": r"(\d{1,6})",
    "size": r"(\d+(?:\.\d)? (?:bytes|[KMGT]iB))",
    "object": r"((?:(?:Scalar|Aggregate|Table|Macro|Table Macro) Function)|Function|Table|View|Schema|Type|Macro)",
    "clause": r"(EXCLUDE|REPLACE|RENAME|WHERE|HAVING|QUALIFY|GROUP BY|ORDER BY|LIMIT|OFFSET|JOIN|VALUES|RETURNING)",
}
_OPERATOR = re.compile(r"[-+*/%<>=!~|&^@]{1,4}")
_CALL = re.compile(r"([^\s(]+)\((.*)\)", re.DOTALL)
_HIDDEN = "..."

_TEMPLATES = (
    'Binder Error: Referenced column "<name>" not found in FROM clause!',
    'Binder Error: Referenced column "<name>" was not found because the FROM clause is missing',
    'Binder Error: Referenced table "<name>" not found!',
    'Binder Error: Table "<name>" does not have a column named "<name>"',
    'Binder Error: Column "<name>" in <clause> list not found in FROM clause',
    'Binder Error: Ambiguous reference to column name "<name>"',
    'Binder Error: column "<name>" must appear in the GROUP BY clause or must be part of an aggregate function.',
    'Binder Error: Could not find key "<name>" in struct',
    "Binder Error: Cannot extract field '<name>' from expression",
    'Binder Error: COLUMN_TYPES error: Columns with names: "<name>" do not exist in the CSV File',
    'Binder Error: Invalid named parameter "<name>" for function <name>',
    "Binder Error: No function matches the given name and argument types '<call>'. You might need to add explicit type "
    "casts.",
    'Binder Error: Could not choose a best candidate function for the function call "<call>". In order to select one, '
    "please add explicit type casts.",
    "Binder Error: Macro <name>() does not support the supplied arguments. You might need to add explicit type casts.",
    "Binder Error: aggregate function calls cannot be nested",
    "Binder Error: <clause> clause cannot contain aggregates!",
    "Binder Error: Set operations can only apply to expressions with the same number of result columns",
    "Binder Error: Subquery returns <number> columns - expected 1",
    "Binder Error: ORDER term out of range - should be between 1 and <number>",
    'Catalog Error: Table with name "<name>" does not exist because schema "<name>" does not exist.',
    "Catalog Error: <object> with name <name> does not exist!",
    'IO Error: No files found that match the pattern "<file>"',
    "IO Error: Input is not a GZIP stream: <file>",
    'Invalid Input Error: Cannot execute statement of type "<name>" on database "<name>" which is attached in '
    "read-only mode!",
    "Invalid Input Error: More than one row returned by a subquery used as an expression",
    "Out of Memory Error: failed to allocate data of size <size> (<size>/<size> used)",
)


def fill_template(message: str, words: QueryWords) -> str | None:
    """Return a message with dots in place of possible data; None if it matches no template."""
    for template, pattern in _compile():
        if found := pattern.match(message):
            gaps = _GAP.findall(template)
            pieces = [_fill(gap, piece, words) or _HIDDEN for gap, piece in zip(gaps, found.groups(), strict=True)]
            return _GAP.sub("{}", template.replace("{", "{{").replace("}", "}}")).format(*pieces)
    return None


def _fill(gap: str, piece: str, words: QueryWords) -> str | None:
    fillers: dict[str, Callable[[str], str | None]] = {
        "name": words.find_name,
        "file": words.find_file,
        "call": lambda call: _show_call(call, words),
    }
    return fillers[gap](piece) if gap in fillers else piece


def _show_call(call: str, words: QueryWords) -> str | None:
    """Return a function with the types of its arguments; with dots for the types unless all are plain."""
    found = _CALL.fullmatch(call)
    if found is None:
        return None
    name = found[1] if _OPERATOR.fullmatch(found[1]) else words.find_name(found[1])
    return f"{name or _HIDDEN}({found[2] if are_plain(found[2]) else _HIDDEN})"


@cache
def _compile() -> list[tuple[str, re.Pattern[str]]]:
    """Return each template with a pattern that matches it; a gap at the end goes to the end of the line."""
    made = []
    for template in _TEMPLATES:
        parts = _GAP.split(template)
        pattern = "".join(_GAPS[part] if place % 2 else re.escape(part) for place, part in enumerate(parts))
        made.append((template, re.compile(pattern + ("" if parts[-1] else r"(?=\n|\Z)"), re.DOTALL)))
    return made
