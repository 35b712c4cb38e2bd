"""A person opens a word, and sees its group and what an attacker learns, in a browser."""

import re
from pathlib import Path

from custext_sql import Sanitizer
from custext_sql.experiments import TextAttacker
from tests.playground.browser import MARKS, Locator, Visit, expect

pytestmark = MARKS


def open_word(visit: Visit, place: int = 0) -> Locator:
    """Click a word of the sanitized text, and return the card that tells about it."""
    visit.words().nth(place).click()
    card = visit.region("A word and its group")
    expect(card).not_to_contain_text("Choose a word")
    return card


def test_a_click_on_a_word_opens_its_group(visit: Visit, served_db: Path) -> None:
    after = visit.write("doctor")["after"]
    card = open_word(visit)
    expect(card).to_contain_text(f"doctor became {after}")
    group = Sanitizer.load(served_db).inspect("doctor", 1.0, False).group
    card.get_by_role("button", name="Show all 20 words").click()
    rows = card.locator("tbody tr")
    expect(rows).to_have_count(20)
    for row, member in zip(rows.all(), group, strict=True):
        cells = row.get_by_role("cell").all_inner_texts()
        assert row.get_by_role("rowheader").inner_text().split()[0] == member.output
        assert cells[-1] == f"{member.score:.3f}"
        share = 100 * member.probability
        assert cells[-2] == (f"{share:.1f}%" if share < 10 else f"{round(share)}%")


def test_the_card_says_what_an_attacker_learns(visit: Visit, served_db: Path) -> None:
    visit.write("doctor")
    visit.choose_eps("End")
    after = visit.read_output()
    card = open_word(visit)
    attacker = TextAttacker(Sanitizer.load(served_db))
    guess, certainty = attacker.guess_word(after, 50.0)
    chances, (_, draws) = attacker.find_chances("doctor", 50.0), attacker.count_draws("doctor", 50.0)
    says = card.inner_text()
    assert guess in says and f"{draws} draw" in says
    assert says.count("%") > 3 and f"{certainty:.0%}" in says.replace("over 99.9%", "100%")
    assert f"{chances.right:.0%}" in says.replace("over 99.9%", "100%")


def test_the_card_never_shows_another_draw(visit: Visit) -> None:
    """After a new draw it tells about the new word, or about none."""
    text = " ".join(["doctor"] * 30)
    visit.write(text)
    open_word(visit)
    for _ in range(3):
        with visit.redrawing():
            visit.page.get_by_role("button", name="Draw again").click()
        card = visit.region("A word and its group")
        if "became" in card.inner_text():
            expect(card).to_contain_text(f"doctor became {visit.words().first.inner_text()}")


def test_words_carry_their_kind_by_more_than_color_and_explain_it(visit: Visit) -> None:
    visit.write("the doctor Štěpánková 4711 a.novak@example.com")
    with visit.redrawing() as found:
        visit.pane().get_by_role("checkbox", name="Keep stopwords").check()
    labels = ["stopword", "replaced|drew itself", "unknown word", "number", "unit"]
    for shown, label in zip(visit.words().all(), labels, strict=True):
        assert re.search(label, str(shown.get_attribute("aria-label")))
    style = "words => words.map(word => getComputedStyle(word)).map(s => `${s.borderBottom} ${s.outline}`)"
    drawn = [re.sub(r"rgba?\([^)]*\)", "", one) for one in visit.words().evaluate_all(style)]
    assert len(set(drawn)) == len(drawn), drawn
    for place, word, says in ((2, "Štěpánková", "Not in the vocabulary"), (4, "a.novak@example.com", "e-mail address")):
        card = open_word(visit, place)
        expect(card).to_contain_text(f"{word} became {found[0]['after'].split()[place]}")
        expect(card).to_contain_text(says)
        expect(card.locator("table")).to_have_count(0)
        assert "clear" not in card.inner_text()
