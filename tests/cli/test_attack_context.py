"""The command attack context, and choose with its attack, as a person types them."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run

PUBLIC = ["The doctor was late.", "she said the nurse was fine", "the music was great and the doctor was kind"] * 4
TEXTS = ["the doctor said the nurse was late", "I love this music and that, which was fine", "THE doctor was  late. "]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Return options that name public texts and texts to attack. One text is in both."""
    (tmp_path / "public.txt").write_text("\n".join(PUBLIC))
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    return ["--public", str(tmp_path / "public.txt"), str(tmp_path / "data.jsonl"), "--column", "body"]


def test_context_prints_a_table_with_the_success_at_eps_0(few_db: Path, files: list[str]) -> None:
    result = run("--db", few_db, "attack", "context", *files)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "starter-euclidean-k20, K = 20, calibration paper, policy paper"
    assert lines[1].startswith("attacked: data.jsonl, 3 texts, ") and lines[1].endswith(" replaced words")
    assert lines[2] == "learned from: public.txt, 8 texts; left out because they are in both: 4"
    assert [line.split()[0] for line in lines[4:9]] == ["eps", "0", "1", "2", "3"]
    at_0 = lines[5].split()[1]
    assert lines[-1] == f"At eps = 0: {at_0} of the replaced words"
    assert max(map(len, lines)) <= 80
    assert not any(word in result.output for word in ("doctor", "nurse", "music"))


def test_context_gives_json(few_db: Path, files: list[str]) -> None:
    result = run("--db", few_db, "attack", "context", *files, "--eps", "1", "--rows", "2", "--plus", "--json")
    found = json.loads(result.output)
    assert (found["texts"], found["left_out"], found["plus"]) == (2, 0, True)
    [one] = found["results"]
    assert one["eps"] == 1.0 and 0.0 <= one["success"] <= 1.0


@pytest.mark.slow
def test_choose_bounds_the_context_attack(few_db: Path, files: list[str]) -> None:
    usual = ["--db", str(few_db), "choose", *files, "--attack", "context", "--k", "20"]
    result = run(*usual, "--max-attack", "0.95")
    assert result.exit_code == 0
    flat = " ".join(result.output.replace("\\", "").split())
    assert "attack: the best guess from the whole text, by someone who learned from public.txt" in flat
    assert "(without 4 texts of yours)" in flat
    assert "bound: at most 0.95 of the replaced words are guessed" in flat
    assert f"custext --db {few_db} sanitize" in flat and f"--public {files[1]} --html report.html" in flat
    none = run(*usual, "--max-attack", "0.001")
    assert none.exit_code == 1
    assert "the attack guesses at least" in " ".join(none.output.split())


def test_choose_states_what_eps_0_guarantees(few_db: Path, files: list[str]) -> None:
    result = run("--db", few_db, "choose", *files[2:], "--k", "20", "--max-attack", "0.9")
    assert result.exit_code == 0
    flat = " ".join(result.output.replace("\\", "").split())
    assert "--eps 0 --mapping starter-euclidean-k20" in flat
    assert "at eps = 0, the output depends on replaced words only through their groups" in flat


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attack", "context", "--public", "nothing.txt", "DATA"], "nothing.txt"),
        (["attack", "context", "--public", "SAME", "DATA"], "all are also among the attacked texts"),
        (["attack", "context", "--public", "PUBLIC", "DATA", "--public-column", "x"], "leave out --public-column"),
        (["attack", "context", "DATA"], "--public"),
        (["choose", "DATA", "--attack", "context", "--max-attack", "0.5"], "choose INPUT --public FILE"),
        (["report", "--json", "--public", "PUBLIC"], "report INPUT ... (in Python: data=...)"),
    ],
)
def test_wrong_options_are_errors(few_db: Path, files: list[str], arguments: list[str], message: str) -> None:
    data = files[2:]
    named = {"PUBLIC": [files[1]], "DATA": data, "SAME": [data[0]]}
    written = [part for one in arguments for part in named.get(one, [one])]
    result = run("--db", few_db, *written)
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())
