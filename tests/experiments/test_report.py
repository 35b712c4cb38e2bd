"""The report: every number in it is a row, and some are checked by other means."""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from custext_sql import Sanitizer, load_mapping
from custext_sql.experiments.measurements import Measurement, read_measurements
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.verdict.lines import SECTIONS
from tests.cli.test_commands import run
from tests.experiments.test_linear_models import make_sentences

pytestmark = pytest.mark.slow

TEXTS = [
    "The doctor said the car was fine, is it?",
    "She paid 12345 dollars to Zyzzyvaberg",
    "",
    "the happy doctor",
]


PUBLIC = ["the doctor was happy", "she said the car was fine", "the happy doctor"]  # the last one is also in TEXTS


class Page(HTMLParser):
    """The numbers of a page with their IDs, the cells of its tables, and every address on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.numbers: list[tuple[list[str], str]] = []
        self.points: list[list[str]] = []
        self.cells: list[tuple[str, bool]] = []
        self.addresses: list[str] = []
        self._ids: list[str] | None = None
        self._cell: list[str] | None = None
        self._traced = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]
        ids = found.get("data-measurement")
        if ids is not None and tag == "span":
            self._ids = ids.split()
            self._traced = True
        elif ids:
            self.points.append(ids.split())
        if tag == "td":
            self._cell, self._traced = [], False

    def handle_data(self, data: str) -> None:
        if self._ids is not None:
            self.numbers.append((self._ids, data))
            self._ids = None
        if self._cell is not None:
            self._cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "td" and self._cell is not None:
            self.cells.append(("".join(self._cell), self._traced))
            self._cell = None


@pytest.fixture(scope="module", autouse=True)
def one_secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use one secret for all tests of this module, since they share measurements."""
    path = tmp_path_factory.mktemp("secret") / "digest.secret"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("custext_sql.store.digests.secret_path", lambda: path)
        yield


@pytest.fixture(scope="module")
def folder(few_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a database of experiments, texts and their report. Tests only read it."""
    folder = tmp_path_factory.mktemp("report")
    database = folder / "few.duckdb"
    database.write_bytes(few_template.read_bytes())
    for name, count, seed in (("train", 120, 0), ("test", 60, 1)):
        rows, labels = make_sentences(count, seed)
        lines = (f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True))
        (folder / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
    (folder / "public.txt").write_text("\n".join(PUBLIC))
    (folder / "texts.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    data = ["--train", str(folder / "train.tsv"), "--test", str(folder / "test.tsv"), "--text", "sentence"]
    more = ["--mechanisms", "original,custext,custext+,random", "--eps", "1,4", "--seeds", "2"]
    assert run("--db", database, "evaluate", "utility", *data, *more).exit_code == 0
    assert run("--db", database, "evaluate", "tradeoff", *data, "--eps", "1,4", "--seeds", "2").exit_code == 0
    with simulating_less():
        report = run("--db", database, "report", "--html", folder / "out.html", *name_texts(folder))
    assert report.exit_code == 0
    return folder


def name_texts(folder: Path) -> list[str]:
    """Return options for a report at eps = 4 on the texts in a folder."""
    texts, public = str(folder / "texts.jsonl"), str(folder / "public.txt")
    return ["--eps", "4", "--column", "body", texts, "--public", public]


@contextmanager
def simulating_less() -> Iterator[None]:
    """Run the query attack with fewer simulations and words than usual, so that tests do not take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("custext_sql.experiments.report.report.SAMPLE", 6)
        patch.setattr("custext_sql.experiments.report.report.SIMULATIONS", 500)
        yield


@pytest.fixture
def prepared(folder: Path) -> Path:
    return folder / "few.duckdb"


@pytest.fixture
def page(folder: Path) -> Page:
    return Page((folder / "out.html").read_text())


@pytest.fixture
def rows(page: Page, prepared: Path) -> dict[str, Measurement]:
    return {one.measurement_id: one for one in read_measurements(prepared)}


def shown(text: str) -> tuple[float, float]:
    """Return a number as shown, and how far rounding may have moved it."""
    percent = text.endswith("%")
    digits = text.rstrip("%").replace(",", "")
    places = len(digits.partition(".")[2])
    half = 0.5 * 10.0**-places * (1.0 + 1e-9)
    return (float(digits) / 100, half / 100) if percent else (float(digits), max(half, 1e-6 * abs(float(digits))))


def test_every_number_is_a_row_or_the_mean_of_some(page: Page, rows: dict[str, Measurement]) -> None:
    assert len(page.numbers) > 60 and len(page.points) > 30
    for ids in page.points:
        assert set(ids) <= set(rows)
    for ids, text in page.numbers:
        found = [rows[one] for one in ids]
        if text == "never":
            assert [one.value for one in found] == [None]
            continue
        value, tolerance = shown(text)
        values = {one.subject.metric: one.value or 0.0 for one in found}
        if "unknown_kept" in values and len(values) > 1:  # a share of all words
            expected = (sum(values.values()) - values["words"]) / values["words"]
        else:
            expected = sum(one.value or 0.0 for one in found) / len(found)
        assert abs(value - expected) <= tolerance, (text, values)


def test_no_number_in_a_table_goes_without_its_rows(page: Page) -> None:
    """Except for what identifies a row: a mechanism and its mapping, K, eps, and the size of a sample."""
    settings = re.compile(r"\d+|any|enough for \d+% of \d+ random words|custext\+? starter-euclidean-k20")
    for text, traced in page.cells:
        if re.search(r"\d", text) and not traced:
            assert settings.fullmatch(text), text


def test_the_page_needs_nothing_else_and_shows_no_text(page: Page, folder: Path) -> None:
    text = (folder / "out.html").read_text()
    assert page.addresses == []
    assert "url(" not in text and "@import" not in text and "<script" not in text
    assert "zyzzyvaberg" not in text.lower() and not re.search(r"\b12345\b", text)


def test_numbers_match_other_calculations(
    page: Page, rows: dict[str, Measurement], prepared: Path, folder: Path
) -> None:
    on_page = {one for ids, _ in page.numbers for one in ids}
    by_metric: dict[tuple[str, str], list[Measurement]] = {}
    for one in rows.values():
        if one.measurement_id in on_page:
            by_metric.setdefault((one.subject.kind, one.subject.metric), []).append(one)
    sanitizer, mapping = Sanitizer.load(prepared), load_mapping(prepared)
    chances = {word: sanitizer.distribution(word, 4.0) for word in mapping.words}

    # the worst log-ratio: over all groups and outputs, from the tables as any caller sees them
    worst = 0.0
    for word in mapping.words[:: mapping.info.k]:
        group = list(chances[word])
        for output in group:
            column = [chances[one][output] for one in group]
            worst = max(worst, math.log(max(column) / min(column)))
    [certified] = [one for one in by_metric["certificate", "worst_log_ratio"] if one.subject.calibration == "paper"]
    assert certified.value == pytest.approx(worst, rel=1e-9)

    # the best single guess: word by word, from how often words occur in the texts
    words = [word for text in TEXTS for word in re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower()) if word in chances]
    prior = {word: words.count(word) / len(words) for word in words}
    best: dict[str, float] = {}
    for word, weight in prior.items():
        for output, chance in chances[word].items():
            best[output] = max(best.get(output, 0.0), weight * chance)
    found = [
        one.value
        for one in by_metric["bayes", "success"]
        if one.subject.eps == 4.0 and one.subject.calibration == "paper" and one.subject.dataset != "uniform"
    ]
    assert found == [pytest.approx(sum(best.values()), rel=1e-9)]

    # words by kind: counted in the texts with a pattern
    counts = {metric: some[0].value for (kind, metric), some in by_metric.items() if kind == "policy"}
    every = [word for text in TEXTS for word in re.findall(r"\w+(?:'\w+)?", text.lower())]
    assert counts["words"] == len(every)
    assert counts["numbers"] == 1
    unknown = sum(not word.isdigit() and word not in chances for word in every)
    assert (counts["unknown_masked"], counts["unknown_kept"]) == (unknown, 0)
    assert counts["sampled"] == sum(word in chances for word in every)

    # accuracy: the model trained by hand on the same texts
    [accuracy] = [
        one
        for one in by_metric["utility", "accuracy"]
        if (one.subject.mechanism, one.subject.eps, one.subject.seed) == ("custext", 4.0, 1)
    ]
    assert accuracy.value == pytest.approx(_train_by_hand(prepared, folder), abs=1e-12)


def _train_by_hand(database: Path, folder: Path) -> float:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, labels = [], []
    for name in ("train", "test"):
        lines = (folder / f"{name}.tsv").read_text().splitlines()[1:]
        texts += [line.partition("\t")[0] for line in lines]
        labels += [line.partition("\t")[2] for line in lines]
    new = MappingUnderTest(database).open("custext").sanitize(texts, 4.0, 1)
    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b"), LogisticRegression(max_iter=1000)
    )
    model.fit(new[:120], labels[:120])
    return float(model.score(new[120:], labels[120:]))


def test_json_says_the_same(page: Page, rows: dict[str, Measurement], prepared: Path, folder: Path) -> None:
    with simulating_less():
        result = run("--db", prepared, "report", "--json", *name_texts(folder))
    found = json.loads(result.output)
    assert found["eps"] == 4.0 and found["k"] == 20
    assert {row["mechanism"] for row in found["utility"][0]["rows"]} == {"original", "custext", "custext+", "random"}
    for one in found["bayes"]:
        assert one["success"] == rows[one["measurement_ids"][0]].value
    assert {one for ids, _ in page.numbers for one in ids} <= set(re.findall(r"\b[0-9a-f]{16}\b", result.output))


def test_the_letter_has_the_sentences_and_colors_of_the_json(prepared: Path, folder: Path) -> None:
    with simulating_less():
        verdict = json.loads(run("--db", prepared, "report", "--json", *name_texts(folder)).output)["verdict"]
    letter, figures = (folder / "out.html").read_text().split("</article>")
    shown = [
        (name, unescape(text)) for name, text in re.findall(r'data-section="(\w+)"[^>]*>(.*?)</', letter, re.DOTALL)
    ]
    assert shown == [(name, one["text"]) for name, some in verdict.items() if name != "color" for one in some]
    colored = [one["color"] for name in SECTIONS for one in verdict[name] if one["color"]]
    assert re.findall(r'class="mark (red|amber|green)">', letter) == colored
    assert re.findall(r"</svg>(red|amber|green)</span>", letter) == colored, "in words too"
    assert f"<span>Verdict: {verdict['color']}</span>" in letter and "<h2>" not in figures.split("<h1>")[0]


def test_without_experiments_the_page_says_what_to_run(few_db: Path, tmp_path: Path) -> None:
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
