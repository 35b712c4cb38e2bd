"""A person looks at a text as an attacker does, in a browser."""

import re
from collections.abc import Callable
from pathlib import Path

from custext_sql import Sanitizer
from custext_sql.experiments import TextAttacker
from custext_sql.playground.serving import Address
from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TEXT = "my mother called the hospital and the doctor said the family was well " * 3


def list_guesses(visit: Visit) -> list[tuple[str, str, bool]]:
    """Return each replaced word with its guess, and whether it is right, as a screen reader hears it."""
    found = re.findall(r'button "(.+?)\s*[;,:]? guessed (.+?)\s*[;,:]? (right|wrong)', visit.output().aria_snapshot())
    assert len(found) == visit.words().count()
    return [(word, guess, right == "right") for word, guess, right in found]


def test_guesses_are_those_of_the_library_and_follow_draws_and_settings(visit: Visit, served_db: Path) -> None:
    visit.write(TEXT)
    after = visit.read_output()
    visit.turn_on_attack()
    guesses = list_guesses(visit)
    assert [word for word, _, _ in guesses] == after.split()
    assert [right for _, _, right in guesses] == [
        guess == word for (_, guess, _), word in zip(guesses, TEXT.split(), strict=True)
    ]
    marks = visit.output().locator("rt").all_inner_texts()
    signs = {(text.split()[-1], right) for text, (_, _, right) in zip(marks, guesses, strict=True)}
    assert len({sign for sign, _ in signs}) == len(signs)  # each sign has one meaning
    with visit.answer("/api/attack") as found, visit.redrawing():
        visit.page.get_by_role("button", name="Draw again").click()
    visit.wait_until(lambda: list_guesses(visit) != guesses)
    assert [guess for _, guess, _ in list_guesses(visit)] == found[0]["guesses"]
    visit.choose_eps("End")
    expect(visit.pane()).to_contain_text("replaced words guessed")
    visit.wait_until(lambda: sum(right for _, _, right in list_guesses(visit)) > len(guesses) // 2)
    visit.choose_eps("Home")
    sanitizer = Sanitizer.load(served_db)
    known = TextAttacker(sanitizer).guess(TEXT, sanitizer.trace(TEXT, 0.0, False).list_outputs(), 0.0)
    expected = [*zip(known.guesses, known.right, strict=True)]
    visit.wait_until(lambda: [(guess, right) for _, guess, right in list_guesses(visit)] == expected)


def test_with_public_texts_the_page_names_them(browse: Callable[..., Visit], public_playground: Address) -> None:
    visit = browse(public_playground)
    visit.open()
    visit.write(TEXT)
    visit.turn_on_attack()
    expect(visit.pane()).to_contain_text("public.txt")
    expect(visit.pane()).not_to_contain_text("single guess")
    assert any(right for _, _, right in list_guesses(visit))


def test_what_only_the_original_text_has_is_not_in_the_attackers_view(visit: Visit) -> None:
    text = TEXT + "brother teacher river church winter kitchen garden dinner"  # an attacker guesses a few of them
    visit.write(f"{text} Štěpánková 4711 a.novak@example.com")
    after = visit.read_output()
    visit.turn_on_attack()
    seen = {word for pair in list_guesses(visit) for word in pair[:2]} | set(re.findall(r"\w+", after))
    hidden = set(re.findall(r"\w+", text)) - seen | {"Štěpánková", "4711", "novak"}
    assert len(hidden) > 3
    markup = visit.output().evaluate("element => element.outerHTML")
    found = set(re.findall(r"\w+", re.sub(r' (class|role|tabindex|data-place)="[^"]*"', "", markup)))
    assert not hidden & found
    assert visit.read_output() == after
