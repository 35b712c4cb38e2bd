"""The page in headless Chromium, and what a person does on it. Elements are found as a screen reader finds them."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from custext_sql.playground.serving import Address

pytest.importorskip("playwright", reason="needs Playwright's Python package, which the extra test installs")
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Locator,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

__all__ = ["MARKS", "Error", "Locator", "Page", "Visit", "expect", "launch"]

MARKS = [pytest.mark.slow, pytest.mark.browser]
PATIENCE = 120_000.0  # milliseconds; the machine may be busy
_NAMES = ("chromium", "google-chrome", "chromium-browser")
_FLAGS = (
    "--no-sandbox",  # Chromium has none for root
    *("--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-quic"),
)
_READ = """element => {
  const copy = element.cloneNode(true);
  for (const guess of copy.querySelectorAll("rt")) guess.remove();
  return copy.textContent;
}"""

expect.set_options(timeout=PATIENCE)


@contextmanager
def launch(home: Path) -> Iterator[Browser]:
    """Yield a browser with its own home folder; skip the test if none is installed.

    Playwright runs an event loop in this thread until the end: code that starts one cannot run meanwhile.
    """
    given = os.environ.get("CUSTEXT_CHROMIUM")
    program = given or next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"needs Chromium: none of {', '.join(_NAMES)} is installed, and CUSTEXT_CHROMIUM names none")
    with sync_playwright() as playwright:
        environment: dict[str, str | float | bool] = {**os.environ, "HOME": str(home)}
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS), env=environment)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A person on the page, in a browser of their own, with a list of whatever should never happen there."""

    def __init__(self, context: BrowserContext, address: Address) -> None:
        self.context = context
        self.arrive(address)
        context.set_default_timeout(PATIENCE)
        context.on("console", lambda said: self._complain(said.type, said.text))
        context.on("weberror", lambda raised: self.complaints.append(str(raised.error)))
        context.on("dialog", self._dismiss)
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("requestfinished", lambda request: self.answered.append(request))
        self.page = context.new_page()

    def arrive(self, address: Address) -> None:
        """Begin a visit of a server."""
        self.address, self.origin = address, address.url.partition("/#")[0]
        self.complaints: list[str] = []  # of the console, and exceptions
        self.expected: tuple[str, ...] = ()  # parts of complaints, and of requests, that a test causes on purpose
        self.dialogs: list[str] = []
        self.requests: list[str] = []
        self.answered: list[Request] = []

    def leave(self) -> None:
        """End the visit: the next one finds an empty tab, and a browser that remembers nothing."""
        self.page, *others = self.context.pages
        for other in others:
            other.close()
        self.page.unroute_all()
        self.page.goto("about:blank")
        session = self.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": self.origin, "storageTypes": "all"})
        session.detach()

    def _complain(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.complaints.append(text)

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self) -> None:
        """Fail if something happened that should never happen."""
        own = (f"{self.origin}/", f"blob:{self.origin}/")
        foreign = [url for url in self.requests if not url.startswith(own)]
        found = {"console": self.complaints, "dialogs": self.dialogs, "requests to others": foreign}
        for kind, several in found.items():
            assert (kind, [one for one in several if not any(part in one for part in self.expected)]) == (kind, [])

    # opening

    def open(self, settings: str = "", *, token: bool = True) -> None:
        """Open the page as from the address that was printed, with settings behind it, and wait for the first text."""
        parts = [*([f"token={self.address.token}"] if token else []), *filter(None, settings.split("&"))]
        with self.answer("/api/sanitize"):
            self.page.goto(f"{self.origin}/#{'&'.join(parts)}")
        if "mode=file" not in parts:
            self.wait_for_text()

    @contextmanager
    def answer(self, path: str, **asked: object) -> Iterator[list[dict[str, Any]]]:
        """Wait until the server has answered a request that the block causes; its answer is then in the list.

        asked: what the request says, or its settings, such as `text` or `eps`; other requests are not waited for.
        """
        found: list[dict[str, Any]] = []

        def fits(response: Response) -> bool:
            if path not in response.url or response.status != 200:
                return False
            said = json.loads(response.request.post_data or "{}") if asked else {}
            return asked.items() <= {**said.pop("settings", {}), **said}.items()

        with self.page.expect_response(fits) as answer:
            yield found
        found.append(json.loads(answer.value.body()))

    @contextmanager
    def redrawing(self, pane: int = 0) -> Iterator[list[dict[str, Any]]]:
        """Wait until the block's text and settings were drawn and the answer is shown; it is then in the list."""
        found: list[dict[str, Any]] = []
        start, taken = len(self.answered), -1
        yield found

        def is_shown() -> bool:
            nonlocal taken
            drawn = [request for request in self.answered[start:] if request.url.endswith("/api/sanitize")]
            asked = [json.loads(request.post_data or "{}") for request in drawn]
            wanted = {"text": self.text.input_value(), "eps": self.read_eps(pane)}
            fitting = [one["text"] == wanted["text"] and one["settings"]["eps"] == wanted["eps"] for one in asked]
            if not any(fitting):
                return False
            last = len(fitting) - 1 - fitting[::-1].index(True)
            if last != taken:
                response = drawn[last].response()
                assert response is not None
                found[:], taken = [response.json()], last
            return self.read_output(pane) == str(found[0]["after"])

        self.wait_until(is_shown)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition is true, while the page goes on."""
        for _ in range(int(PATIENCE / 20)):
            if condition():
                return
            self.page.wait_for_timeout(20)
        pytest.fail("the condition did not become true in time")

    # the parts of the page

    @property
    def text(self) -> Locator:
        """Where the text is typed."""
        return self.page.get_by_role("textbox", name="Your text")

    def pane(self, place: int = 0) -> Locator:
        """Return the settings and the sanitized text, of which there are two while comparing."""
        return self.page.locator("#panes").get_by_role("region").nth(place)

    def output(self, pane: int = 0) -> Locator:
        """Return the sanitized text."""
        return self.pane(pane).get_by_role("group", name=re.compile("arrow keys"))

    def words(self, pane: int = 0) -> Locator:
        """Return the words of the sanitized text that can be opened."""
        return self.output(pane).get_by_role("button")

    def slider(self, pane: int = 0) -> Locator:
        """Return the slider of eps."""
        return self.pane(pane).get_by_role("slider", name="eps")

    def switch(self, pane: int = 0) -> Locator:
        """Return the switch to the attacker's view."""
        return self.pane(pane).get_by_role("switch", name="What an attacker sees")

    def setting(self, name: str, pane: int | None = 0) -> Locator:
        """Return a setting that has a list of choices, unfolding it first if need be. pane: None for that of files."""
        place = self.files if pane is None else self.pane(pane)
        found = place.get_by_label(re.compile(f"^{name}"))
        if not found.is_visible():
            place.get_by_text("More settings").click()
        return found

    @property
    def files(self) -> Locator:
        """The part of the page for files."""
        return self.page.get_by_role("tabpanel", name="File")

    @property
    def rows(self) -> Locator:
        """The rows of a file before and after."""
        return self.files.get_by_role("table").filter(has_text="After")

    def region(self, name: str) -> Locator:
        """Return a part of the page by its heading."""
        return self.page.get_by_role("region", name=name)

    @property
    def busy(self) -> Locator:
        """Whatever waits for an answer of the server."""
        return self.page.locator("[aria-busy=true]")

    @property
    def message(self) -> Locator:
        """What the page says when something failed."""
        return self.page.get_by_role("alert")

    def read_output(self, pane: int = 0) -> str:
        """Return the sanitized text as it is, with its spaces and without the attacker's guesses."""
        return str(self.output(pane).evaluate(_READ))

    def read_eps(self, pane: int = 0) -> float:
        """Return eps as the address has it."""
        parameters = parse_qs(self.page.url.partition("#")[2])
        return float(parameters.get("eps" if pane == 0 else "b.eps", ["1"])[0])

    def wait_for_text(self, pane: int = 0) -> None:
        """Wait until there is a sanitized text."""
        expect(self.words(pane).first).to_be_visible()

    # what a person does

    def write(self, text: str) -> dict[str, Any]:
        """Replace the text, and return the server's answer once it is shown."""
        with self.redrawing() as found:
            self.text.fill(text)
        return found[0]

    def choose_eps(self, key: str, times: int = 1, pane: int = 0) -> None:
        """Move the slider by keys; wait for the text if that changes eps."""
        with self.redrawing(pane):
            for _ in range(times):
                self.slider(pane).press(key)

    def turn_on_attack(self, pane: int = 0) -> dict[str, Any]:
        """Switch to the attacker's view, and return what the server found."""
        with self.answer("/api/attack") as found:
            self.switch(pane).click()
        expect(self.output(pane).locator("rt").first).to_be_visible()
        return found[0]
