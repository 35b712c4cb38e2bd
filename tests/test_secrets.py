"""No error quotes data: a secret, in many spellings, is put wherever data can be, and the output is searched for it.

Every case is a command or a call that must fail. The search covers its whole output, and the exception with its causes
and contexts, as Python would show them.
"""

import shlex
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from custext_sql import CusTextError, connect, make_key
from custext_sql.cli import main
from custext_sql.sql.query_errors import safe_errors
from tests.secret_calls import CALLS
from tests.secret_cases import COMMANDS, QUERIES, STREAMS
from tests.secret_places import SECRETS, Secret, lay_out


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case. raised: the traceback of any error but a CusTextError; no user should see one."""

    failed: bool
    printed: str
    raised: str = ""


def tell_everything(error: BaseException | None) -> str:
    """Return everything that Python would show of an exception and its causes and contexts."""
    told = []
    while error is not None:
        told += [str(error), repr(error), *getattr(error, "__notes__", ())]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(told)


def _replace(template: str, secret: Secret) -> str:
    for mark, text in {
        "STRING": secret.string,
        "IDENTIFIER": secret.identifier,
        "NEAR": secret.near,
        "FLAT": " ".join(secret.text.split()),
        "TEXT": secret.text,
    }.items():
        template = template.replace(mark, text)
    return template


def _run_command(folder: Path, arguments: list[str], input: bytes | None = None) -> Outcome:
    database = () if arguments[0] == "--db" else ("--db", str(folder / "custext.duckdb"))
    result = CliRunner().invoke(main, [*database, *arguments], input=input)
    raised = None if isinstance(result.exception, SystemExit) else result.exception
    return Outcome(result.exit_code != 0, result.output + tell_everything(raised), _trace(raised))


def _trace(error: BaseException | None) -> str:
    return "".join(traceback.format_exception(error)) if error is not None else ""


def _run_call(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except Exception as error:
        return Outcome(True, tell_everything(error), _trace(None if isinstance(error, CusTextError) else error))
    return Outcome(False, "")


def _run_query(connection: duckdb.DuckDBPyConnection, query: str, told: str | None) -> None:
    with safe_errors(told):
        connection.execute(query).fetchall()


def _run_all(folder: Path, secret: Secret, number: int) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcomes of the cases in a folder: of all fast ones, and of slow ones only with some secrets."""
    for place, command in enumerate(COMMANDS):
        if (place + number) % 6 == 0:
            yield command, _run_command(folder, [_replace(part, secret) for part in shlex.split(command)])
    for place, (command, make_input) in enumerate(STREAMS.items()):
        if (place + number) % 2 == 0:
            arguments = [_replace(part, secret) for part in shlex.split(command)]
            yield command, _run_command(folder, arguments, make_input(secret.text.encode()))
    for place, query in enumerate(QUERIES):
        if (place + number) % len(SECRETS) == 0:
            more = ((), ("--json",), ("--output", "out.parquet"))[place % 3]
            arguments = ["sql", _replace(query, secret), "--data", "shop.duckdb", "--allow-raw", *more]
            yield f"sql {query}", _run_command(folder, arguments)
    with connect(folder / "custext.duckdb") as connection:
        connection.execute("ATTACH 'shop.duckdb' AS shop (READ_ONLY); USE shop")
        for query in QUERIES:
            written = _replace(query, secret)
            yield f"safe_errors(query): {query}", _run_call(partial(_run_query, connection, written, written))
            yield f"safe_errors(): {query}", _run_call(partial(_run_query, connection, written, None))
    for place, (name, call) in enumerate(CALLS.items()):
        if (place + number) % 4 == 0:
            yield f"call: {name}", _run_call(partial(call, folder, secret.text))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "like a message" else pytest.mark.slow) for name in SECRETS]
)
def test_every_case_fails_and_no_message_quotes_data(
    mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A case that does not fail proves nothing, and a traceback is not a message."""
    make_key(tmp_path / "good.key", mapped_db)
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, SECRETS[name])
    outcomes = dict(_run_all(tmp_path, SECRETS[name], list(SECRETS).index(name)))
    assert not {case: one.printed for case, one in outcomes.items() if SECRETS[name].is_in(one.printed)}
    assert [case for case, one in outcomes.items() if not one.failed] == []
    assert not {case: one.raised for case, one in outcomes.items() if one.raised}
    assert not [case for case, one in outcomes.items() if "Traceback" in one.printed]
    assert sum(one.failed for one in outcomes.values()) >= 150


def test_the_search_finds_tails_and_what_is_behind_an_error() -> None:
    """The search finds the end of a secret in a message, a cause or a context, but not in a suppressed context."""
    secret = SECRETS["apostrophe"]
    assert secret.is_in("near s KVORXIM") and secret.is_in("...plofzz") and not secret.is_in(secret.near)
    for chain, expected in ((True, True), (False, False)):
        try:
            try:
                raise ValueError(secret.text)
            except ValueError as error:
                if chain:
                    raise RuntimeError("x") from error
                raise RuntimeError("x") from None
        except RuntimeError as error:
            assert secret.is_in(tell_everything(error)) is expected
