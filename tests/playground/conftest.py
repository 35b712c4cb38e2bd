"""A server with a small vocabulary, and a browser. Only tests that ask for them load what they need."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import copy_database

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from custext_sql.playground.serving import Address
    from tests.playground.browser import Visit

PUBLIC = (
    "the doctor said the family was well",
    "my mother called the hospital",
    "we saw a good film at home last night",
)


@pytest.fixture(scope="session")
def served_db(few_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of 3,000 words with mappings of K = 20 and K = 5, for tests that release nothing."""
    from custext_sql import build_mapping

    path = copy_database(few_template, tmp_path_factory.mktemp("served") / "served.duckdb")
    build_mapping(path, embedding="starter", k=5)
    return path


@pytest.fixture(scope="session")
def playground(served_db: Path) -> Iterator["Address"]:
    """Return where a server listens, for tests that release nothing."""
    from custext_sql.playground.serving import open_server

    with open_server(served_db, port=0) as (address, _):
        yield address


@pytest.fixture(scope="session")
def public_playground(served_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Address"]:
    """Return where a server listens whose attacker learned from public texts."""
    from custext_sql.playground.serving import open_server

    texts = tmp_path_factory.mktemp("public") / "public.txt"
    texts.write_text("\n".join(PUBLIC * 20), encoding="utf-8")
    with open_server(served_db, public=texts, port=0) as (address, _):
        yield address


@pytest.fixture
def releasing(few_db: Path) -> Iterator["Address"]:
    """Return where a server listens that a test may release from, into the ledger of `few_db`."""
    from custext_sql.playground.serving import open_server

    with open_server(few_db, port=0) as (address, _):
        yield address


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Browser"]:
    """Return a browser. It ends with the module, since tests of other modules may need an event loop of their own."""
    from tests.playground.browser import launch

    with launch(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browse(chromium: "Browser") -> Iterator[Callable[..., "Visit"]]:
    """Return a function that opens a browser window at a server; at the end, nothing may be wrong in any of them.

    Fixtures of servers must come before this one, because they end in reverse order.
    """
    from tests.playground.browser import Visit

    visits: list[Visit] = []

    def start(address: "Address", **options: Any) -> Visit:
        visits.append(Visit(chromium.new_context(**options), address))
        return visits[-1]

    yield start
    for visit in visits:
        visit.context.close()
    for visit in visits:
        visit.check()


@pytest.fixture(scope="module")
def shared_tab(chromium: "Browser", playground: "Address") -> "Visit":
    from tests.playground.browser import Visit

    return Visit(chromium.new_context(), playground)


@pytest.fixture
def tab(shared_tab: "Visit", playground: "Address") -> Iterator["Visit"]:
    """Return an empty tab. All tests of a module share it, since a new browser window takes a second."""
    shared_tab.arrive(playground)
    yield shared_tab
    shared_tab.leave()
    shared_tab.check()


@pytest.fixture
def visit(tab: "Visit") -> "Visit":
    """Return a person on the page."""
    tab.open()
    return tab
