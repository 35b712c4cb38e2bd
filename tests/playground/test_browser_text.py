"""A person types a text and changes settings, in a browser."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from custext_sql import Sanitizer
from custext_sql.playground.requests import Choice, PolicyChoice, SettingsRequest
from custext_sql.playground.serving import Address
from custext_sql.playground.snippets import write_snippets
from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TEXT = "My doctor said the surgery went well and the lawyer was good to my mother while we were in the hospital"
MIXED = "The doctor of Zoë Štěpánková, 617-555-0142, saw 4711 people; write to a.novak@example.com."


def test_typing_changes_the_sanitized_text(visit: Visit) -> None:
    visit.text.fill("")
    expect(visit.words()).to_have_count(0)
    with visit.redrawing() as first:
        visit.text.press_sequentially("doctor")
    expect(visit.words()).to_have_count(1)
    with visit.redrawing() as second:
        visit.text.press_sequentially(" and mother")
    expect(visit.words()).to_have_count(3)
    assert first[0]["before"] == "doctor" and second[0]["before"] == "doctor and mother"


@pytest.mark.parametrize("key, eps", [("End", "50"), ("ArrowLeft", "0.89")])
def test_keys_move_the_slider(visit: Visit, key: str, eps: str) -> None:
    visit.choose_eps(key)
    expect(visit.pane().locator("output")).to_contain_text(f"= {eps}")
    expect(visit.slider()).to_have_attribute("aria-valuetext", re.compile(rf"^(eps )?{eps}\b"))
    assert visit.read_eps() == float(eps)


def test_eps_0_gives_the_text_that_the_library_gives(visit: Visit, served_db: Path) -> None:
    visit.write(TEXT)
    visit.choose_eps("Home")
    expected = Sanitizer.load(served_db, eps=0.0).sanitize(TEXT)
    assert visit.read_output() == expected
    with visit.redrawing():
        visit.page.get_by_role("button", name="Draw again").click()
    assert visit.read_output() == expected


def test_draw_again_draws_again(visit: Visit) -> None:
    before = visit.write(TEXT)["after"]
    with visit.redrawing():
        visit.page.get_by_role("button", name="Draw again").click()
    assert visit.read_output() != before  # 21 words that are among 20 each
    assert visit.words().count() == len(TEXT.split())


def test_plus_keeps_stopwords(visit: Visit) -> None:
    visit.write(TEXT)
    with visit.redrawing():
        visit.pane().get_by_role("checkbox", name="Keep stopwords").check()
    kept = visit.output().get_by_role("button", name=re.compile("stopword"))
    assert kept.all_inner_texts() == [
        word for word in TEXT.split() if word.lower() in {"my", "the", "and", "was", "to", "while", "we", "were", "in"}
    ]
    expect(visit.region("Receipt")).to_contain_text("stopwords")
    expect(visit.region("The same settings").locator("code")).to_contain_text("--plus")


def test_the_policy_decides_about_unknown_words_and_units(visit: Visit) -> None:
    visit.write(MIXED)
    assert "<unk>" in visit.read_output() and "<phone>" in visit.read_output() and "<email>" in visit.read_output()
    expect(visit.region("Receipt")).to_contain_text("0 characters in the clear")
    with visit.redrawing():
        visit.setting("Policy").select_option("paper")
    assert "Zoë Štěpánková" in visit.read_output() and "novak@" in visit.read_output()
    expect(visit.region("Receipt")).not_to_contain_text("0 characters in the clear")


def test_the_receipt_is_that_of_the_library(visit: Visit, served_db: Path) -> None:
    visit.write(MIXED)
    visit.choose_eps("Home")
    sanitizer = Sanitizer.load(served_db, eps=0.0)
    for line in sanitizer.receipt(sanitizer.trace(MIXED, 0.0, False).tally, 0.0, False).describe().split("\n"):
        expect(visit.region("Receipt")).to_contain_text(line)
    expect(visit.region("Receipt")).to_contain_text("ledger")


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


def test_a_snippet_can_be_copied(browse: Callable[..., Visit], playground: Address) -> None:
    visit = browse(playground, permissions=["clipboard-read", "clipboard-write"])
    visit.open("eps=4")
    snippets = visit.region("The same settings")
    snippets.get_by_role("tab", name="Python").click()
    expect(snippets.locator("code")).to_contain_text("Sanitizer.load(")
    snippets.get_by_role("button", name="Copy").click()
    expect(snippets.get_by_role("status")).to_have_text("Copied")
    assert visit.page.evaluate("navigator.clipboard.readText()") == snippets.locator("code").inner_text()
