"""A person who uses the keyboard only, in a browser."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from custext_sql.playground.serving import Address
from tests.playground.browser import MARKS, Locator, Visit, expect

pytestmark = MARKS

FOCUSED = """() => {
  const element = document.activeElement;
  const label = element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 30);
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  return {
    tag: element.tagName,
    name: `${element.tagName} ${element.id} ${label}`,
    ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    inView: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""


def read_focus(visit: Visit) -> dict[str, Any]:
    found: dict[str, Any] = visit.page.evaluate(FOCUSED)
    return found


def tab_to(visit: Visit, target: Locator, key: str = "Tab") -> None:
    """Press Tab until an element has the focus."""
    expect(target.first).to_be_visible()
    for _ in range(60):
        if target.evaluate_all("elements => elements.includes(document.activeElement)"):
            return
        visit.page.keyboard.press(key)
    pytest.fail(f"Tab does not reach it; it ends at {read_focus(visit)['name']}")


def press(visit: Visit, key: str) -> None:
    """Press a key, and check afterwards that the focus was not lost."""
    visit.page.keyboard.press(key)
    assert read_focus(visit)["tag"] != "BODY", f"{key} lost the focus"


def test_everything_on_a_text_can_be_done_by_keys(browse: Callable[..., Visit], playground: Address) -> None:
    visit = browse(playground, permissions=["clipboard-read", "clipboard-write"])
    visit.open()
    keyboard = visit.page.keyboard
    tab_to(visit, visit.text)
    keyboard.press("Control+A")
    with visit.redrawing():
        keyboard.type("doctor and mother")
    tab_to(visit, visit.slider())
    with visit.redrawing():
        press(visit, "ArrowRight")
    assert visit.read_eps() == 1.1
    tab_to(visit, visit.pane().get_by_role("checkbox", name="Keep stopwords"))
    with visit.redrawing():
        press(visit, "Space")
    tab_to(visit, visit.pane().locator("summary"))
    press(visit, "Enter")
    expect(visit.pane().get_by_label(re.compile("^Numbers"))).to_be_visible()
    tab_to(visit, visit.words())
    press(visit, "ArrowRight")
    expect(visit.words().nth(1)).to_be_focused()
    press(visit, "Enter")
    expect(visit.region("A word and its group")).to_contain_text("stopwords are kept")
    expect(visit.words().nth(1)).to_be_focused()
    tab_to(visit, visit.switch(), "Shift+Tab")
    press(visit, "Space")
    expect(visit.output().locator("rt").first).to_be_visible()
    expect(visit.switch()).to_be_focused()
    snippets = visit.region("The same settings")
    tab_to(visit, snippets.get_by_role("tab"))
    for name in ("SQL", "Python"):
        press(visit, "ArrowRight")
        expect(snippets.get_by_role("tab", name=name)).to_be_focused()
        expect(snippets.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
    tab_to(visit, snippets.get_by_role("button", name="Copy"))
    press(visit, "Enter")
    expect(snippets.get_by_role("status")).to_have_text("Copied")
    assert "Sanitizer.load(" in visit.page.evaluate("navigator.clipboard.readText()")


def test_words_are_one_stop_and_arrows_move_between_them(visit: Visit) -> None:
    visit.write("doctor and mother and film")
    words = visit.words()
    tab_to(visit, words)
    expect(words.nth(0)).to_be_focused()
    keys = ("ArrowRight", "ArrowDown", "ArrowLeft", "End", "ArrowRight", "Home")
    for key, place in zip(keys, (1, 2, 1, 4, 4, 0), strict=True):
        press(visit, key)
        expect(words.nth(place)).to_be_focused()
    press(visit, "ArrowRight")
    press(visit, "Tab")
    assert not words.evaluate_all("elements => elements.includes(document.activeElement)")
    press(visit, "Shift+Tab")
    expect(words.nth(1)).to_be_focused()  # where it was


def test_every_stop_of_the_tab_key_is_visible_and_none_is_a_trap(visit: Visit) -> None:
    visit.words().first.click()
    card = visit.region("A word and its group")
    expect(card).not_to_contain_text("Choose a word")
    expect(card).to_be_in_viewport(ratio=0.99)  # the page scrolls to it
    visit.page.get_by_text("Every point of the verdict").click()
    visit.setting("Numbers")
    visit.page.locator("#tab-text").focus()
    press(visit, "Tab")
    press(visit, "Shift+Tab")  # so that the browser shows where it is
    seen: list[dict[str, Any]] = [read_focus(visit)]
    for _ in range(80):
        visit.page.keyboard.press("Tab")
        found = read_focus(visit)
        if found["tag"] == "BODY":  # past the end
            break
        seen.append(found)
    names = [one["name"] for one in seen]
    assert len(names) == len(set(names)) and len(names) > 15
    assert [one["name"] for one in seen if not one["ring"]] == []
    assert [one["name"] for one in seen if not one["inView"]] == []
    assert names.index(next(name for name in names if " text " in name)) < 6


def test_no_update_loses_the_focus(visit: Visit) -> None:
    def count_verdicts() -> int:
        return sum(request.url.endswith("/api/verdict") for request in visit.answered)

    def use(target: Locator, key: str, verdicts: int = 0, shown: Locator | None = None) -> None:
        """Press a key on an element, and check the focus when as many verdicts as this have come."""
        expected = count_verdicts() + verdicts
        target.first.focus()
        visit.page.keyboard.press(key)
        visit.wait_until(lambda: count_verdicts() >= expected)
        expect(visit.busy).to_have_count(0)
        if shown is not None:
            expect(shown.first).to_be_visible()
        assert read_focus(visit)["tag"] != "BODY", (str(target), key)

    expect(visit.busy).to_have_count(0)
    use(visit.page.get_by_role("button", name="Draw again"), "Enter", 1)
    use(visit.switch(), "Space", shown=visit.output().locator("rt"))
    use(visit.switch(), "Space")
    use(visit.slider(), "End", 1)
    use(visit.slider(), "ArrowLeft", 1)
    use(visit.setting("Mapping"), "ArrowDown", 1)
    use(visit.setting("Policy"), "ArrowDown", 1)
    use(visit.page.locator("#compare"), "Enter", 2)
    use(visit.page.locator("#compare"), "Enter", 1)
    use(visit.page.get_by_text("Every point of the verdict"), "Enter")
    use(visit.page.locator("#tab-text"), "ArrowRight")
    use(visit.page.locator("#tab-file"), "ArrowLeft")


def test_a_file_can_be_released_by_keys(releasing: Address, browse: Callable[..., Visit]) -> None:
    visit = browse(releasing)
    choosers: list[Any] = []
    visit.page.on("filechooser", lambda chooser: choosers.append(chooser))  # Chromium must know before the key
    visit.open()
    tab_to(visit, visit.page.locator("#tab-text"))
    press(visit, "ArrowRight")
    tab_to(visit, visit.page.locator("#file-input"))
    visit.page.keyboard.press("Space")
    visit.wait_until(lambda: choosers)
    given = {"name": "a.csv", "mimeType": "text/csv", "buffer": b"id,body\n1,doctor\n"}
    choosers[0].set_files(given)
    tab_to(visit, visit.page.get_by_label("Column"))
    release = visit.page.get_by_role("button", name="Sanitize and download")
    tab_to(visit, release)
    with visit.page.expect_download():
        visit.page.keyboard.press("Enter")
    expect(visit.files).to_contain_text("was downloaded")
    expect(release).to_be_focused()
    tab_to(visit, visit.page.get_by_role("button", name="Delete this file"))
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#file-input")).to_be_focused()
