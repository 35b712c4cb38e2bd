"""The page of texts before and after: each word is marked by its kind, and texts are shown unchanged."""

import re
from html import unescape

from custext_sql.html.comparison import write_comparison
from custext_sql.kinds import KINDS, Kind
from custext_sql.sanitizer.traced_text import Piece

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
        ("mark-gray clear", "stopword kept", "The"),
        ("mark-green", "replaced", "doctor"),  # it drew itself
        ("mark-red", "unknown word", "&lt;unk&gt;"),
        ("mark-yellow clear", "number", "12"),
    ]
    assert "2 of 4 words in the clear" in page


def test_the_legend_counts_the_kinds_that_occur() -> None:
    page = write_comparison([TEXT, TEXT], title="A")
    shown = re.findall(r'<li><b class="([\w-]+)"></b>(.*?): (\d+)</li>', page)
    assert shown == [
        ("mark-green", "replaced", "2"),
        ("mark-gray", "stopwords kept", "2"),
        ("mark-red", "unknown words", "2"),
        ("mark-yellow", "numbers", "2"),
    ]
    assert set(KINDS) == set(Kind)
    assert all(f".mark-{entry.mark} {{ background:" in page for entry in KINDS.values())


def test_remarks_are_below_their_texts() -> None:
    page = write_comparison([TEXT, []], title="A", note="keep it safe", remarks=["one", "two"])
    assert re.findall(r"<footer>(.*?)</footer>", page) == ["one", "two"]
    assert '<p class="note">keep it safe</p>' in page
    assert '<p class="note">' not in write_comparison([], title="A")
    assert "<footer>no words</footer>" in write_comparison([[]], title="A")
