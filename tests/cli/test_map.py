"""The options of `custext map`."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run


def test_refined_groups_have_a_name_of_their_own(few_db: Path) -> None:
    mapped = run("--db", few_db, "map", "--embedding", "starter", "--k", "20", "--grouping", "refined")
    assert mapped.exit_code == 0
    assert mapped.output.startswith("starter-euclidean-k20-refined: ")
    again = run("--db", few_db, "map", "--embedding", "starter", "--k", "20", "--grouping", "refined")
    assert "(already built)" in again.output
    greedy, refined = json.loads(run("--db", few_db, "info", "--json").output)["mappings"]
    assert (greedy["grouping"], refined["grouping"]) == ("greedy", "refined")
    assert (greedy["words"], greedy["group_count"]) == (refined["words"], refined["group_count"])
    assert greedy["fingerprint"] != refined["fingerprint"]


def test_mappings_that_differ_in_an_option_do_not_collide(loaded_db: Path) -> None:
    usual = ["--embedding", "small", "--k", "3"]
    options: list[list[str]] = [
        [],
        ["--grouping", "refined"],
        ["--normalization", "word"],
        ["--limit", "9"],
        ["--order", "random", "--seed", "4"],
    ]
    for more in (*options, []):
        mapped = run("--db", loaded_db, "map", *usual, *more)
        assert mapped.exit_code == 0
    assert "small-euclidean-k3: " in mapped.output and "(already built)" in mapped.output
    names = [one["name"] for one in json.loads(run("--db", loaded_db, "info", "--json").output)["mappings"]]
    assert len(set(names)) == len(options)


def test_a_usual_name_that_another_mapping_has_is_left_alone(loaded_db: Path) -> None:
    limited = ["--embedding", "small", "--k", "3", "--limit", "9", "--name", "small-euclidean-k3"]
    before = json.loads(run("--db", loaded_db, "map", *limited, "--json").output)["info"]
    for _ in range(2):
        mapped = json.loads(run("--db", loaded_db, "map", "--embedding", "small", "--k", "3", "--json").output)
        assert (mapped["info"]["name"], mapped["info"]["words"]) == ("small-euclidean-k3-all", 16)
    assert mapped["already_there"]
    same = json.loads(run("--db", loaded_db, "map", *limited[:6], "--json").output)
    assert (same["info"]["name"], same["already_there"]) == ("small-euclidean-k3-first9", False)
    assert json.loads(run("--db", loaded_db, "info", "--json").output)["mappings"][0] == before
    replaced = run("--db", loaded_db, "map", "--embedding", "small", "--k", "3", "--replace", "--json")
    assert json.loads(replaced.output)["info"]["name"] == "small-euclidean-k3"


@pytest.mark.parametrize("options", [["--measure", "cosine"], ["--order", "random", "--seed", "4"]])
def test_refined_groups_go_with_the_other_options(few_db: Path, options: list[str]) -> None:
    arguments = ["--embedding", "starter", "--k", "30", "--grouping", "refined", "--separate-stopwords", *options]
    mapped = json.loads(run("--db", few_db, "map", *arguments, "--name", "mine", "--json").output)
    assert (mapped["info"]["grouping"], mapped["info"]["stopword_language"]) == ("refined", "english")
    assert run("--db", few_db, "audit", "--mapping", "mine", "--eps", "1").exit_code == 0


def test_a_limit_uses_the_first_entries(loaded_db: Path) -> None:
    mapped = json.loads(
        run("--db", loaded_db, "map", "--embedding", "small", "--k", "3", "--limit", "9", "--json").output
    )
    assert (mapped["info"]["words"], mapped["info"]["word_limit"]) == (9, 9)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--grouping", "refind", "'refind' is not one of 'greedy', 'refined'"),
        ("--limit", "1", "1 is not in the range x>=2"),
        ("--limit", "few", "'few' is not a valid integer"),
    ],
)
def test_a_typo_is_explained(loaded_db: Path, option: str, value: str, message: str) -> None:
    result = run("--db", loaded_db, "map", "--embedding", "small", "--k", "3", option, value)
    assert result.exit_code == 2
    assert message in result.output
