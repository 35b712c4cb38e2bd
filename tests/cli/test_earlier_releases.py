"""What report and choose say, and which commands choose ends with, for texts that were released before."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from custext_sql import build_mapping, read_ledger
from tests.cli.test_commands import run

FIRST, SECOND = "small-euclidean-k4", "small-euclidean-k2"
TEXTS = ("Alice met the Bob, and Carol saw Dave.", "erin frank grace heidi", "ivan judy mallory niaj the olivia")


@pytest.fixture
def db(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database of two mappings; the working directory has texts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 50)
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    build_mapping(mapped_db, embedding="small", k=2, name=SECOND)
    Path("notes.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    return mapped_db


def release(mapping: str, *more: str) -> None:
    done = run("sanitize", "notes.txt", "out.txt", "--eps", "0", "--mapping", mapping, "--force", *more)
    assert done.exit_code == 0, done.output


def report(*more: str) -> dict[str, Any]:
    """Return the last sentence of a report on the dataset."""
    done = run("report", "notes.txt", "--eps", "0", "--word", "alice", "--json", *more)
    assert done.exit_code == 0, done.output
    sentence: dict[str, Any] = json.loads(done.output)["verdict"]["dataset"][-1]
    return sentence


def choose(*more: str) -> tuple[dict[str, Any], int, str]:
    """Return what choose found, its exit code, and what it printed."""
    given = ("choose", "notes.txt", *more)
    printed = run(*given)
    return json.loads(run(*given, "--json").output), printed.exit_code, " ".join(printed.output.split())


def test_report_is_red_where_sanitize_refuses_a_second_mapping(db: Path) -> None:
    release(FIRST)
    refused = run("sanitize", "notes.txt", "2.txt", "--eps", "0", "--mapping", SECOND)
    assert refused.exit_code == 1
    found = report("--mapping", SECOND)
    least, median = (int(found["numbers"][name]) for name in ("least_left", "median_left"))
    left = f"as few as {least} candidate{'s' * (least > 1)}"
    assert f"{left} would remain for a word (median {median})" in refused.output
    assert found["color"] == "red"
    assert f"It used another mapping, {FIRST}," in found["text"] and f"{left} for a word" in found["text"]
    same = report("--mapping", FIRST)
    assert same["color"] == "amber" and "another mapping" not in same["text"]
    release(SECOND, "--second-mapping")  # from now on, both are known
    assert report("--mapping", SECOND)["color"] == "amber"


def test_choose_keeps_the_mapping_of_earlier_releases(db: Path) -> None:
    both = ("--mapping", FIRST, "--mapping", SECOND, "--max-attack", "0.99")
    free, _, _ = choose(*both)
    chosen = free["chosen"]["mapping"]
    used = SECOND if chosen == FIRST else FIRST
    assert free["released_under"] is None and not any(one["refused"] for one in free["candidates"])
    release(used)
    found, code, text = choose(*both)
    assert (found["chosen"]["mapping"], found["released_under"], code) == (used, used, 0)
    assert f"so custext sanitize refuses it. So the suggestion keeps {used}." in text
    [sanitize, _] = found["commands"]
    assert run(*shlex.split(sanitize)[1:]).exit_code == 0


def test_choose_has_no_command_that_sanitize_refuses(db: Path) -> None:
    release(FIRST)
    found, code, text = choose("--mapping", SECOND, "--max-attack", "0.99")
    assert (found["chosen"]["refused"], found["commands"], code) == (True, [], 1)
    assert "Run:" not in text and "So this suggestion cannot be released." in text
    assert f"{FIRST} is not among the mappings compared here; to find an eps for it: --mapping {FIRST}" in text
    assert found["verdict"]["dataset"][-1]["color"] == "red"
    in_memory, code, _ = choose("--k", "8", "--max-attack", "0.99")
    assert (in_memory["commands"], code) == ([], 1)
    assert in_memory["verdict"]["dataset"][-1]["numbers"]["least_left"] >= 1


def test_choose_says_if_the_mapping_of_earlier_releases_exceeds_the_bound(db: Path) -> None:
    release(SECOND)
    both = ("--mapping", FIRST, "--mapping", SECOND)
    shares = {one["mapping"]: one["success_at_0"] for one in choose(*both, "--max-attack", "0.99")[0]["candidates"]}
    between = (shares[FIRST] + shares[SECOND]) / 2
    found, code, text = choose(*both, "--max-attack", str(between))
    assert (found["chosen"]["mapping"], found["commands"], code) == (FIRST, [], 1)
    enough = text.split(f"No eps of {SECOND} meets the bound; to accept more: --max-attack ")[1].split()[0]
    found, code, _ = choose(*both, "--max-attack", enough)
    assert (found["chosen"]["mapping"], code) == (SECOND, 0)
    neither, code, text = choose(*both, "--max-attack", "0.01")
    assert (neither["chosen"], code) == (None, 1) and "so custext sanitize refuses it." in text


def test_releases_under_a_name_are_found_by_it(db: Path) -> None:
    release(FIRST, "--dataset", "my notes")
    assert "The ledger has no earlier release" in report()["text"]
    assert report("--dataset", "My Notes")["text"].startswith("The ledger has 1 earlier release of these texts,")
    assert report("--dataset", "my notes", "--mapping", SECOND)["color"] == "red"
    found, code, _ = choose("--mapping", SECOND, "--max-attack", "0.99", "--dataset", "my notes")
    assert (found["released_under"], found["commands"], code) == (FIRST, [], 1)
    found, code, _ = choose("--mapping", FIRST, "--max-attack", "0.99", "--dataset", "my notes")
    for command in map(shlex.split, found["commands"]):
        assert command[command.index("--dataset") + 1] == "my notes"
        assert run(*command[1:]).exit_code == 0, command
    assert [one.dataset for one in read_ledger(db).releases] == ["my notes", "my notes"]


@pytest.mark.parametrize("command", [["report", "notes.txt"], ["choose", "notes.txt", "--k", "4"]])
def test_an_empty_name_is_an_error(db: Path, command: list[str]) -> None:
    done = run(*command, "--dataset", " ")
    assert (done.exit_code, done.output) == (1, "Error: the dataset name must not be empty\n")


def test_a_part_that_knows_another_mapping_only_is_enough_to_refuse(db: Path) -> None:
    """One file was released under each mapping; both together have a second one, whichever is taken."""
    for name, mapping in (("a.txt", FIRST), ("b.txt", SECOND)):
        Path(name).write_text("".join(f"{text}\n" for text in TEXTS))
        assert run("sanitize", name, f"out-{name}", "--eps", "0", "--mapping", mapping).exit_code == 0
    for mapping, other in ((FIRST, SECOND), (SECOND, FIRST)):
        refused = run("sanitize", "[ab].txt", "both.txt", "--eps", "0", "--mapping", mapping)
        assert refused.exit_code == 1 and f"was released before under mapping {other}." in refused.output
    assert run("sanitize", "b.txt", "b2.txt", "--eps", "0", "--mapping", SECOND).exit_code == 0
    done = run("choose", "[ab].txt", "--max-attack", "0.99", "--json")
    assert done.exit_code == 1, done.output
    assert json.loads(done.output)["commands"] == []
