"""The page of texts before and after: each word is marked by its kind, and texts are shown unchanged."""

import re
from html import unescape

from custext_sql.html.comparison import LEGEND, write_comparison
from custext_sql.kinds import Kind
from custext_sql.replacing.replacer import Piece

TEXT = [
    Piece("The", "The", Kind.STOPWORD),
    Piece(" \n\t", " \n\t"),
    Piece("doctor", "doctor", Kind.REPLACED),
    Piece("  <b> & ", "  <b> & "),
    Piece("Zyz", "<unk>", Kind.UNKNOWN),
    Piece("12", "12", Kind.NUMBER),
]


def test_both_sides_show_the_texts_unchanged() -> None:
    page = write_comparison([TEXT, []], title="A")
    sides = re.findall(r'<div dir="auto">(.*?)</div>', page, re.DOTALL)
    shown = [unescape(re.sub(r"</?mark[^>]*>", "", side)) for side in sides]
    assert shown == ["The \n\tdoctor  <b> & Zyz12", "The \n\tdoctor  <b> & <unk>12", "", ""]


def test_words_are_marked_by_kind_and_whether_they_are_in_the_clear() -> None:
    page = write_comparison([TEXT], title="A")
    after = page.split("<h2>After</h2>")[1]
    assert re.findall(r'<mark class="(.*?)" title="(.*?)">(.*?)</mark>', after) == [
        ("stopword clear", "stopword, kept", "The"),
        ("replaced", "replaced", "doctor"),  # it drew itself
        ("unknown", "not in the vocabulary", "&lt;unk&gt;"),
        ("number clear", "number", "12"),
    ]
    assert "2 of 4 words in the clear" in page


def test_the_legend_counts_the_kinds_that_occur() -> None:
    page = write_comparison([TEXT, TEXT], title="A")
    shown = re.findall(r'<li><b class="(\w+)"></b>(.*?): (\d+)</li>', page)
    assert shown == [
        ("replaced", "replaced", "2"),
        ("unknown", "not in the vocabulary", "2"),
        ("number", "number", "2"),
        ("stopword", "stopword, kept", "2"),
    ]
    assert set(LEGEND) == set(Kind)
    assert all(f".{name} {{ background:" in page for _, name in LEGEND.values())


def test_remarks_are_below_their_texts() -> None:
    page = write_comparison([TEXT, []], title="A", note="keep it safe", remarks=["one", "two"])
    assert re.findall(r"<footer>(.*?)</footer>", page) == ["one", "two"]
    assert '<p class="note">keep it safe</p>' in page
    assert '<p class="note">' not in write_comparison([], title="A")
    assert "<footer>no words</footer>" in write_comparison([[]], title="A")
