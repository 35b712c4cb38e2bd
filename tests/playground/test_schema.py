"""Requests that schemathesis makes up from the schema: whatever they ask for, the server answers as it says it does."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from custext_sql.playground.serving import Address, open_server
from tests.conftest import copy_database
from tests.playground.requesting import PATIENCE, TOKEN, connect, find_origin, read, upload

schemathesis: Any = pytest.importorskip("schemathesis", reason="needs schemathesis, which the extra test installs")
pytestmark = [pytest.mark.slow, pytest.mark.load]

ROUTES = [
    "DELETE /api/files/{file_id}",
    "GET /api/files/{file_id}/output",
    "GET /api/setup",
    "POST /api/attack",
    "POST /api/files",
    "POST /api/files/{file_id}/preview",
    "POST /api/files/{file_id}/release",
    "POST /api/inspect",
    "POST /api/sanitize",
    "POST /api/snippets",
    "POST /api/verdict",
]
ENDINGS = (".csv", ".txt", ".json", ".jsonl", ".tsv", ".parquet", ".csv.gz", ".txt.gz")
CHECKS = [
    getattr(schemathesis.checks, name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
]


@pytest.fixture(scope="module")
def address(mapped_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    database = copy_database(mapped_template, tmp_path_factory.mktemp("schema") / "schema.duckdb")
    with open_server(database, port=0) as (found, _):
        yield found


@pytest.fixture(scope="module")
def client(address: Address) -> Iterator[httpx.Client]:
    with connect(address) as opened:
        yield opened


@pytest.fixture(scope="module")
def api(address: Address) -> Any:
    return schemathesis.openapi.from_url(f"{find_origin(address)}/api/openapi.json", headers={TOKEN: address.token})


def name_what_is_there(case: Any, client: httpx.Client) -> None:
    """Put names into a request that the server knows; made up, they would all be refused."""
    if "file_id" in case.path_parameters:
        case.path_parameters["file_id"] = upload(client, "a.csv", b"id,body\n1,alice met bob\n")["id"]
    if "name" in case.query:
        name = str(case.query["name"])[:200]
        case.query["name"] = name + ENDINGS[len(name) % len(ENDINGS)]
    if isinstance(case.body, dict):
        known = {"word": "alice", "output": "Alice", "column": "body", "columns": ["body"]}
        case.body |= {name: value for name, value in known.items() if name in case.body}
        if isinstance(chosen := case.body.get("settings"), dict):
            chosen["mapping"] = None


@pytest.mark.parametrize(
    ("route", "mode"),
    [case for case in product(ROUTES, ["POSITIVE", "NEGATIVE"]) if case != ("GET /api/setup", "NEGATIVE")],
)
def test_no_request_fails_the_server(address: Address, client: httpx.Client, api: Any, route: str, mode: str) -> None:
    method, path = route.split(" ")

    @settings(
        max_examples=10 if "file_id" in path else 40,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(api[path][method].as_strategy(generation_mode=getattr(schemathesis.GenerationMode, mode)))
    def check(case: Any) -> None:
        if mode == "POSITIVE":
            name_what_is_there(case, client)
        response = case.call(headers={TOKEN: address.token}, timeout=PATIENCE)
        if response.status_code not in (404, 405):  # a path that leads elsewhere
            case.validate_response(response, checks=CHECKS)
        if response.status_code != 200:
            assert list(response.json()) == ["error"]

    check()


def test_the_schema_names_every_route(client: httpx.Client) -> None:
    paths = read(client.get("/api/openapi.json"))["paths"]
    assert sorted(f"{method.upper()} {path}" for path, methods in paths.items() for method in methods) == ROUTES
