"""Make the pictures of the documentation with headless Chromium. Run: CUSTEXT_DATA=FOLDER python -m docs.pictures."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import spacy

from benchmarks.better_text import read_sentences
from custext_sql.cli import main as custext
from custext_sql.experiments.texts import read_sentence_polarity
from custext_sql.playground.serving import open_server
from custext_sql.store.building import load_starter
from spacy_plugin.rendering import render
from tests.playground.browser import Visit, launch

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
    draw_playground()


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
    """Take pictures of a report on NLTK's sentence polarity, from the default database: the verdict, the figures."""
    data = Path(os.environ["CUSTEXT_DATA"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        films, _ = read_sentence_polarity(str(data / "sentence_polarity.zip"))
        (folder / "films.txt").write_text("".join(f"{text}\n" for (text,) in films.texts), encoding="utf-8")
        public = folder / "public.txt"
        public.write_text("\n".join(read_sentences(data / "movie_reviews.zip")), encoding="utf-8")
        page = folder / "report.html"
        command = ["report", str(folder / "films.txt"), "--eps", "1", "--public", str(public), "--html", str(page)]
        custext(command, standalone_mode=False)
        take_picture(page, HERE / "verdict.png", width=920, height=1660)
        figures = page.read_text(encoding="utf-8").replace("</style>", ".letter { display: none; }</style>")
        page.write_text(figures, encoding="utf-8")
        take_picture(page, HERE / "report.png", width=920, height=1060)


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
        take_picture(Path(page), HERE / "better-text.png", width=920, height=690)


def draw_playground() -> None:
    """Take pictures of the playground: on a desk, with the group of a word; on a phone, what an attacker sees."""
    data = Path(os.environ["CUSTEXT_DATA"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load_starter(folder / "custext.duckdb")
        (folder / "reviews.txt").write_text("\n".join(read_sentences(data / "movie_reviews.zip")), encoding="utf-8")
        served = open_server(folder / "custext.duckdb", public=folder / "reviews.txt", port=0)
        with served as (address, _), launch(folder) as browser:
            for picture, size, draw in (
                ("playground.png", {"width": 1280, "height": 1130}, _open_a_word),
                ("playground-phone.png", {"width": 390, "height": 844}, _attack),
            ):
                visit = Visit(browser.new_context(viewport=size, device_scale_factor=2), address)
                with visit.answer("/api/verdict"):
                    visit.open("eps=4&plus=1")
                draw(visit)
                visit.page.screenshot(path=HERE / picture, animations="disabled")
                visit.check()


def _open_a_word(visit: Visit) -> None:
    with visit.answer("/api/inspect"):
        visit.words().nth(1).click()
    visit.page.evaluate("scrollTo(0, 0)")


def _attack(visit: Visit) -> None:
    visit.turn_on_attack()
    visit.pane().evaluate("element => element.scrollIntoView()")


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
