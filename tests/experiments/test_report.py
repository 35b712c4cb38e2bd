"""The report: its page and its JSON say the same, and some numbers are checked by other means."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from custext_sql.experiments.verdict import SECTIONS
from tests.cli.test_commands import run

pytestmark = pytest.mark.slow

TEXTS = ["The doctor said the car was fine, is it?", "She paid 12345 dollars to Zyzzyvaberg", "", "the happy doctor"]


PUBLIC = ["the doctor was happy", "she said the car was fine", "the happy doctor"]  # the last one is also in TEXTS


@pytest.fixture(scope="module")
def folder(few_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a database, texts, and their report as a page and as JSON. Tests only read it."""
    folder = tmp_path_factory.mktemp("report")
    database = folder / "few.duckdb"
    database.write_bytes(few_template.read_bytes())
    (folder / "public.txt").write_text("\n".join(PUBLIC))
    (folder / "texts.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    texts = ["--eps", "4", "--column", "body", str(folder / "texts.jsonl"), "--public", str(folder / "public.txt")]
    with simulating_less():
        report = run("--db", database, "report", "--html", folder / "out.html", "--json", *texts)
    assert report.exit_code == 0
    (folder / "out.json").write_text(report.output)
    return folder


@contextmanager
def simulating_less() -> Iterator[None]:
    """Run the query attack with fewer simulations and words than usual, so that tests do not take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("custext_sql.experiments.report.SAMPLE", 6)
        patch.setattr("custext_sql.experiments.report.SIMULATIONS", 500)
        yield


@pytest.fixture
def page(folder: Path) -> str:
    return (folder / "out.html").read_text()


@pytest.fixture
def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return found


def list_numbers(value: Any) -> Iterator[float]:
    """Yield all numbers of a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from list_numbers(one)
    elif isinstance(value, (int, float)):
        yield value


def find_shown(number: str) -> tuple[float, float]:
    """Return a number as shown, and how far rounding may have moved it."""
    digits = number.rstrip("%").replace(",", "")
    value, half = float(digits), 0.5 * 10.0 ** -len(digits.partition(".")[2]) * (1.0 + 1e-9)
    return (value / 100, half / 100) if number.endswith("%") else (value, max(half, 1e-6 * abs(value)))


def test_every_number_of_a_table_is_in_the_json(page: str, report: dict[str, Any]) -> None:
    known = [*list_numbers(report)]
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)]
    numbers = [number for cell in cells if "random words" not in cell for number in re.findall(r"\d[\d,.]*%?", cell)]
    assert len(numbers) > 80
    for number in numbers:
        value, tolerance = find_shown(number)
        assert any(abs(value - one) <= tolerance for one in known), number


def test_what_stands_out_is_in_the_json(page: str, report: dict[str, Any]) -> None:
    cards = re.findall(r"<li><b>(.*?)</b>", page.partition('<ul class="cards">')[2].partition("</ul>")[0])
    [best] = [
        one["success"]
        for one in report["bayes"]
        if one["eps"] == 4.0 and one["calibration"] == "paper" and one["prior"] != "uniform"
    ]
    middle = next(one["n_ml"] for one in report["quantiles"] if (one["share"], one["eps"]) == (0.5, 4.0))
    counts = report["let_through"]["counts"]
    clear = counts["stopwords"] + counts["kept"] + counts["endings"] + counts["unknown_kept"]
    ratio = report["certificate"][0]["worst_log_ratio"]
    assert cards == [f"{best:.1%}", f"{middle:,}", f"{ratio:.3f}", f"{clear / counts['words']:.1%}"]


def test_the_page_needs_nothing_else_and_shows_no_text(page: str) -> None:
    assert not re.search(r"\b(src|href)=\"(?!#)|url\((?!#)|@import|<script", page)
    assert "zyzzyvaberg" not in page.lower() and not re.search(r"\b12345\b", page)


def test_the_letter_has_the_sentences_and_colors_of_the_json(page: str, report: dict[str, Any]) -> None:
    verdict = report["verdict"]
    letter, figures = page.split("</article>")
    shown = [
        (name, unescape(text)) for name, text in re.findall(r'data-section="(\w+)"[^>]*>(.*?)</', letter, re.DOTALL)
    ]
    assert shown == [(name, one["text"]) for name, some in verdict.items() if name != "color" for one in some]
    colored = [one["color"] for name in SECTIONS for one in verdict[name] if one["color"]]
    assert re.findall(r'class="mark (red|amber|green)">', letter) == colored
    assert re.findall(r"</svg>(red|amber|green)</span>", letter) == colored, "in words too"
    assert f"<span>Verdict: {verdict['color']}</span>" in letter and "<h2>" not in figures.split("<h1>")[0]


def test_without_texts_the_page_says_what_to_run(few_db: Path, tmp_path: Path) -> None:
    with simulating_less():
        assert run("--db", few_db, "report", "--html", tmp_path / "out.html").exit_code == 0
    text = (tmp_path / "out.html").read_text()
    assert "custext evaluate utility" in text and "custext report INPUT --column NAME --html PAGE" in text
    again = run("--db", few_db, "report", "--html", tmp_path / "out.html")
    assert again.exit_code == 1 and "already exists; to overwrite it, use --force" in again.output
    assert (tmp_path / "out.html").read_text() == text
    with simulating_less():
        shown = run("--db", few_db, "report")
    assert shown.exit_code == 0 and shown.output.startswith("Verdict: amber. ")
    assert max(map(len, shown.output.splitlines())) <= 80
