"""The commands load, map, inspect, info, use, drop and upgrade, and the help of all commands."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql.cli import main
from custext_sql.ledger import schema
from custext_sql.store.schema import REVISIONS
from custext_sql.vectors.opening import VECTOR_FORMATS
from tests.processes import start
from tests.vector_samples import zipped


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fail(*arguments: str | Path) -> str:
    """Return what a command that fails prints, on one line."""
    result = run(*arguments)
    assert result.exit_code in (1, 2), result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


@pytest.fixture
def db(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the database that commands use, with the mapping `small-euclidean-k4`."""
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    return mapped_db


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, command in main.commands.items():
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {inner}", leaf) for inner, leaf in command.commands.items()]
    return found


def build(*options: str) -> bool:
    """Return whether a mapping of the embedding `small` was there already."""
    result = run("map", "--embedding", "small", *options, "--json")
    assert result.exit_code == 0, result.output
    return bool(json.loads(result.output)["already_there"])


def test_load_map_inspect(db_path: Path, glove_file: Path) -> None:
    loaded = run("--db", db_path, "load", glove_file, "--name", "small")
    assert loaded.exit_code == 0
    assert loaded.output.startswith("small: 16 words of 5 dimensions from small.txt (glove), in ")
    assert f"Next: custext --db {db_path} map --embedding small --k 16" in loaded.output
    copied = glove_file.with_name("my vectors.5d.txt")
    copied.write_bytes(glove_file.read_bytes())
    assert run("--db", db_path, "load", copied).output.startswith("my-vectors.5d: 16 words of 5 dimensions from ")
    assert "'my-vectors.5d' already exists" in fail("--db", db_path, "load", copied)
    mapped = run("--db", db_path, "map", "--embedding", "small", "--k", "4")
    assert mapped.output.startswith("small-euclidean-k4: 16 words in 4 groups of 4, in ")
    inspected = run("--db", db_path, "inspect", "Bob", "--eps", "2").output.splitlines()
    assert inspected[0] == "bob in small-euclidean-k4, eps = 2"
    assert len(inspected) == 7 and inspected[3].startswith("bob") and "█" * 24 in inspected[3]
    found = json.loads(run("--db", db_path, "inspect", "bob", "--eps", "2", "--json").output)
    assert (found["word"], found["mapping"], found["eps"]) == ("bob", "small-euclidean-k4", 2.0)
    assert list(found["group"][0]) == ["output", "score", "probability"]
    shares = [outcome["probability"] for outcome in found["group"]]
    assert sum(shares) == pytest.approx(1.0) and shares == sorted(shares, reverse=True)


def test_info_shows_what_there_is(db: Path) -> None:
    text = run("info").output
    for part in (str(db), "MB", "small.txt", "small-euclidean-k4", "default", "english", "179"):
        assert part in text
    found = json.loads(run("info", "--json").output)
    assert (found["default_mapping"], found["bytes"]) == ("small-euclidean-k4", db.stat().st_size)
    assert [embedding["name"] for embedding in found["embeddings"]] == ["small"]
    assert len(found["mappings"][0]["fingerprint"]) == 64


def test_use_and_drop(db: Path) -> None:
    for k in ("2", "3"):
        build("--k", k, "--measure", "cosine", "--normalization", "word")
    name, other = "small-cosine-k2-by-word", "small-cosine-k3-by-word"
    assert run("use", name).output == f"{name} is now the default mapping\n"
    assert f"in {name}" in run("inspect", "bob").output
    assert json.loads(run("use", name, "--json").output) == {"default_mapping": name}
    assert run("drop", "mapping", name).output == f"dropped mapping {name}\n"
    assert json.loads(run("drop", "mapping", other, "--json").output) == {"dropped": "mapping", "name": other}
    assert json.loads(run("drop", "embedding", "small", "--json").output) == {"dropped": "embedding", "name": "small"}
    assert "no embeddings; load one with" in run("info").output
    assert fail("inspect", "bob") == (
        "Error: there is no default mapping; choose one with: custext use NAME (mappings: small-euclidean-k4)"
    )


def test_upgrade_of_a_current_database_says_so(db: Path) -> None:
    newest = {"database": REVISIONS[-1], "ledger": schema.REVISIONS[-1]}
    assert run("upgrade").output == "".join(f"{what}: already at revision {one}\n" for what, one in newest.items())
    upgraded = {what: {"before": one, "after": one} for what, one in newest.items()}
    assert json.loads(run("upgrade", "--json").output) == upgraded


@pytest.mark.slow
def test_load_starter_brings_its_mapping(db_path: Path, few_shipped: None) -> None:
    assert run("--db", db_path, "load", "starter").exit_code == 0
    assert json.loads(run("--db", db_path, "info", "--json").output)["default_mapping"] == "starter"
    recipe = ["--embedding", "starter", "--k", "20", "--limit", "500", "--name", "starter-euclidean-k20"]
    assert "(already built)" in run("--db", db_path, "map", *recipe).output
    assert run("--db", db_path, "load", "starter").output == "starter: already loaded, with its mappings\n"
    assert run("--db", db_path, "load", "starter", "--json").output == "null\n"
    refused = fail("--db", db_path, "load", "starter", "--member", "x")
    assert "--format and --member apply to files only" in refused
    few = run("--db", db_path, "load", "starter", "--name", "few", "--limit", "3")
    assert "map --embedding few --k 3" in few.output


def test_load_takes_a_member_a_limit_and_a_vocabulary(db_path: Path, glove_file: Path, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "two.zip", {"a.txt": b"x 1\n", "b.txt": glove_file.read_bytes()})
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("bob\njudy\nzoe\nerin\n")
    result = run(
        *("--db", db_path, "load", archive, "--name", "some", "--member", "b.txt"),
        *("--vocab", vocabulary, "--limit", "2", "--format", "glove"),
    )
    assert "some: 2 words of 5 dimensions from two.zip/b.txt" in result.output
    assert "3 entries skipped (not in the vocabulary)\n" in result.output
    assert "not found" not in result.output  # the limit was reached before the end of the file


def test_mappings_that_differ_in_an_option_do_not_collide(db: Path) -> None:
    options: list[list[str]] = [
        [],
        ["--grouping", "refined"],
        ["--normalization", "word"],
        ["--limit", "9"],
        ["--order", "random", "--seed", "4"],
        ["--grouping", "refined", "--measure", "cosine", "--separate-stopwords"],
    ]
    for more in options:
        assert not build("--k", "3", *more)
    assert build("--k", "3")
    found = json.loads(run("info", "--json").output)["mappings"][1:]
    assert len({one["name"] for one in found}) == len({one["fingerprint"] for one in found}) == len(options)
    by_name = {one["name"]: one for one in found}
    assert by_name["small-euclidean-k3-refined"]["grouping"] == "refined"
    assert (by_name["small-euclidean-k3-first9"]["words"], by_name["small-euclidean-k3-first9"]["word_limit"]) == (9, 9)
    assert by_name["small-cosine-k3-refined-apart"]["stopword_language"] == "english"
    assert run("audit", "--mapping", "small-cosine-k3-refined-apart", "--eps", "1").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lod", "x"], "No such command 'lod'. Did you mean 'load'?"),
        (["load", "x", "--nmae", "y"], "Did you mean"),
        (["load", "x.txt"], "x.txt does not exist; expected a vector file"),
        (["load", "..txt"], "no name that an embedding could have; use --name NAME (in Python: name=...)"),
        (["load", "missing.txt", "--name", "x"], "missing.txt does not exist"),
        (["map", "--embedding", "smal"], "did you mean 'small'?"),
        (["map", "--embedding", "small", "--k", "99"], "must not exceed the number of words, 16; found 99"),
        (["map", "--embedding", "small", "--order", "random"], "needs a seed"),
        (["map", "--embedding", "small", "--language", "german"], "--language requires --separate-stopwords"),
        (["map", "--embedding", "small", "--grouping", "refind"], "'refind' is not one of 'greedy', 'refined'"),
        (["map", "--embedding", "small", "--limit", "1"], "1 is not in the range x>=2"),
        (["inspect", "bobb"], "did you mean 'bob'?"),
        (["inspect", "bob", "--eps", "0.0005"], "eps must be 0, or between 0.001 and 100; found 0.0005"),
        (["inspect", "bob", "--eps", "nan"], "found nan"),
        (["inspect", "bob", "--mapping", "none"], "mapping 'none' does not exist; mappings: small-euclidean-k4"),
        (["use", "none"], "mapping 'none' does not exist"),
        (["drop", "mapping", "none"], "mapping 'none' does not exist"),
        (["drop", "embedding", "none"], "embedding 'none' does not exist"),
    ],
)
def test_mistakes_are_explained(db: Path, arguments: list[str], message: str) -> None:
    assert message in fail(*arguments)


def test_a_database_that_is_not_there_is_an_error_and_stays_away(db_path: Path) -> None:
    for command in (["info"], ["inspect", "she"], ["use", "x"], ["map", "--embedding", "x"], ["upgrade"]):
        fail("--db", db_path, *command)
    assert list(db_path.parent.iterdir()) == []


def test_hints_name_the_database_that_was_named(loaded_db: Path) -> None:
    other = loaded_db.with_name("a b.duckdb")
    loaded_db.rename(other)
    quoted = f"custext --db '{other}'"
    assert f"build one with: {quoted} map" in fail("--db", other, "inspect", "bob")
    usual = ["--db", str(other), "map", "--embedding", "small", "--k", "4"]
    failed = fail(*usual, "--separate-stopwords", "--language", "german")
    assert f"run: {quoted} stopwords --language german" in failed
    assert f"Next: {quoted} inspect" in run(*usual).output


def test_the_name_of_the_tool_in_a_sentence_is_no_command(db_path: Path) -> None:
    with duckdb.connect(db_path) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    assert "is not a custext database: " in fail("--db", db_path, "info")


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_explains_itself(name: str, command: click.Command) -> None:
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    assert command.help and "Example" in result.output
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert all(option.help for option in options)
    assert isinstance(command, click.Group) or any("--json" in option.opts for option in options)


def test_formats_offered_are_those_there_are() -> None:
    [option] = [option for option in main.commands["load"].params if option.name == "format"]
    assert isinstance(option.type, click.Choice) and tuple(option.type.choices) == VECTOR_FORMATS


def test_help_loads_no_heavy_module() -> None:
    script = (
        "import sys\nfrom custext_sql.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'spacy', 'sqlalchemy', 'pyarrow', 'alembic', 'duckdb', 'numpy', 'nltk', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Usage:" in result.stdout
    assert result.stderr == "[]\n"


@pytest.mark.slow
def test_progress_shows_on_a_terminal_and_not_elsewhere(db_path: Path, glove_file: Path) -> None:
    """The first run is that of the launcher in a checkout."""
    arguments = ["--db", str(db_path), "load", str(glove_file), "--name"]
    launcher = [sys.executable, str(Path(__file__).parents[2] / "cli.py")]
    quiet = subprocess.run([*launcher, *arguments, "quiet"], capture_output=True, text=True, check=True)
    assert quiet.stderr == "" and quiet.stdout.startswith("quiet: 16 words")
    mine, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "custext_sql", *arguments, "shown"]
    with start(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(mine, 4096):
                seen += part
        except OSError:  # the child closed its end
            pass
        assert process.wait() == 0
    os.close(mine)
    assert b"Loading" in seen
