"""The views of the page, each reached as a person reaches it, for tests that look at all of them."""

from collections.abc import Callable

from tests.playground.browser import Visit, expect

TEXT = (
    "My doctor in Boston said the surgery went well, and the mother of Štěpánková was kind. Call 617-555-0142, write "
    "to a.very.long.name.of.a.person@an-even-longer-name-of-a-machine.example.com, and pay 4711 before 12/05/2026. "
    "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch" + "gogogoch" * 12
)


def write_text(visit: Visit) -> None:
    visit.write(TEXT)
    with visit.answer("/api/verdict"), visit.redrawing():
        visit.setting("Policy").select_option("paper")  # so that the long words are in the output
    expect(visit.region("Verdict").locator("strong").first).to_be_visible()
    visit.page.get_by_text("Every point of the verdict").click()
    visit.setting("Numbers")


def open_word(visit: Visit) -> None:
    visit.words().nth(1).click()
    visit.page.get_by_role("button", name="Show all 20 words").click()


def look_as_attacker(visit: Visit) -> None:
    visit.turn_on_attack()


def compare(visit: Visit) -> None:
    with visit.answer("/api/verdict"):
        visit.page.locator("#compare").click()
    visit.wait_for_text(1)


def hand_in_file(visit: Visit) -> None:
    visit.page.locator("#tab-file").click()
    content = "\n".join(["body,title", *[f'"{TEXT}",a title'] * 10]).encode()
    given = {"name": "a-rather-long-name-of-a-file-of-reviews.csv", "mimeType": "text/csv", "buffer": content}
    with visit.answer("/preview"):
        visit.page.locator("#file-input").set_input_files(given)  # type: ignore[arg-type]
    expect(visit.rows).to_be_visible()
    expect(visit.files.get_by_role("region", name="Code").locator("code")).to_contain_text("reviews.csv")


def release_file(visit: Visit) -> None:
    with visit.page.expect_download():
        visit.page.get_by_role("button", name="Sanitize and download").click()
    expect(visit.files).to_contain_text("was downloaded")


def fail(visit: Visit) -> None:
    visit.page.locator("#tab-text").click()
    visit.text.fill("x" * 200_001)
    expect(visit.message).to_be_visible()


VIEWS: dict[str, Callable[[Visit], None]] = {
    "text": write_text,
    "word": open_word,
    "attacker": look_as_attacker,
    "comparison": compare,
    "file": hand_in_file,
    "released file": release_file,
    "message": fail,
}
