"""Make the pictures of the documentation with headless Chromium. Run: CUSTEXT_DATA=FOLDER python -m docs.pictures."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import spacy

from custext_sql.cli import main as custext
from custext_sql.experiments.evaluation.datasets import read_sentence_polarity
from custext_sql.store.default_database import load_starter
from spacy_plugin.rendering import render
from tests.benchmarks.better_text import read_sentences

HERE = Path(__file__).parent
TEXTS = [
    "Alice Novak's doctor in Boston didn't call her back, so she wrote to a.novak@example.com on 12 May 1998.",
    "The surgery went well; the nurse was kind. She paid 1234567 dollars to Zoë Štěpánková.",
]
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2")


def main() -> None:
    draw_doc()
    draw_report()
    draw_tradeoff()


def draw_doc() -> None:
    """Take a picture of a page that shows two Docs before and after."""
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"eps": 4.0, "plus": True})
    page = render(nlp.pipe(TEXTS), title="Docs before and after, eps = 4, stopwords kept")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "spacy.html"
        path.write_text(page, encoding="utf-8")
        take_picture(path, HERE / "spacy.png", width=920, height=590)


def draw_report() -> None:
    """Take a picture of the first screen of a report on NLTK's sentence polarity, from the default database."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        films, _ = read_sentence_polarity(str(Path(os.environ["CUSTEXT_DATA"]) / "sentence_polarity.zip"))
        (folder / "films.txt").write_text("".join(f"{text}\n" for (text,) in films.texts), encoding="utf-8")
        command = ["report", "--html", str(folder / "report.html"), "--eps", "3", "--data", str(folder / "films.txt")]
        custext(command, standalone_mode=False)
        take_picture(folder / "report.html", HERE / "report.png", width=920, height=1060)


def draw_tradeoff() -> None:
    """Take a picture of the trade-off between accuracy and the context attack, for greedy and refined groups."""
    data = Path(os.environ["CUSTEXT_DATA"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database, public, page = (str(folder / file) for file in ("c.duckdb", "public.txt", "tradeoff.html"))
        Path(public).write_text("\n".join(read_sentences(data / "movie_reviews.zip")), encoding="utf-8")
        load_starter(Path(database))
        for k in (80, 160):
            options = ("--grouping", "refined", "--separate-stopwords", "--name", f"refined-k{k}", "--k", str(k))
            custext(["--db", database, "map", "--embedding", "starter", *options], standalone_mode=False)
        mappings = ("starter-euclidean-k20", "starter", "refined-k80", "refined-k160")
        chosen = [part for mapping in mappings for part in ("--mapping", mapping)]
        attack = ("--mechanisms", "custext", "--attack", "context", "--public", public, "--eps", "0,1,3")
        corpus = ("--corpus", str(data / "sentence_polarity.zip"), "--html", page)
        custext(["--db", database, "evaluate", "tradeoff", *chosen, *attack, *corpus], standalone_mode=False)
        take_picture(Path(page), HERE / "better-text.png", width=920, height=775)


def take_picture(page: Path, picture: Path, *, width: int, height: int) -> None:
    """Save what a browser shows of a page in a window of the given size, in pixels."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium or Chrome is required, and neither is installed")
    with tempfile.TemporaryDirectory() as profile:
        where = (f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={picture}")
        subprocess.run([browser, *_OPTIONS, *where, page.resolve().as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
