"""A person compares two settings on one text, in a browser."""

from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TEXT = "My mother called Štěpánková and the doctor said the family was well."


def test_two_settings_are_compared_on_the_same_text(visit: Visit) -> None:
    panes, toggle = visit.page.locator("#panes").get_by_role("region"), visit.page.locator("#compare")
    visit.write(TEXT)
    expect(panes).to_have_count(1)
    visit.page.get_by_role("button", name="Compare").click()
    visit.wait_for_text(1)
    expect(panes).to_have_count(2)
    expect(toggle).to_have_attribute("aria-pressed", "true")
    assert visit.words(0).count() == visit.words(1).count() == 12
    boxes = [visit.pane(place).bounding_box() for place in (0, 1)]
    assert boxes[0] is not None and boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    # the first comparison is with the settings of the paper
    expect(visit.setting("Policy", 1)).to_have_value("paper")
    expect(visit.pane(1).get_by_role("checkbox", name="Keep stopwords")).to_be_checked()
    assert "Štěpánková" in visit.read_output(1) and "Štěpánková" not in visit.read_output(0)
    # each has its own settings and view, and the cards below are about the one that was used last
    names = [visit.pane(place).get_by_role("heading").first.inner_text() for place in (0, 1)]
    assert len(set(names)) == 2
    for pane, eps in ((1, "50"), (0, "0")):
        visit.choose_eps("End" if pane else "Home", pane=pane)
        expect(visit.pane(pane).locator("output")).to_contain_text(f"= {eps}")
        expect(visit.region("Receipt")).to_contain_text(names[pane], ignore_case=True)
        expect(visit.region("Receipt")).to_contain_text(f"eps {eps} per" if pane else "eps 0: each")
        expect(visit.region("The same settings").locator("code")).to_contain_text(f"--eps {eps}")
    assert (visit.read_eps(0), visit.read_eps(1)) == (0, 50)
    visit.turn_on_attack(1)
    expect(visit.switch(0)).not_to_be_checked()
    expect(visit.output(0).locator("rt")).to_have_count(0)
    toggle.click()
    expect(panes).to_have_count(1)
    expect(toggle).to_have_attribute("aria-pressed", "false")
    assert visit.read_eps() == 0 and "compare" not in visit.page.url and "b." not in visit.page.url
    expect(visit.region("The same settings").locator("code")).to_contain_text("--eps 0")
