"""The page asks nobody but its server, and its policy forbids everything else, in a browser."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.playground.browser import MARKS, Page, Visit, expect

pytestmark = MARKS


def read_forbidden(visit: Visit) -> list[str]:
    """Wait until the browser has reported that something was forbidden, as on the console, and return what."""
    visit.expected = ("Content Security Policy", "TrustedHTML", "TrustedScript", "example.com", "a.example")
    visit.wait_until(lambda: visit.page.evaluate("window.forbidden.length"))
    found: list[str] = visit.page.evaluate("window.forbidden")
    return found


def test_only_requests_to_the_server_carry_the_token(visit: Visit) -> None:
    visit.answered.clear()
    visit.page.reload()
    visit.wait_until(lambda: [one for one in visit.answered if one.url.endswith("/api/sanitize")])
    sent = [(request.url, request.all_headers()) for request in visit.answered]  # others may not be sent yet
    with_token = {url for url, headers in sent if "x-custext-token" in headers}
    assert f"{visit.origin}/api/sanitize" in with_token
    assert [url for url, headers in sent if "referer" in headers] == []
    assert [url for url in with_token if "/api/" not in url] == []


MARKUP = (
    "<script>window.ran = true</script>",
    "<script src='http://example.com/x.js'></script>",
    "<img src=x onerror='window.ran = true'>",
    "<iframe srcdoc='<script>parent.ran = true</script>'></iframe>",
    "<body onload='window.ran = true'>",
)


def test_the_policy_forbids_scripts_that_get_into_the_html(tab: Visit) -> None:
    """As if the server had written a text into the page unescaped."""
    tab.expected = ("Content Security Policy", "example.com", "404")

    def inject(route: Any) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace("<main", f"{''.join(MARKUP)}<main"))

    tab.page.route(f"{tab.origin}/", inject)
    tab.open()
    forbidden = "Content Security Policy"
    tab.wait_until(lambda: len([one for one in tab.complaints if forbidden in one]) >= len(MARKUP))
    assert tab.page.evaluate("window.ran") is None


FORBIDDEN = (
    ("document.body.append(Object.assign(new Image(), { src: 'http://example.com/x.png' }))", "img-src"),
    ("fetch('http://example.com/').catch(() => {})", "connect-src"),
    ("document.body.setAttribute('style', 'color: red')", "style-src-attr"),
    ("document.body.append(Object.assign(document.createElement('iframe'), { src: 'http://a.example' }))", "frame-src"),
    ("document.head.append(Object.assign(document.createElement('base'), { href: 'http://a.example' }))", "base-uri"),
    ("new FontFace('x', 'url(http://example.com/x.woff)').load().catch(() => {})", "font-src"),
    ("try { document.body.innerHTML = '<b>x</b>' } catch {}", "require-trusted-types-for"),
)


def test_the_policy_forbids_everything_else(visit: Visit) -> None:
    visit.page.evaluate("""() => {
      window.forbidden = [];
      document.addEventListener('securitypolicyviolation', event => forbidden.push(event.effectiveDirective));
    }""")
    for statement, directive in FORBIDDEN:
        visit.page.evaluate(f"() => {{ {statement} }}")
        while directive not in read_forbidden(visit):
            visit.page.wait_for_timeout(20)
    assert [url for url in visit.answered if "example" in url.url] == []
    expect(visit.text).to_be_visible()


class OtherSite(BaseHTTPRequestHandler):
    """Another page on this machine, so that the browser does not protect the server by itself."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<p>Another page")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def other_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def other(other_site: str, visit: Visit) -> Page:
    """The other page in the same browser, where it would have the person's cookies and storage."""
    visit.expected = (other_site.removesuffix("/"), "frame-ancestors", "403", "ERR_FAILED")
    page = visit.context.new_page()
    page.goto(other_site)
    return page


def test_no_other_page_can_use_the_server_frame_it_or_read_its_window(other: Page, visit: Visit) -> None:
    """Not even with the token."""
    ask = """async ([address, options]) => {
      try { return (await fetch(address, options)).status; } catch (error) { return error.name; }
    }"""
    token = {"X-Custext-Token": visit.address.token}
    json = {**token, "Content-Type": "application/json"}
    posted = {"method": "POST", "headers": json, "body": '{"text": "doctor"}'}
    for path, options in (("/api/setup", {"headers": token}), ("/api/sanitize", posted), ("/", {})):
        assert other.evaluate(ask, [visit.origin + path, options]) == "TypeError", path
        assert visit.page.evaluate(ask, [visit.origin + path, options]) == 200, path  # as the page itself can
    frame = f"Object.assign(document.createElement('iframe'), {{ src: '{visit.origin}/' }})"
    other.evaluate(f"document.body.append({frame})")
    visit.wait_until(lambda: any("frame-ancestors" in one for one in visit.complaints))
    visit.wait_until(lambda: len(other.frames) > 1 and other.frames[1].url.startswith("chrome-error:"))
    with visit.context.expect_page() as opened:
        other.evaluate(f"window.opened = open('{visit.origin}/')")
    visit.wait_until(lambda: opened.value.url.startswith(visit.origin))
    assert opened.value.evaluate("window.opener") is None
    visit.wait_until(lambda: other.evaluate("opened.closed"))  # as far as the other page can see
