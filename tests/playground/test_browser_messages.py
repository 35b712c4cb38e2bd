"""What goes wrong is said on the page, and the page goes on, in a browser."""

import json
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from custext_sql import build_mapping
from custext_sql.playground.serving import Address, open_server
from tests.playground.browser import MARKS, Visit, expect

pytestmark = MARKS

TOO_LONG = "doctor " * 28_572  # 200,004 characters


def find_port() -> int:
    """Return a free port among those that no connection gets by itself, so that it is still free a moment later."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


def test_a_text_that_is_too_long_is_refused_and_not_cut(visit: Visit) -> None:
    visit.text.fill(TOO_LONG)
    expect(visit.message).to_contain_text("too long")
    expect(visit.message).to_contain_text("200,000")
    assert len(visit.text.input_value()) == 200_004
    visit.write("doctor")
    expect(visit.message).to_be_hidden()


@pytest.mark.parametrize(
    "name, content, says",
    [("broken.parquet", b"not a Parquet file", "broken.parquet"), ("bytes.csv", b"body\n\xff\xfe\xfa\n", "UTF-8")],
    ids=["broken", "not UTF-8"],
)
def test_a_file_that_cannot_be_read_gets_a_message(visit: Visit, name: str, content: bytes, says: str) -> None:
    visit.expected = ("400",)
    visit.page.locator("#tab-file").click()
    given = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    visit.page.locator("#file-input").set_input_files(given)  # type: ignore[arg-type]
    expect(visit.message).to_contain_text(says)
    assert "/tmp" not in visit.message.inner_text() and "Traceback" not in visit.message.inner_text()
    expect(visit.page.get_by_text("Reading the file")).to_be_hidden()
    visit.page.locator("#tab-text").click()
    visit.write("doctor")
    expect(visit.message).to_be_hidden()


def test_a_file_above_the_limit_is_not_sent(tab: Visit) -> None:

    def limit(route: object) -> None:
        response = route.fetch()  # type: ignore[attr-defined]
        setup = json.loads(response.body())
        setup["limits"]["bytes"] = 1 << 20
        route.fulfill(response=response, body=json.dumps(setup))  # type: ignore[attr-defined]

    tab.page.route("**/api/setup", limit)
    tab.open()
    tab.page.locator("#tab-file").click()
    content = b"doctor\n" * (1 << 18)
    given = {"name": "a.txt", "mimeType": "text/plain", "buffer": content}
    tab.page.locator("#file-input").set_input_files(given)  # type: ignore[arg-type]
    expect(tab.message).to_contain_text("too large")
    expect(tab.message).to_contain_text("1 MB")
    assert not [url for url in tab.requests if "/api/files" in url]


def test_a_server_that_was_stopped_is_missed(browse: Callable[..., Visit], served_db: Path) -> None:
    with open_server(served_db, port=find_port()) as (address, _):
        visit = browse(address)
        visit.expected = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "403")
        visit.open()
        expect(visit.busy).to_have_count(0)
    visit.text.fill("doctor")
    expect(visit.message).to_contain_text("does not answer")
    expect(visit.message).to_contain_text("custext playground")
    assert visit.text.input_value() == "doctor"
    with open_server(served_db, port=address.port):
        visit.text.fill("doctor and mother")
        expect(visit.message).to_contain_text("out of date")


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(visit: Visit) -> None:
    """The server is slow with the first text, and quick with the second."""
    held: list[object] = []
    visit.page.route("**/api/sanitize", lambda route: held.append(route), times=1)
    visit.text.fill("doctor")
    visit.wait_until(lambda: held)
    visit.write("doctor and mother and film")
    held[0].continue_()  # type: ignore[attr-defined]
    visit.page.wait_for_timeout(500)
    expect(visit.words()).to_have_count(5)


def test_a_message_is_in_view_wherever_the_person_is(
    releasing: Address, browse: Callable[..., Visit], few_db: Path
) -> None:
    """A second release with another mapping is refused; the button for it is far below the top."""
    build_mapping(few_db, embedding="starter", k=5)
    visit = browse(releasing, viewport={"width": 390, "height": 700})
    visit.expected = ("400",)
    visit.open("mode=file")
    rows = "\n".join(["doctor and mother"] * 12)
    given = {"name": "a.txt", "mimeType": "text/plain", "buffer": rows.encode()}
    visit.page.locator("#file-input").set_input_files(given)  # type: ignore[arg-type]
    release = visit.page.get_by_role("button", name="Sanitize and download")
    with visit.page.expect_download():
        release.click()
    mapping = "starter-euclidean-k5"
    with visit.answer("/preview", mapping=mapping), visit.answer("/api/verdict", mapping=mapping):
        visit.setting("Mapping", None).select_option(mapping)
    expect(visit.busy).to_have_count(0)
    release.click()
    expect(visit.message).to_contain_text("mapping")
    expect(visit.message).to_be_in_viewport()
    visit.page.get_by_label("Allow another mapping").check()
    with visit.page.expect_download():
        release.click()
    expect(visit.message).to_be_hidden()


def test_of_two_files_the_last_one_stays(visit: Visit) -> None:
    visit.page.locator("#tab-file").click()
    held: list[Any] = []
    visit.page.route("**/api/files?name=slow.csv", lambda route: held.append(route))
    for name in ("slow.csv", "quick.csv"):
        given = {"name": name, "mimeType": "text/csv", "buffer": f"body\n{name[:-4]} doctor\n".encode()}
        visit.page.locator("#file-input").set_input_files(given)  # type: ignore[arg-type]
    expect(visit.rows).to_contain_text("quick")
    with visit.page.expect_response("**/api/files?name=slow.csv"):
        held[0].continue_()
    expect(visit.rows).to_contain_text("quick")
    assert visit.page.get_by_label("Name of the data").input_value() == "quick.csv"
