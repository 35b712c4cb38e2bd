"""A person compares two settings on one text, in a browser."""

from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TEXT = "My mother called Štěpánková and the doctor said the family was well."


def compare(visit: Visit) -> None:
    visit.page.get_by_role("button", name="Compare").click()
    visit.wait_for_text(1)


def test_two_settings_are_side_by_side_on_the_same_text(visit: Visit) -> None:
    visit.write(TEXT)
    expect(visit.page.locator("#panes").get_by_role("region")).to_have_count(1)
    compare(visit)
    expect(visit.page.locator("#panes").get_by_role("region")).to_have_count(2)
    expect(visit.page.locator("#compare")).to_have_attribute("aria-pressed", "true")
    assert visit.words(0).count() == visit.words(1).count() == 12
    titles = [visit.pane(place).get_by_role("heading").first.inner_text() for place in (0, 1)]
    assert len(set(titles)) == 2
    boxes = [visit.pane(place).bounding_box() for place in (0, 1)]
    assert boxes[0] is not None and boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


def test_the_first_comparison_is_with_the_papers_settings(visit: Visit) -> None:
    visit.write(TEXT)
    compare(visit)
    expect(visit.setting("Policy", 1)).to_have_value("paper")
    expect(visit.pane(1).get_by_role("checkbox", name="Keep stopwords")).to_be_checked()
    assert "Štěpánková" in visit.read_output(1) and "Štěpánková" not in visit.read_output(0)


def test_each_has_its_own_settings_draws_and_view(visit: Visit) -> None:
    visit.write(TEXT)
    compare(visit)
    first = visit.read_output(0)
    visit.choose_eps("End", pane=1)
    assert visit.read_eps(0) == 1 and visit.read_eps(1) == 50
    expect(visit.pane(0).locator("output")).to_contain_text("= 1")
    expect(visit.pane(1).locator("output")).to_contain_text("= 50")
    visit.turn_on_attack(1)
    expect(visit.switch(0)).not_to_be_checked()
    expect(visit.output(0).locator("rt")).to_have_count(0)
    assert len(visit.read_output(0).split()) == len(first.split())


def test_the_cards_below_say_which_setting_they_are_about(visit: Visit) -> None:
    visit.write(TEXT)
    compare(visit)
    for pane, eps in ((1, "50"), (0, "0")):
        visit.choose_eps("End" if pane else "Home", pane=pane)
        name = visit.pane(pane).get_by_role("heading").first.inner_text()
        expect(visit.region("Receipt")).to_contain_text(name, ignore_case=True)
        expect(visit.region("Receipt")).to_contain_text(f"eps {eps} per" if pane else "eps 0: each")
        expect(visit.region("The same settings").locator("code")).to_contain_text(f"--eps {eps}")


def test_the_comparison_can_be_removed(visit: Visit) -> None:
    visit.write(TEXT)
    visit.choose_eps("ArrowRight", times=3)
    compare(visit)
    visit.choose_eps("End", pane=1)
    visit.page.locator("#compare").click()
    expect(visit.page.locator("#panes").get_by_role("region")).to_have_count(1)
    expect(visit.page.locator("#compare")).to_have_attribute("aria-pressed", "false")
    assert visit.read_eps() == 1.4
    assert "compare" not in visit.page.url and "b." not in visit.page.url
    expect(visit.region("The same settings").locator("code")).to_contain_text("--eps 1.4")
