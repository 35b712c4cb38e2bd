"""A person drops a file, looks at ten rows and what leaks, and downloads the sanitized file, in a browser."""

import csv
import io
import re
from pathlib import Path

import pytest

from custext_sql import Sanitizer, read_ledger
from custext_sql.playground.serving import Address
from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

BODIES = [f"The doctor said my mother was well, and Štěpánková paid {place}4711" for place in range(12)]
ROWS = [{"id": str(place), "body": body, "note": f"note {place}"} for place, body in enumerate(BODIES)]


def write_csv(folder: Path) -> Path:
    path = folder / "reviews.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "body", "note"])
        writer.writeheader()
        writer.writerows(ROWS)
    return path


@pytest.fixture
def clerk(releasing: Address, tab: Visit) -> Visit:
    """A person on the tab of files, at eps = 0, so that the result is known."""
    tab.arrive(releasing)
    tab.open("eps=0&mode=file")
    expect(tab.page.get_by_label(re.compile("Drop a CSV"))).to_be_visible()
    return tab


def hand_in(visit: Visit, path: Path) -> None:
    """Choose a file, and wait for its rows."""
    with visit.answer("/preview"):
        visit.page.locator("#file-input").set_input_files(path)
    expect(visit.rows).to_be_visible()


def read_column(visit: Visit, place: int) -> list[str]:
    cells = visit.rows.locator("tbody tr").evaluate_all(
        f"rows => rows.map(row => row.querySelectorAll('td')[{place}].textContent)"
    )
    return [str(cell) for cell in cells]


def save(visit: Visit) -> tuple[str, bytes]:
    """Sanitize the file, and return the name and the content of the download."""
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Sanitize and download").click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_file_is_previewed_released_and_deleted(clerk: Visit, tmp_path: Path, few_db: Path) -> None:
    sanitizer, page, leaks = Sanitizer.load(few_db, eps=0.0), clerk.page, clerk.files
    hand_in(clerk, write_csv(tmp_path))
    expect(page.get_by_label("Column")).to_have_value("body")
    assert read_column(clerk, 0) == BODIES[:10]
    assert read_column(clerk, 1) == list(sanitizer.sanitize_batch(BODIES[:10]))
    expect(leaks).to_contain_text("12 rows, 132 words")
    expect(leaks).to_contain_text("0% in the clear")
    shown = page.get_by_role("region", name="What leaks")
    expect(shown.get_by_role("cell", name="štěpánková", exact=True)).to_be_visible()  # the only one, so no dots follow
    expect(shown).to_contain_text("…")  # there are more numbers than fit
    marks = leaks.get_by_role("list", name="Marks").get_by_role("listitem")
    expect(marks).to_have_text([re.compile(kind) for kind in ("replaced", "drew itself", "unknown word", "number")])

    page.get_by_label("Name of the data").fill("march")
    name, content = save(clerk)
    assert name == "reviews.sanitized.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"))))
    assert [row["body"] for row in rows] == list(sanitizer.sanitize_batch(BODIES))
    assert [(row["id"], row["note"]) for row in rows] == [(row["id"], row["note"]) for row in ROWS]
    (release,) = read_ledger(few_db).releases
    assert (release.dataset, release.state, release.row_count, release.eps) == ("march", "complete", 12, 0.0)
    result = page.get_by_role("region", name="Release", exact=True)
    for says in ("12 rows", "Copied unchanged: id, note", "132 words"):
        expect(result).to_contain_text(says)

    with clerk.answer("/preview"):
        clerk.setting("Policy", None).select_option("paper")
    expect(leaks).to_contain_text("9.1% in the clear")
    assert all("Štěpánková" in after for after in read_column(clerk, 1))

    with page.expect_response(lambda response: response.request.method == "DELETE") as deleted:
        page.get_by_role("button", name="Delete this file").click()
    assert deleted.value.status == 200
    expect(clerk.rows).to_be_hidden()
    expect(page.locator("#file-input")).to_have_value("")
    expect(page.locator("#file-input")).to_be_focused()
    hand_in(clerk, write_csv(tmp_path))  # the same one again


def test_lines_of_text_need_no_column(clerk: Visit, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("\n".join(BODIES), encoding="utf-8")
    hand_in(clerk, path)
    expect(clerk.page.get_by_label("Column")).to_be_hidden()
    assert read_column(clerk, 0) == BODIES[:10]
    name, content = save(clerk)
    assert name == "notes.sanitized.txt" and len(content.decode().splitlines()) == 12


def test_a_file_can_be_dropped_on_the_page(clerk: Visit, tmp_path: Path) -> None:
    box = clerk.page.get_by_role("region", name="Choose a file").bounding_box()
    assert box is not None
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    data = {"items": [], "files": [str(write_csv(tmp_path))], "dragOperationsMask": 1}
    session = clerk.context.new_cdp_session(clerk.page)
    with clerk.answer("/preview"):
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})
    expect(clerk.rows).to_be_visible()
    assert read_column(clerk, 0) == BODIES[:10]


def test_a_file_that_misses_its_place_does_not_replace_the_page(clerk: Visit) -> None:
    """Otherwise a browser opens it, and the text on the page is lost."""
    dropped = """([what, kind]) => {
      const dataTransfer = new DataTransfer();
      if (what === 'file') dataTransfer.items.add(new File(['doctor'], 'a.txt'));
      else dataTransfer.setData('text/plain', 'doctor');
      return document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
    }"""
    for tab in ("#tab-file", "#tab-text"):
        clerk.page.locator(tab).click()
        for kind in ("dragover", "drop"):
            assert not clerk.page.evaluate(dropped, ["file", kind])  # it is prevented
            assert clerk.page.evaluate(dropped, ["text", kind])  # which can be dragged into the text


def test_hostile_names_and_cells_are_shown_as_they_are(clerk: Visit, tmp_path: Path) -> None:
    attack = "<img src=x onerror=alert(1)>"
    path = tmp_path / "a<b>&'c.csv"
    path.write_text(f'"{attack}"\n"{attack} doctor"\n', encoding="utf-8")
    hand_in(clerk, path)
    assert read_column(clerk, 0) == [f"{attack} doctor"]
    expect(clerk.page.get_by_label("Column")).to_have_value(attack)
    expect(clerk.page.get_by_label("Name of the data")).to_have_value("a<b>&'c.csv")
    assert clerk.page.locator("#mode-file img").count() == 0
