"""The command choose, the commands that it ends with, and what it and report say about earlier releases."""

import json
import shlex
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import build_mapping, list_mappings, read_ledger, use_mapping
from tests.cli.test_commands import fail, run

FIRST, SECOND = "small-euclidean-k4", "small-euclidean-k2"
TEXTS = ["Alice met the Bob, and Carol saw Dave.", "erin frank grace heidi", "ivan judy mallory niaj the olivia"]
LAX = ("--max-attack", "0.99")


@pytest.fixture
def db(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database; the working directory has the same texts as a file and as a table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 50)
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    with duckdb.connect("my shop.duckdb") as connection:
        connection.execute("CREATE TABLE notes AS SELECT unnest(?) AS body, 7 AS id", [TEXTS])
        connection.execute("COPY notes TO 'notes.csv'")
        connection.execute("CREATE VIEW notes_sanitized AS SELECT 1 AS one")
    Path("notes.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    return mapped_db


def read_commands(output: str) -> list[list[str]]:
    """Return the arguments of the commands at the end of the output, as a shell reads them."""
    block = output.split("\nRun:\n")[1].split("\n\nVerdict: ")[0]
    return [shlex.split(line)[1:] for line in block.replace("\\\n", "").strip().splitlines()]


def check(command: list[str]) -> None:
    done = run(*command)
    assert done.exit_code == 0, done.output


@pytest.mark.slow
@pytest.mark.parametrize("texts", [["notes.csv"], ["--data", "my shop.duckdb", "--table", "notes"]])
def test_the_commands_at_the_end_can_be_pasted(db: Path, texts: list[str]) -> None:
    build_mapping(db, embedding="small", k=5, grouping="refined", separate_stopwords=True, name="mine")
    use_mapping(db, name="mine")
    Path("words.txt").write_text("carol\n")
    more = ["--plus", "--unknown", "random", "--keep-words", "words.txt", "--calibration", "tight"]
    given = ["choose", *texts, "--column", "body", "--k", "6", *LAX, *more]
    result = run(*given)
    assert result.exit_code == 0
    assert all(len(line) <= 80 for line in result.output.splitlines())
    commands = read_commands(result.output)
    assert [command[0] for command in commands] == ["map", "sanitize", "report"]
    found = json.loads(run(*given, "--json").output)
    assert [shlex.split(one)[1:] for one in found["commands"]] == commands
    assert f"\nVerdict: {found['verdict']['color']}. " in result.output
    objections = [one["text"] for part in ("word", "row") for one in found["verdict"][part] if one["color"] == "red"]
    assert all(text in " ".join(result.output.split()) for text in objections)
    for command in commands:
        check(command)
    [built] = [info for info in list_mappings(db)[0] if info.k == 6]
    assert (built.grouping, built.stopword_language) == ("refined", "english")
    assert read_ledger(db).releases[-1].mapping == built.name
    if texts[0] == "notes.csv":
        assert Path("notes.sanitized.csv").read_text().startswith("body,id\n")
    else:
        with duckdb.connect("my shop.duckdb") as connection:  # notes_sanitized was taken
            assert connection.execute("SELECT count(*), any_value(id) FROM notes_sanitized_2").fetchall() == [(3, 7)]
    again = run(*given)
    assert [command[0] for command in read_commands(again.output)] == ["sanitize", "report"]  # the mapping is stored
    assert Path("report.html").exists() and "report-2.html" in again.output


def test_commands_for_odd_names_can_be_pasted(db: Path) -> None:
    Path("-it's mine; a --column b.csv").write_text("the text\nalice met bob\ncarol saw dave\n")
    result = run("choose", "./-it's mine; a --column b.csv", "--column", "the text", "--k", "4", *LAX)
    for command in read_commands(result.output):
        check(command)
    assert len(list(Path().glob("*.sanitized.csv"))) == 1


@pytest.mark.slow
def test_folders_and_patterns_become_one_file(db: Path) -> None:
    Path("folder").mkdir()
    for place in ("folder/a.csv", "folder/b.csv"):
        Path(place).write_text(Path("notes.csv").read_text())
    with duckdb.connect() as connection:
        connection.execute("COPY (FROM 'notes.csv') TO 'notes.csv.gz'")
    outputs = {"folder": "folder-sanitized.csv", "folder/*.csv": "sanitized.csv", "notes.csv.gz": "notes.sanitized.csv"}
    for name, output in outputs.items():
        [sanitize, _] = read_commands(run("choose", name, "--column", "body", "--k", "4", *LAX).output)
        assert sanitize[1:3] == [name, output]
        check(sanitize)
        assert Path(output).exists()


def test_files_are_read_as_a_release_reads_them(db: Path) -> None:
    Path("sst.tsv").write_text('sentence\tlabel\n"alice never ends\t1\nbob met carol and dave\t0\nerin saw frank\t0\n')
    options = ("choose", "sst.tsv", "--column", "sentence", "--k", "4", *LAX)
    assert "add --no-quotes" in fail(*options)
    [sanitize, report] = read_commands(run(*options, "--no-quotes").output)
    assert "--no-quotes" in sanitize and "--no-quotes" in report
    check(sanitize)
    Path("lines.tsv").write_text('id\tbody\n1\t"alice met bob\nzorblax quux"\n2\tcarol saw dave\n')
    result = run("choose", "lines.tsv", "--column", "body", "--k", "4", *LAX, "--json")
    assert json.loads(result.output)["prior_words"] == 8


def test_several_k_are_compared_and_said_to_be_in_memory(db: Path) -> None:
    flat = " ".join(run("choose", "notes.csv", "--column", "body", "--k", "2,4,8", *LAX).output.split())
    assert "groups: greedy, of 16 words of small; 2 of 3 made in memory, not stored" in flat
    assert "small-euclidean-k8" in flat
    assert "Larger groups" in flat and "0.03 per doubling" in flat
    assert len(list_mappings(db)[0]) == 1


def test_without_a_k_within_the_bound_the_exit_code_is_1(db: Path) -> None:
    given = ["choose", "notes.csv", "--column", "body", "--k", "2,4", "--plus"]
    flat = fail(*given, "--max-attack", "0.04")
    assert "No eps meets the bound: at K = 4, the attack guesses at least" in flat
    assert "Larger groups still help" in flat and "Try larger groups: --k 8,16" in flat
    assert "Replace stopwords too: leave out --plus." in flat
    assert "Run:" not in flat
    printed = run(*given, "--max-attack", "0.04", "--json")
    found = json.loads(printed.output)
    assert (printed.exit_code, found["chosen"], found["commands"], found["verdict"]) == (1, None, [], None)
    bound = flat.split("Or accept more: --max-attack ")[1].split()[0]
    assert float(bound) == pytest.approx(found["candidates"][1]["success_at_0"], abs=0.01)


@pytest.mark.slow
def test_without_texts_the_commands_have_placeholders(db: Path) -> None:
    Path("prior.csv").write_text("alice,10\nbob,9\ncarol,8\nerin,5\nfrank,5\ngrace,5\n")
    sanitize, report = read_commands(run("choose", "--prior", "prior.csv", "--k", "4", "--max-attack", "0.9").output)
    assert sanitize[1:3] == ["INPUT", "OUTPUT"]
    assert report[1] == "INPUT" and "--prior" in report


@pytest.mark.slow
def test_the_context_attack_is_bounded_and_eps_0_is_explained(few_db: Path, tmp_path: Path) -> None:
    texts = [
        "the doctor said the nurse was late",
        "I love this music and that, which was fine",
        "THE doctor was  late.",
    ]
    (tmp_path / "data.txt").write_text("\n".join(texts))
    (tmp_path / "public.txt").write_text("the doctor was late\nthe music was great and the doctor was kind\n" * 4)
    context = ["--public", str(tmp_path / "public.txt"), "--attack", "context"]
    usual = ["--db", str(few_db), "choose", str(tmp_path / "data.txt"), "--k", "20", "--max-attack"]
    flat = " ".join(run(*usual, "0.95", *context).output.replace("\\", "").split())
    assert "attack: the best guess from the whole text, by someone who learned from public.txt" in flat
    assert "bound: at most 0.95 of the replaced words are guessed" in flat
    assert f"custext --db {few_db} sanitize" in flat and f"--public {context[1]} --html report.html" in flat
    assert "the attack guesses at least" in fail(*usual, "0.001", *context)
    flat = " ".join(run(*usual, "0.9").output.replace("\\", "").split())
    assert "--eps 0 --mapping starter-euclidean-k20" in flat
    assert "at eps = 0, the output depends on replaced words only through their groups" in flat


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "20,x"], "expected comma-separated whole numbers such as 20,40; found '20,x'"),
        (["--k", "1"], "--k (in Python: k) must be group sizes of at least 2, such as 20,40; found 1"),
        (["--k", "9999"], "must not exceed the number of words, 16; found 9,999"),
        (["--embedding", "smal"], "embedding 'smal' does not exist; did you mean 'small'?"),
        (["--mapping", "smal"], "mapping 'smal' does not exist"),
        (["--mapping", FIRST, "--embedding", "small"], "leave out --embedding"),
        (["--max-attack", "0"], "--max-attack (in Python: max_attack) must be above 0 and below 1; found 0"),
        (["--public", "notes.csv"], "add --attack context"),
        (["--attack", "context", "--max-attack", "0.5"], "choose INPUT --public FILE"),
        (["--dataset", " "], "Error: the dataset name must not be empty"),
    ],
)
def test_a_wrong_option_is_explained(db: Path, arguments: list[str], message: str) -> None:
    assert message in fail("choose", "notes.csv", "--column", "body", *arguments)


def test_texts_that_cannot_be_read_are_errors(db: Path) -> None:
    Path("empty.txt").write_text("")
    assert fail("choose", "empty.txt", "--k", "4").startswith("Error: empty.txt")
    assert "nothing.csv does not exist" in fail("choose", "nothing.csv", "--column", "x")
    assert "report INPUT ... (in Python: data=...)" in fail("report", "--json", "--public", "notes.txt")
    assert "the dataset name must not be empty" in fail("report", "notes.txt", "--dataset", " ")


# Texts that were released before


@pytest.fixture
def two(db: Path) -> Path:
    """Return a database of two mappings."""
    build_mapping(db, embedding="small", k=2, name=SECOND)
    return db


def release(mapping: str, *more: str) -> None:
    check(["sanitize", "notes.txt", "out.txt", "--eps", "0", "--mapping", mapping, "--force", *more])


def report(*more: str) -> dict[str, Any]:
    """Return the last sentence of a report on the dataset."""
    done = run("report", "notes.txt", "--eps", "0", "--word", "alice", "--json", *more)
    assert done.exit_code == 0, done.output
    sentence: dict[str, Any] = json.loads(done.output)["verdict"]["dataset"][-1]
    return sentence


def choose(*more: str) -> tuple[dict[str, Any], int, str]:
    """Return what choose found, its exit code, and what it prints, on one line."""
    given = ("choose", "notes.txt", *more)
    done = run(*given, "--json")
    return json.loads(done.output), done.exit_code, " ".join(run(*given).output.split())


def test_report_is_red_where_sanitize_refuses_a_second_mapping(two: Path) -> None:
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


def test_choose_keeps_the_mapping_of_earlier_releases(two: Path) -> None:
    release(SECOND)
    both = ("--mapping", FIRST, "--mapping", SECOND)
    found, code, text = choose(*both, *LAX)
    assert (found["chosen"]["mapping"], found["released_under"], code) == (SECOND, SECOND, 0)
    assert f"so custext sanitize refuses it. So the suggestion keeps {SECOND}." in text
    check(shlex.split(found["commands"][0])[1:])


@pytest.mark.slow
def test_choose_says_if_the_mapping_of_earlier_releases_exceeds_the_bound(two: Path) -> None:
    release(SECOND)
    both = ("--mapping", FIRST, "--mapping", SECOND)
    shares = {one["mapping"]: one["success_at_0"] for one in choose(*both, *LAX)[0]["candidates"]}
    found, code, text = choose(*both, "--max-attack", str((shares[FIRST] + shares[SECOND]) / 2))
    assert (found["chosen"]["mapping"], found["commands"], code) == (FIRST, [], 1)
    assert f"No eps of {SECOND} meets the bound; to accept more: --max-attack " in text


@pytest.mark.slow
def test_choose_has_no_command_that_sanitize_refuses(two: Path) -> None:
    release(FIRST, "--dataset", "my notes")
    found, code, _ = choose("--mapping", SECOND, *LAX)
    assert (found["released_under"], code) == (None, 0)
    mine = (*LAX, "--dataset", "My Notes")
    found, code, text = choose("--mapping", SECOND, *mine)
    assert (found["chosen"]["refused"], found["released_under"], found["commands"], code) == (True, FIRST, [], 1)
    assert found["verdict"]["dataset"][-1]["color"] == "red"
    assert "Run:" not in text and "So this suggestion cannot be released." in text
    assert f"{FIRST} is not among the mappings compared here; to find an eps for it: --mapping {FIRST}" in text
    found, code, _ = choose("--k", "8", *mine)  # in memory
    assert (found["commands"], code) == ([], 1)
    found, _, _ = choose("--mapping", FIRST, *LAX, "--dataset", "my notes")
    for command in map(shlex.split, found["commands"]):
        assert command[command.index("--dataset") + 1] == "my notes"
        check(command[1:])
    assert [one.dataset for one in read_ledger(two).releases] == ["my notes", "my notes"]


@pytest.mark.slow
def test_a_part_that_knows_another_mapping_only_is_enough_to_refuse(two: Path) -> None:
    """One file was released under each mapping; both together have a second one, whichever is taken."""
    for name, mapping in (("a.txt", FIRST), ("b.txt", SECOND)):
        Path(name).write_text("".join(f"{text}\n" for text in TEXTS))
        check(["sanitize", name, f"out-{name}", "--eps", "0", "--mapping", mapping])
    for mapping, other in ((FIRST, SECOND), (SECOND, FIRST)):
        refused = fail("sanitize", "[ab].txt", "both.txt", "--eps", "0", "--mapping", mapping)
        assert f"was released before under mapping {other}." in refused
    check(["sanitize", "b.txt", "b2.txt", "--eps", "0", "--mapping", SECOND])
    done = run("choose", "[ab].txt", *LAX, "--json")
    assert (done.exit_code, json.loads(done.output)["commands"]) == (1, [])
