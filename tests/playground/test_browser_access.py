"""The page on a phone and on a desktop, light and dark: nothing sticks out, and axe-core finds nothing wrong."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from custext_sql.playground.serving import Address
from tests.playground.browser import MARKS, Error, Visit, expect
from tests.playground.views import VIEWS

pytestmark = MARKS

PHONE, DESKTOP = {"width": 320, "height": 800}, {"width": 1280, "height": 800}
NOWHERE = {"server": "http://127.0.0.1:1", "bypass": "127.0.0.1"}  # where requests to all others end
STICKING_OUT = """() => {
  const inner = document.documentElement.clientWidth;
  const scrolls = element => element && (
    element.closest('.unseen') || ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(element).overflowX)
    || scrolls(element.parentElement));
  const wide = [...document.querySelectorAll('body *')].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && (box.right > inner + 1 || box.left < -1) && !scrolls(element.parentElement);
  }).map(element => `${element.tagName} ${element.id} ${element.className}`);
  return document.documentElement.scrollWidth > innerWidth ? ['the document', ...wide] : wide;
}"""
CLIPPED = """() => [...document.querySelectorAll('button, label, h1, h2, h3, select, summary')].filter(element =>
  element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1
  && getComputedStyle(element).display !== 'inline').map(element => `${element.tagName} ${element.textContent}`)"""
AXE = """async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] });
  return found.violations.map(one => `${one.id}: ${one.nodes.map(node => node.target.join(' ')).join(', ')}`);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core, which the browser runs."""
    path = os.environ.get("CUSTEXT_AXE")
    if not path:
        pytest.skip("needs axe-core, an npm package: CUSTEXT_AXE does not name its axe.min.js")
    return Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")])
def test_every_view_is_accessible_and_nothing_sticks_out(
    axe: str, releasing: Address, browse: Callable[..., Visit], size: dict[str, int], scheme: str
) -> None:
    """And every view works while no other host can be reached."""
    visit = browse(releasing, proxy=NOWHERE, reduced_motion="reduce", viewport=size, color_scheme=scheme)
    visit.expected = ("unreachable.example",)
    visit.open()
    for name, go in VIEWS.items():
        go(visit)
        expect(visit.busy).to_have_count(0)
        visit.page.evaluate(axe)  # not as a script of the page, which its policy forbids
        assert (name, visit.page.evaluate(AXE)) == (name, [])
        assert (name, visit.page.evaluate(STICKING_OUT), visit.page.evaluate(CLIPPED)) == (name, [], [])
    assert {"/api/setup", "/page/main.js"} <= {url.removeprefix(visit.origin) for url in visit.requests}
    assert [url for url in visit.requests if "?" in url and "/api/files?name=" not in url] == []
    with pytest.raises(Error, match="ERR_PROXY"):
        visit.page.goto("http://unreachable.example/")


def test_violations_and_what_sticks_out_would_be_found(axe: str, visit: Visit) -> None:
    visit.page.evaluate("document.querySelector('#text').removeAttribute('aria-labelledby')")
    visit.page.evaluate(axe)
    assert any(one.startswith("label: #text") for one in visit.page.evaluate(AXE))
    assert visit.page.evaluate(STICKING_OUT) == []
    visit.page.evaluate("document.querySelector('#text').style.width = '3000px'")
    assert "TEXTAREA text" in str(visit.page.evaluate(STICKING_OUT))


def test_axe_finds_no_violation_in_the_form_for_the_token(
    axe: str, browse: Callable[..., Visit], playground: Address
) -> None:
    visit = browse(playground, color_scheme="dark", viewport=PHONE)
    visit.expected = ("403",)
    visit.page.goto(f"{visit.origin}/#token=wrong")
    expect(visit.page.get_by_label("Address or token")).to_be_visible()
    visit.page.evaluate(axe)
    assert visit.page.evaluate(AXE) == []
    assert visit.page.evaluate(STICKING_OUT) == []


def test_on_a_phone_everything_is_in_one_column(browse: Callable[..., Visit], playground: Address) -> None:
    visit = browse(playground, viewport=PHONE, has_touch=True, is_mobile=True)
    visit.open()
    left = {card["x"] for card in (one.bounding_box() for one in visit.page.get_by_role("region").all()) if card}
    assert len(left) == 1
    visit.words().first.tap()
    expect(visit.region("A word and its group")).to_be_in_viewport()


def test_changes_are_announced(visit: Visit) -> None:
    """A screen reader hears that a text was sanitized, and what was found about a word."""
    visit.write("doctor and mother")
    live = "element => element.closest('[aria-live=polite], [role=status]') !== null"
    for found in (
        visit.pane().get_by_text("3 words replaced"),
        visit.region("A word and its group").locator("p").first,
    ):
        assert found.evaluate(live)
