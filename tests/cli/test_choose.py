"""The command choose, as a person types it, and the commands that it ends with."""

import json
import shlex
from pathlib import Path

import duckdb
import pytest

from custext_sql import build_mapping, list_mappings, use_mapping
from tests.cli.test_commands import run

TEXTS = ["Alice met the Bob, and Carol saw Dave.", "erin frank grace heidi", "ivan judy mallory niaj the olivia"]


@pytest.fixture
def db(mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database; the working directory has the same texts as a file and as a table."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("my shop.duckdb") as connection:
        connection.execute("CREATE TABLE notes AS SELECT unnest(?) AS body, 7 AS id", [TEXTS])
        connection.execute("COPY notes TO 'notes.csv'")
        connection.execute("CREATE VIEW notes_sanitized AS SELECT 1 AS one")
    return mapped_db


def read_commands(output: str) -> list[list[str]]:
    """Return the arguments of the commands at the end of the output, as a shell reads them."""
    block = output.split("\nRun:\n")[1].split("\n\nVerdict: ")[0]
    return [shlex.split(line) for line in block.replace("\\\n", "").strip().splitlines()]


@pytest.mark.parametrize("texts", [["notes.csv"], ["--data", "my shop.duckdb", "--table", "notes"]])
def test_the_commands_at_the_end_can_be_pasted(db: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 50)
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    build_mapping(db, embedding="small", k=5, grouping="refined", separate_stopwords=True, name="mine")
    use_mapping(db, name="mine")
    words = Path("words.txt")
    words.write_text("carol\n")
    more = ["--plus", "--unknown", "random", "--keep-words", "words.txt", "--calibration", "tight"]
    given = ["--db", str(db), "choose", *texts, "--column", "body", "--k", "6", "--max-attack", "0.99", *more]
    result = run(*given)
    assert result.exit_code == 0
    assert all(len(line) <= 80 for line in result.output.splitlines() if str(db) not in line)
    commands = read_commands(result.output)
    assert [command[3] for command in commands] == ["map", "sanitize", "report"]
    found = json.loads(run(*given, "--json").output)
    assert [shlex.split(one) for one in found["commands"]] == commands
    assert f"\nVerdict: {found['verdict']['color']}. " in result.output
    objections = [one["text"] for part in ("word", "row") for one in found["verdict"][part] if one["color"] == "red"]
    assert all(text in " ".join(result.output.split()) for text in objections)
    for program, *arguments in commands:
        assert program == "custext"
        done = run(*arguments)
        assert done.exit_code == 0, done.output
    [built] = [info for info in list_mappings(db)[0] if info.k == 6]
    assert (built.grouping, built.stopword_language) == ("refined", "english")
    ledger = json.loads(run("--db", db, "ledger", "--json").output)
    assert built.name in json.dumps(ledger)
    if texts[0] == "notes.csv":
        assert Path("notes.sanitized.csv").read_text().startswith("body,id\n")
    else:
        with duckdb.connect("my shop.duckdb") as connection:  # notes_sanitized was taken
            assert connection.execute("SELECT count(*), any_value(id) FROM notes_sanitized_2").fetchall() == [(3, 7)]
    assert Path("report.html").exists()
    again = run(*given)
    assert [command[3] for command in read_commands(again.output)] == ["sanitize", "report"]  # the mapping is stored
    assert "report-2.html" in again.output


def test_names_that_need_quotes_get_them(db: Path) -> None:
    odd = Path("it's mine; all.jsonl")
    odd.write_text("".join(json.dumps({"the text": text}) + "\n" for text in TEXTS))
    given = ["--db", str(db), "choose", str(odd), "--column", "the text", "--k", "4", "--max-attack", "0.99"]
    [sanitize, report] = read_commands(run(*given).output)
    assert sanitize[4:8] == [str(odd), "it's mine; all.sanitized.jsonl", "--column", "the text"]
    assert run(*sanitize[1:]).exit_code == 0
    assert report[4:7] == [str(odd), "--column", "the text"]


@pytest.mark.parametrize(
    ("input_", "output"),
    [("folder", "folder-sanitized.csv"), ("folder/*.csv", "sanitized.csv"), ("notes.csv.gz", "notes.sanitized.csv")],
)
def test_folders_and_patterns_become_one_file(db: Path, input_: str, output: str) -> None:
    Path("folder").mkdir()
    for place in ("folder/a.csv", "folder/b.csv"):
        Path(place).write_text(Path("notes.csv").read_text())
    with duckdb.connect() as connection:
        connection.execute("COPY (FROM 'notes.csv') TO 'notes.csv.gz'")
    result = run("--db", db, "choose", input_, "--column", "body", "--k", "4", "--max-attack", "0.99")
    [sanitize, _] = read_commands(result.output)
    assert sanitize[4:6] == [input_, output]
    assert run(*sanitize[1:]).exit_code == 0 and Path(output).exists()


def test_files_are_read_as_a_release_reads_them(db: Path) -> None:
    Path("sst.tsv").write_text('sentence\tlabel\n"alice never ends\t1\nbob met carol and dave\t0\nerin saw frank\t0\n')
    options = ("sst.tsv", "--column", "sentence", "--k", "8", "--max-attack", "0.99")
    refused = run("--db", db, "choose", *options)
    assert refused.exit_code == 1 and "add --no-quotes" in refused.output
    commands = read_commands(run("--db", db, "choose", *options, "--no-quotes").output)
    assert [("--no-quotes" in command) for command in commands] == [False, True, True]
    assert run(*commands[0][1:]).exit_code == run(*commands[1][1:]).exit_code == 0


def test_quoted_lines_are_measured_whole(db: Path) -> None:
    Path("lines.tsv").write_text('id\tbody\n1\t"alice met bob\nzorblax quux"\n2\tcarol saw dave\n')
    result = run("--db", db, "choose", "lines.tsv", "--column", "body", "--k", "4", "--max-attack", "0.99", "--json")
    texts = run("--db", db, "leaks", "lines.tsv", "--column", "body", "--json")
    assert json.loads(texts.output)["words"] == 8
    assert json.loads(result.output)["prior_words"] == 8


@pytest.mark.parametrize("name", ["a --column b.csv", "-x.csv", "o'neil.csv"])
def test_commands_for_odd_names_can_be_pasted(db: Path, name: str) -> None:
    Path(name).write_text("body\nalice met bob\ncarol saw dave\n")
    result = run("--db", db, "choose", f"./{name}", "--column", "body", "--k", "8", "--max-attack", "0.99")
    for command in read_commands(result.output):
        assert run(*command[1:]).exit_code == 0, command
    assert len(list(Path().glob("*.sanitized.csv"))) == 1


def test_several_k_are_compared_and_said_to_be_in_memory(db: Path) -> None:
    result = run("--db", db, "choose", "notes.csv", "--column", "body", "--k", "2,4,8", "--max-attack", "0.99")
    assert result.exit_code == 0
    flat = " ".join(result.output.split())
    assert "groups: greedy, of 16 words of small; 2 of 3 made in memory, not stored" in flat
    assert "small-euclidean-k8" in flat
    assert "Larger groups" in flat and "0.03 per doubling" in flat
    assert len(list_mappings(db)[0]) == 1


def test_without_a_k_within_the_bound_the_exit_code_is_1(db: Path) -> None:
    given = ["--db", str(db), "choose", "notes.csv", "--column", "body", "--k", "2,4"]
    result = run(*given, "--max-attack", "0.04", "--plus")
    assert result.exit_code == 1
    flat = " ".join(result.output.split())
    assert "No eps meets the bound: at K = 4, the attack guesses at least" in flat
    assert "Larger groups still help" in flat and "Try larger groups: --k 8,16" in flat
    assert "Replace stopwords too: leave out --plus." in flat
    assert "Run:" not in flat
    printed = run(*given, "--max-attack", "0.04", "--json")
    assert printed.exit_code == 1
    found = json.loads(printed.output)
    assert (found["chosen"], found["commands"], found["verdict"]) == (None, [], None)
    bound = flat.split("Or accept more: --max-attack ")[1].split()[0]
    assert float(bound) == pytest.approx(found["candidates"][1]["success_at_0"], abs=0.01)
    assert run(*given, "--max-attack", bound, "--plus").exit_code == 0
    default = run(*given)
    assert default.exit_code == 1 and "bound: at most 0.2 of the replaced words are guessed" in default.output


def test_without_texts_the_commands_have_placeholders(db: Path) -> None:
    Path("prior.csv").write_text("alice,10\nbob,9\ncarol,8\nerin,5\nfrank,5\ngrace,5\n")
    result = run("--db", db, "choose", "--prior", "prior.csv", "--k", "4", "--max-attack", "0.9")
    sanitize, report = read_commands(result.output)
    assert sanitize[4:6] == ["INPUT", "OUTPUT"]
    assert report[4] == "INPUT" and "--prior" in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "20,x"], "expected comma-separated whole numbers such as 20,40; found '20,x'"),
        (["--k", "1"], "--k (in Python: k) must be group sizes of at least 2, such as 20,40; found 1"),
        (["--k", "9999"], "must not exceed the number of words, 16; found 9,999"),
        (["--embedding", "smal"], "embedding 'smal' does not exist; did you mean 'small'?"),
        (["--mapping", "smal"], "mapping 'smal' does not exist"),
        (["--mapping", "small-euclidean-k4", "--embedding", "small"], "leave out --embedding"),
        (["--max-attack", "0"], "--max-attack (in Python: max_attack) must be above 0 and below 1; found 0"),
        (["--public", "notes.csv"], "add --attack context"),
    ],
)
def test_a_wrong_option_is_explained(db: Path, arguments: list[str], message: str) -> None:
    result = run("--db", db, "choose", "notes.csv", "--column", "body", *arguments)
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())


def test_an_empty_file_is_an_error(db: Path) -> None:
    Path("empty.txt").write_text("")
    result = run("--db", db, "choose", "empty.txt", "--k", "4")
    assert result.exit_code == 1 and result.output.startswith("Error: empty.txt")
