"""Texts before and after, word by word, as a self-contained HTML page: what was drawn, and what stands in clear."""

from collections import Counter
from collections.abc import Sequence
from html import escape

from custext_sql.pages import write_document
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Piece

LEGEND = {  # what a reader is told of each kind, and how a page calls it
    Kind.SAMPLED: ("drawn anew", "sampled"),
    Kind.UNKNOWN: ("not in the vocabulary", "unknown"),
    Kind.NUMBER: ("number", "number"),
    Kind.STOPWORD: ("stopword, kept", "stopword"),
    Kind.ENDING: ("ending, kept", "ending"),
    Kind.KEPT: ("not sensitive, kept", "kept"),
    Kind.ALONE: ("alone in its group, masked", "alone"),
}

_STYLE = """
:root { --sampled: #cfe8d5; --unknown: #f6c9c4; --number: #fbe0b5; --stopword: #e3e7ec;
  --ending: #e3e7ec; --kept: #f3e3f5; --alone: #f6c9c4; }
.legend { display: flex; flex-wrap: wrap; gap: .375rem 1rem; margin: 0 0 1rem; padding: 0; list-style: none;
  font-size: .8125rem; }
.legend b { display: inline-block; width: .875rem; height: .875rem; border-radius: .2rem; margin-right: .375rem;
  vertical-align: -.125rem; }
article { border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 1rem; overflow: hidden;
  break-inside: avoid; }
.side { display: grid; grid-template-columns: 4.5rem 1fr; }
.side + .side { border-top: 1px solid var(--line); }
.side > h2 { font-size: .75rem; font-weight: 600; letter-spacing: .04em; text-transform: uppercase; color: var(--soft);
  margin: 0; padding: .95rem 0 0 1rem; }
.side > div { padding: .75rem 1rem; line-height: 2.1; white-space: pre-wrap; overflow-wrap: anywhere; min-width: 0; }
mark { color: inherit; padding: .2rem .3rem; border-radius: .3rem; -webkit-box-decoration-break: clone;
  box-decoration-break: clone; }
.sampled { background: var(--sampled); } .unknown { background: var(--unknown); }
.number { background: var(--number); } .stopword { background: var(--stopword); }
.ending { background: var(--ending); } .kept { background: var(--kept); }
.alone { background: var(--alone); }
.clear { text-decoration: underline dotted; text-underline-offset: .25em; }
footer { padding: .5rem 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .8125rem; }
@media (max-width: 32rem) { .side { grid-template-columns: 1fr; }
  .side > h2 { padding: .6rem .75rem 0; } .side > div { padding: .25rem .75rem .6rem; } }
@media print { mark, .legend b { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
""".strip()


def write_page(
    texts: Sequence[Sequence[Piece]], *, title: str, note: str = "", remarks: Sequence[str] | None = None
) -> str:
    """A page that shows each text before and after; it needs nothing but itself.

    remarks: what is said below each text, instead of how many of its words are in clear.
    """
    said = [_count(text) for text in texts] if remarks is None else remarks
    kinds = Counter(piece.kind for text in texts for piece in text)
    legend = "".join(
        f'<li><b class="{name}"></b>{escape(label)}: {kinds[kind]:,}</li>'
        for kind, (label, name) in LEGEND.items()
        if kinds[kind]
    )
    key = f'<ul class="legend">{legend}<li><span class="clear">dotted</span>: in clear</li></ul>'
    return write_document(title, [key, *map(_write_text, texts, said)], style=_STYLE, note=note)


def _count(text: Sequence[Piece]) -> str:
    words = [piece for piece in text if piece.kind is not None]
    clear = sum(piece.in_clear for piece in words)
    return f"{clear:,} of {len(words):,} words in clear" if words else "no words"


def _write_text(text: Sequence[Piece], remark: str) -> str:
    before = "".join(_mark(piece.before, piece) for piece in text)
    after = "".join(_mark(piece.after, piece) for piece in text)
    return (
        f'<article><div class="side"><h2>Before</h2><div dir="auto">{before}</div></div>'
        f'<div class="side"><h2>After</h2><div dir="auto">{after}</div></div>'
        f"<footer>{escape(remark)}</footer></article>"
    )


def _mark(text: str, piece: Piece) -> str:
    if piece.kind is None:
        return escape(text)
    label, name = LEGEND[piece.kind]
    clear = " clear" if piece.in_clear else ""
    return f'<mark class="{name}{clear}" title="{escape(label)}">{escape(text)}</mark>'
