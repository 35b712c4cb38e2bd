"""Texts that are no English prose: shown as they are, and the page goes on, in a browser."""

import re

from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TEXTS = {
    "image": "<img src=x onerror=alert(1)> doctor",
    "script": "</script><script>alert(1)</script> doctor",
    "attribute": '"\' onfocus=alert(1) autofocus x=" doctor',
    "template": "${alert(1)} {{7*7}} %s %00 \\u0041 doctor",
    "entity": "&lt;b&gt; &amp; &#x41; &nbsp; doctor",
    "link": "javascript:alert(1) data:text/html,<script>alert(1)</script> doctor",
    "right to left": "שלום עולם 123 doctor \u202eabc\u202c",
    "combining": "z̷̢̛a̸l̵g̶o doctor é e\u0301 한국어 각 ﷺ",
    "emoji": "👩‍👩‍👧‍👦 🇨🇿 doctor 👍🏽 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 mother",
    "invisible": "doc\u200btor\ufeff \u00ad\u2060 mother\t\u00a0x\u2028y",
    "newlines": "\n\n doctor \n\n\n mother\n",
    "controls": "\u0001\u0007\u001b[31m doctor \u007f",
    "prototype": "__proto__ constructor toString hasOwnProperty doctor",
}


def test_hostile_texts_are_shown_as_they_are(tab: Visit) -> None:
    text = "\n".join(TEXTS.values())
    tab.open("eps=50&policy=paper&unknown=keep&numbers=keep&units=keep&case=match")
    tags = tab.page.evaluate("document.querySelectorAll('img, script, iframe, b').length")
    found = tab.write(text)  # waits until the page shows what the server answered, to the letter
    kept = re.findall(r"[<>&;{}$\"'\\%]", found["after"])
    assert kept == re.findall(r"[<>&;{}$\"'\\%]", text)
    place = next(place for place, word in enumerate(re.findall(r"doc\S*", found["before"])) if word)
    tab.words().nth(place).click()
    expect(tab.region("A word and its group")).not_to_contain_text("Choose a word")
    tab.turn_on_attack()
    assert tab.read_output() == found["after"]
    assert tab.page.evaluate("document.querySelectorAll('img, script, iframe, b').length") == tags
    expect(tab.message).to_be_hidden()


def test_emoji_and_texts_from_right_to_left(tab: Visit) -> None:
    """Browsers count in UTF-16, Python in characters."""
    tab.open("policy=paper")
    found = tab.write("👩‍👩‍👧‍👦𝔘 doctor 👍🏽 mother")
    words = tab.words().all_inner_texts()
    assert words[-2:] == [found["after"].split()[-3], found["after"].split()[-1]]
    tab.words().last.click()
    expect(tab.region("A word and its group")).to_contain_text(f"mother became {words[-1]}")
    tab.write("שלום עולם")
    for element in (tab.text, tab.output()):
        assert element.evaluate("element => getComputedStyle(element).direction") == "rtl"


def test_half_a_character_gets_an_answer(visit: Visit) -> None:
    """A text area can hold a lone surrogate, which is no character."""
    fill = """element => { element.value = 'doctor \\ud83d mother'; element.dispatchEvent(new Event('input')); }"""
    visit.expected = ("422", "400")
    visit.text.evaluate(fill)
    visit.wait_until(lambda: visit.message.is_visible() or len(visit.words().all()) == 2)
    visit.write("doctor")
    expect(visit.message).to_be_hidden()


def test_the_longest_text_gets_an_answer(visit: Visit) -> None:
    text = ("doctor " * 28_572)[:200_000]
    with visit.answer("/api/sanitize") as found:
        visit.text.fill(text)
    visit.output().get_by_role("button", name=re.compile("Show the other")).click()
    visit.wait_until(lambda: visit.read_output() == found[0]["after"])
    assert visit.words().count() == 28_572
    visit.words().nth(20_000).press("Enter")
    expect(visit.region("A word and its group")).to_contain_text("doctor became")
    visit.write("doctor")
