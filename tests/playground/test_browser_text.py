"""A person types a text and changes settings, in a browser."""

import re
from pathlib import Path

from custext_sql import Sanitizer
from custext_sql.playground.requests import Choice, PolicyChoice, SettingsRequest
from custext_sql.playground.snippets import write_snippets
from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TEXT = "My doctor said the surgery went well and the lawyer was good to my mother while we were in the hospital"
MIXED = "The doctor of Zoë Štěpánková, 617-555-0142, saw 4711 people; write to a.novak@example.com."


def test_typing_and_the_slider_change_the_sanitized_text(visit: Visit, served_db: Path) -> None:
    def draw_again() -> str:
        with visit.redrawing():
            visit.page.get_by_role("button", name="Draw again").click()
        return visit.read_output()

    visit.text.fill("")
    expect(visit.words()).to_have_count(0)
    for typed, words, text in (("doctor", 1, "doctor"), (" and mother", 3, "doctor and mother")):
        with visit.redrawing() as found:
            visit.text.press_sequentially(typed)
        expect(visit.words()).to_have_count(words)
        assert found[0]["before"] == text
    assert visit.write(TEXT)["after"] != draw_again()  # 21 words that are among 20 each
    assert visit.words().count() == len(TEXT.split())
    for key, eps in (("ArrowLeft", "0.89"), ("End", "50")):
        visit.choose_eps(key)
        expect(visit.pane().locator("output")).to_contain_text(f"= {eps}")
        expect(visit.slider()).to_have_attribute("aria-valuetext", re.compile(rf"^(eps )?{eps}\b"))
        assert visit.read_eps() == float(eps)
    visit.choose_eps("Home")
    assert visit.read_output() == draw_again() == Sanitizer.load(served_db, eps=0.0).sanitize(TEXT)


def test_the_policy_and_plus_decide_what_stays(visit: Visit, served_db: Path) -> None:
    receipt, plus = visit.region("Receipt"), visit.pane().get_by_role("checkbox", name="Keep stopwords")
    visit.write(MIXED)
    visit.choose_eps("Home")
    assert "<unk>" in visit.read_output() and "<phone>" in visit.read_output() and "<email>" in visit.read_output()
    sanitizer = Sanitizer.load(served_db, eps=0.0)
    for line in sanitizer.receipt(sanitizer.trace(MIXED, 0.0, False).tally, 0.0, False).describe().split("\n"):
        expect(receipt).to_contain_text(line)
    expect(receipt).to_contain_text("0 characters in the clear")
    expect(receipt).to_contain_text("ledger")
    with visit.redrawing():
        visit.setting("Policy").select_option("paper")
    assert "Zoë Štěpánková" in visit.read_output() and "novak@" in visit.read_output()
    expect(receipt).not_to_contain_text("0 characters in the clear")
    visit.write(TEXT)
    with visit.redrawing():
        plus.check()
    kept = visit.output().get_by_role("button", name=re.compile("stopword"))
    assert kept.all_inner_texts() == [
        word for word in TEXT.split() if word.lower() in {"my", "the", "and", "was", "to", "while", "we", "were", "in"}
    ]
    expect(receipt).to_contain_text("stopwords")
    expect(visit.region("The same settings").locator("code")).to_contain_text("--plus")


def test_the_verdict_follows_the_text_and_the_settings(visit: Visit) -> None:
    color = visit.region("Verdict").locator("strong").first
    with visit.answer("/api/verdict", text=MIXED, eps=1) as first:
        visit.write(MIXED)
    expect(color).to_have_text(first[0]["verdict"]["color"])
    with visit.answer("/api/verdict", text=MIXED, eps=50) as second:
        visit.choose_eps("End")
    assert second[0]["verdict"]["color"] == "red"
    expect(color).to_have_text("red")
    expect(visit.region("Verdict")).to_contain_text(second[0]["verdict"]["summary"][0]["text"])


def test_snippets_have_the_current_settings(visit: Visit, served_db: Path) -> None:
    visit.choose_eps("End")
    for name, value in (("Mapping", "starter-euclidean-k5"), ("Calibration", "tight"), ("Policy", "paper")):
        visit.setting(name).select_option(value)
    snippets = visit.region("The same settings")
    policy = PolicyChoice(name="paper")
    choice = Choice(eps=50.0, mapping="starter-euclidean-k5", calibration="tight", policy=policy)
    expected = write_snippets(SettingsRequest(settings=choice), served_db)
    for tab, name in (("Command line", "command"), ("SQL", "sql"), ("Python", "python"), ("spaCy", "spacy")):
        snippets.get_by_role("tab", name=tab).click()
        expect(snippets.get_by_role("tabpanel", name=tab).locator("code")).to_have_text(expected[name])
