"""HTML pages that need nothing but themselves: what all of them look like."""

from collections.abc import Iterable
from html import escape

_STYLE = """
:root { --ink: #1c2733; --soft: #5c6b7a; --line: #dde3e9; --paper: #ffffff; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 64rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.25rem; margin: 0 0 .25rem; }
.note { color: var(--soft); margin: 0 0 1rem; font-size: .875rem; }
@media (max-width: 32rem) { body { padding: 1rem .75rem; } }
@media print { body { max-width: none; padding: 0; } }
""".strip()


def write_document(title: str, parts: Iterable[str], *, style: str = "", note: str = "") -> str:
    """A page of a title, a note below it, and parts in HTML. style: CSS of the parts."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_STYLE}\n{style}\n</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *([f'<p class="note">{escape(note)}</p>'] if note else []),
            *parts,
            "</body></html>\n",
        ]
    )
