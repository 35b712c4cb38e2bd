"""A person sends settings by the address of the page, and opens the page with a token and without, in a browser."""

import json
from typing import Any

import pytest

from custext_sql.playground.serving import Address
from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

SECRET = "xylophonic"  # a word that is on no page


def read_settings(visit: Visit) -> dict[str, Any]:
    """Return the settings that the page sends to the server, twice: what it sent before may be answered in between."""
    found: list[dict[str, Any]] = []
    while len(found) < 2 or found[-1] != found[-2]:
        with visit.redrawing():
            visit.page.get_by_role("button", name="Draw again").first.click()
        drawn = [request for request in visit.answered if request.url.endswith("/api/sanitize")]
        found.append(json.loads(drawn[-1].post_data or "{}")["settings"])
    return found[-1]


def test_a_new_tab_with_the_address_has_the_same_settings(visit: Visit) -> None:
    visit.choose_eps("ArrowRight", times=3)
    visit.pane().get_by_role("checkbox", name="Keep stopwords").check()
    visit.setting("Mapping").select_option("starter-euclidean-k5")
    visit.setting("Policy").select_option("paper")
    visit.setting("Calibration").select_option("tight")
    visit.setting("Numbers").select_option("shape")
    visit.setting("Case").select_option("match")
    settings, address = read_settings(visit), visit.page.url
    visit.page = visit.context.new_page()
    with visit.answer("/api/sanitize"):
        visit.page.goto(address)
    visit.wait_for_text()
    assert read_settings(visit) == settings
    assert settings == {
        "mapping": "starter-euclidean-k5",
        "eps": 1.4,
        "plus": True,
        "calibration": "tight",
        "policy": {"name": "paper", "numbers": "shape", "case": "match"},
    }
    expect(visit.setting("Numbers")).to_be_visible()  # since it is not the usual value
    assert visit.page.url == address


def test_a_comparison_and_views_are_in_the_address(visit: Visit) -> None:
    visit.page.locator("#compare").click()
    visit.wait_for_text(1)
    visit.choose_eps("End", pane=1)
    visit.turn_on_attack(1)
    address = visit.page.url
    visit.page = visit.context.new_page()
    visit.page.goto(address)
    visit.wait_for_text(1)
    expect(visit.switch(1)).to_be_checked()
    expect(visit.switch(0)).not_to_be_checked()
    expect(visit.pane(1).locator("output")).to_contain_text("= 50")
    expect(visit.page.get_by_role("tab", name="Text", exact=True)).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize(
    "wrong",
    [
        "eps=-1&plus=yes&mapping=nowhere&calibration=loose&policy=none&numbers=x&units=&case=UPPER&unknown=1",
        "=&&&%E0%A4%A&#token=x",
    ],
)
def test_wrong_values_in_the_address_fall_back(tab: Visit, wrong: str) -> None:
    tab.open(wrong)
    usual = {"mapping": None, "eps": 1, "plus": False, "calibration": "paper", "policy": {"name": "strict"}}
    assert read_settings(tab) == usual
    if "mapping" in wrong:  # words drawn from another mapping are not what a colleague sent
        expect(tab.message).to_contain_text("not in this database")
    else:
        expect(tab.message).to_be_hidden()


def test_the_text_and_the_token_are_nowhere_but_where_they_belong(visit: Visit) -> None:
    visit.write(f"{SECRET} doctor")
    visit.choose_eps("End")
    visit.turn_on_attack()
    visit.words().first.click()
    visit.page.locator("#tab-file").click()
    visit.page.locator("#tab-text").click()
    stored = visit.page.evaluate("Object.entries(localStorage)")
    assert [value for _, value in stored] == [visit.address.token]
    elsewhere = [visit.page.url, visit.page.title(), *visit.requests]
    elsewhere += [str(visit.page.evaluate("[Object.entries(sessionStorage), document.cookie, history.state, name]"))]
    elsewhere += [str(visit.context.cookies()), str(visit.page.evaluate("indexedDB.databases()"))]
    elsewhere += [str(visit.page.evaluate("caches.keys()"))]
    assert not [one for one in elsewhere if SECRET in one or "doctor" in one or visit.address.token in one]
    assert not visit.page.evaluate("navigator.serviceWorker.getRegistrations()")
    entries = visit.context.new_cdp_session(visit.page).send("Page.getNavigationHistory")["entries"]  # to go back to
    assert not [entry for entry in entries if visit.address.token in entry["url"]]


# without a token


def ask(visit: Visit, settings: str = "") -> None:
    """Open the page without a token, and wait for the form."""
    visit.expected = ("403",)
    visit.page.goto(f"{visit.origin}/{settings}")
    expect(visit.page.get_by_role("heading", name="This page needs its token")).to_be_visible()


def give(visit: Visit, token: str) -> None:
    field = visit.page.get_by_label("Address or token")
    expect(field).to_be_focused()
    field.fill(token)
    field.press("Enter")


def test_without_a_token_the_page_asks_for_it(tab: Visit, playground: Address) -> None:
    ask(tab)
    expect(tab.text).to_be_hidden()
    expect(tab.message).to_be_hidden()  # nothing was wrong yet
    for wrong in ("http://127.0.0.1/#token=wrong", "schön ✓"):
        give(tab, wrong)
        expect(tab.message).to_contain_text("token")
        expect(tab.text).to_be_hidden()
    give(tab, f"  {playground.url}\n")
    tab.wait_for_text()
    expect(tab.message).to_be_hidden()
    expect(tab.page.get_by_label("Address or token")).to_be_hidden()
    assert playground.token not in tab.page.url
    tab.page.reload()  # it is remembered
    tab.wait_for_text()


def test_settings_of_a_colleague_outlive_an_old_token(tab: Visit, playground: Address) -> None:
    ask(tab, "#token=old&eps=4&policy=paper")
    expect(tab.message).to_contain_text("out of date")
    assert "old" not in tab.page.url
    give(tab, playground.token)
    tab.wait_for_text()
    assert read_settings(tab)["eps"] == 4
    expect(tab.setting("Policy")).to_have_value("paper")


def test_an_address_with_a_token_is_taken_in_the_same_tab(tab: Visit, playground: Address) -> None:
    tab.expected = ("403",)
    tab.page.goto(f"{tab.origin}/")
    expect(tab.page.get_by_label("Address or token")).to_be_visible()
    tab.page.evaluate(f"location.hash = 'token={playground.token}&eps=0'")
    tab.wait_for_text()
    assert "token" not in tab.page.url and "eps=0" in tab.page.url
