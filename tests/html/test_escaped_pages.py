"""Pages show every user-supplied name as text, never as markup."""

import ast
import re
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, UndefinedError, meta

import custext_sql
import spacy_plugin
from custext_sql.experiments.bayes_attack import BayesResult
from custext_sql.experiments.context_attack import ContextAttack, ContextResult
from custext_sql.experiments.evaluations import EvaluationSetup, Figure, TradeOff, TradeOffEvaluation, render_tradeoff
from custext_sql.experiments.query_attack import QueryResult
from custext_sql.experiments.report import Quantile, Report, render_report
from custext_sql.experiments.verdict import Figures, judge
from custext_sql.html.comparison import write_comparison
from custext_sql.html.escaped_pages import render_page
from custext_sql.kinds import Kind
from custext_sql.sanitizer.traced_text import Piece
from custext_sql.store.auditing import Certificate

PACKAGE = Path(custext_sql.__path__[0])
TEMPLATES = PACKAGE / "html" / "templates"
EVIL = "'\"><script>alert(1)</script><b onload='x'>&amp;{{ 7 * 7 }}</style></title>\x00\x1b\ud800"
SHOWN = EVIL[:-3] + 3 * "\N{REPLACEMENT CHARACTER}"
PLAIN_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "span", "b", "i", "ul", "li"),
    *("table", "tr", "th", "td", "small", "code", "sup", "footer", "figure", "figcaption", "article", "mark"),
    *("svg", "path", "text", "g", "defs", "use", "clippath", "rect", "header", "section"),
}
COUNTS = (
    *("rows", "words", "replaced", "stopwords", "numbers", "unknown_kept", "unknown_masked", "unknown_random"),
    *("endings", "kept", "alone_masked", "units", "symbols", "characters_in_clear"),
    *("median_replaced", "largest_replaced"),
)
POINT = TradeOff("custext", "e", "m", 20, 1.0, "accuracy", Figure(0.5, 0.01), "mask", Figure(0.1, None))
EVALUATION = TradeOffEvaluation(
    EvaluationSetup("train; test", "accuracy", "model", 9, 9, ("m",), "paper", "paper", {}),
    "mask",
    (POINT, replace(POINT, mapping="k5")),
)
FIGURES = Figures("mapping", 20, 1.0, True, prior="films", guess=0.2, counts=dict.fromkeys(COUNTS, 3))
REPORT = Report(
    verdict=judge(FIGURES),
    created_at=datetime(2026, 1, 1),
    mapping="mapping",
    fingerprint="fingerprint",
    k=20,
    words=40,
    groups=2,
    eps=1.0,
    calibration="paper",
    plus=True,
    policy="strict",
    priors=("uniform", "films"),
    certificate=tuple(
        Certificate("mapping", "fingerprint", 1.0, True, calibration, 40, 2, 20, 20, 18, 0.9, 0.8, 0)
        for calibration in ("paper", "tight")
    ),
    bayes=tuple(
        BayesResult("mapping", 20, eps, calibration, True, prior, 0.2, 0.05)
        for prior in ("uniform", "films")
        for calibration in ("paper", "tight")
        for eps in (0.1, 1.0, 20.0)
    ),
    one_output={"certain": 0.1, "unchanged": 0.2, "floor_of_joined": 0.1},
    context=ContextAttack(
        *("mapping", 20, "paper", True, "strict", "data", 9, 99, "public", 5, 1, 1),
        (ContextResult("mapping", 20, 1.0, "paper", True, 0.5, 0.01, 0.3, 0.0, 0.4),),
    ),
    queries=(QueryResult("car", 1.0, 9, 1.0, None, None, "mapping", "paper"),),
    quantiles=(Quantile(0.5, 1.0, 9, 1.0, None, None),),
    sample=1,
    let_through={
        "dataset": "data",
        "policy": "strict",
        "plus": True,
        "numbers": "mask",
        "counts": dict.fromkeys(COUNTS, 3),
    },
)


class Tags(HTMLParser):
    """The tags of a page and the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}


def spoil(value: Any) -> Any:
    """Return a value with an evil name in place of every string, except calibrations and colors, which are keys."""
    if isinstance(value, str):
        return EVIL + value
    if isinstance(value, tuple):
        return tuple(map(spoil, value))
    if isinstance(value, dict):
        return {key: spoil(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name not in ("calibration", "color")]
        return replace(value, **{name: spoil(getattr(value, name)) for name in names})
    return value


@cache
def write_pages() -> dict[str, str]:
    """Return a page from each template, with evil names everywhere."""
    compared = [[Piece(EVIL, EVIL, Kind.REPLACED), Piece(EVIL, EVIL)]]
    return {
        "report.html": render_report(spoil(REPORT)),
        "tradeoff.html": render_tradeoff(spoil(EVALUATION)),
        "comparison.html": write_comparison(compared, title=EVIL, note=EVIL, remarks=[EVIL]),
    }


@pytest.mark.parametrize("template, places", [("report.html", 33), ("tradeoff.html", 28), ("comparison.html", 8)])
def test_evil_names_are_text_everywhere(template: str, places: int) -> None:
    page = write_pages()[template]
    found = Tags(page)
    assert found.tags <= PLAIN_TAGS
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "<script" not in page and "<b onload" not in page and page.count("</style>") == 1
    assert unescape(page).count(SHOWN) >= places, "shown as it is, in each of its places"
    page.encode()


def test_the_pages_tested_here_use_every_template() -> None:
    environment = Environment()
    reached: set[str] = set()
    found = {*write_pages(), "verdict.txt", "choice.txt"}  # the sentences of a verdict and a choice are plain text
    while found - reached:
        name = (found - reached).pop()
        reached.add(name)
        found |= {str(one) for one in meta.find_referenced_templates(environment.parse((TEMPLATES / name).read_text()))}
    assert reached == {path.name for path in TEMPLATES.iterdir()}


def test_nothing_goes_around_the_escaping() -> None:
    for path in TEMPLATES.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|Markup|<script|https?:|url\(|@import", text), path
        assert not re.search(r"[a-z]=\{\{", text), f"{path}: an attribute without quotes"
    for path in (*PACKAGE.rglob("*.py"), *Path(spacy_plugin.__path__[0]).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "Markup" not in text.replace("Markup(ElementTree.tostring(", "") or path.name == "escaped_pages.py", path
        assert text.count("Markup(") <= 1 and "autoescape=False" not in text, "only what ElementTree escaped"
        strings = [str(node.value) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
        assert not [one for one in strings if re.search(r"</[a-z]|<(p|div|span|td|svg|path)\b", one)], path


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        render_page("base.html")
