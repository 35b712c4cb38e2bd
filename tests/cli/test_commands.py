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
from custext_sql.cli.database import _FORMATS
from custext_sql.ledger import schema
from custext_sql.store.schema import REVISIONS
from custext_sql.vectors.opening import VECTOR_FORMATS
from tests.processes import start
from tests.vector_samples import zipped

UNCHANGED = {"before": REVISIONS[-1], "after": REVISIONS[-1]}
UNCHANGED_LEDGER = {"before": schema.REVISIONS[-1], "after": schema.REVISIONS[-1]}


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


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, command in main.commands.items():
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {inner}", leaf) for inner, leaf in command.commands.items()]
    return found


def test_load_map_inspect(db_path: Path, glove_file: Path) -> None:
    loaded = run("--db", db_path, "load", glove_file, "--name", "small")
    assert loaded.exit_code == 0
    assert loaded.output.startswith("small: 16 words of 5 dimensions from small.txt (glove), in ")
    assert f"Next: custext --db {db_path} map --embedding small --k 16" in loaded.output
    copied = glove_file.with_name("my vectors.5d.txt")
    copied.write_bytes(glove_file.read_bytes())
    assert run("--db", db_path, "load", copied).output.startswith("my-vectors.5d: 16 words of 5 dimensions from ")
    assert "'my-vectors.5d' already exists" in run("--db", db_path, "load", copied).output
    mapped = run("--db", db_path, "map", "--embedding", "small", "--k", "4")
    assert mapped.exit_code == 0
    assert mapped.output.startswith("small-euclidean-k4: 16 words in 4 groups of 4, in ")
    inspected = run("--db", db_path, "inspect", "Bob", "--eps", "2")
    assert inspected.exit_code == 0
    assert inspected.output.startswith("bob in small-euclidean-k4, eps = 2\n")
    lines = inspected.output.splitlines()[3:]
    assert len(lines) == 4
    assert lines[0].startswith("bob")
    assert "█" * 24 in lines[0]


def test_inspect_prints_json(mapped_db: Path) -> None:
    result = run("--db", mapped_db, "inspect", "bob", "--eps", "2", "--json")
    found = json.loads(result.output)
    assert list(found) == ["word", "mapping", "eps", "group"]
    assert (found["word"], found["mapping"], found["eps"]) == ("bob", "small-euclidean-k4", 2.0)
    assert list(found["group"][0]) == ["output", "score", "probability"]
    assert found["group"][0]["score"] == 0.0
    assert sum(outcome["probability"] for outcome in found["group"]) == pytest.approx(1.0)
    assert [outcome["probability"] for outcome in found["group"]] == sorted(
        (outcome["probability"] for outcome in found["group"]), reverse=True
    )


def test_load_and_map_print_json(db_path: Path, glove_file: Path) -> None:
    loaded = json.loads(run("--db", db_path, "load", glove_file, "--name", "small", "--json").output)
    assert (loaded["embedding"]["size"], loaded["rows_read"]) == (16, 16)
    mapped = json.loads(run("--db", db_path, "map", "--embedding", "small", "--k", "5", "--json").output)
    assert (mapped["info"]["k"], mapped["info"]["words"], mapped["already_there"]) == (5, 16, False)


def test_info_shows_what_there_is(mapped_db: Path) -> None:
    text = run("--db", mapped_db, "info").output
    for part in (str(mapped_db), "MB", "small.txt", "small-euclidean-k4", "default", "english", "179"):
        assert part in text
    found = json.loads(run("--db", mapped_db, "info", "--json").output)
    assert found["default_mapping"] == "small-euclidean-k4"
    assert found["bytes"] == mapped_db.stat().st_size
    assert [embedding["name"] for embedding in found["embeddings"]] == ["small"]
    assert len(found["mappings"][0]["fingerprint"]) == 64


def test_use_and_drop(mapped_db: Path) -> None:
    run("--db", mapped_db, "map", "--embedding", "small", "--k", "2", "--measure", "cosine", "--normalization", "word")
    name = "small-cosine-k2-by-word"
    assert run("--db", mapped_db, "use", name).output == f"{name} is now the default mapping\n"
    assert f"in {name}" in run("--db", mapped_db, "inspect", "bob").output
    assert run("--db", mapped_db, "drop", "mapping", name).exit_code == 0
    assert run("--db", mapped_db, "drop", "embedding", "small").exit_code == 0
    assert "no embeddings; load one with" in run("--db", mapped_db, "info").output
    failed = run("--db", mapped_db, "inspect", "bob")
    assert failed.exit_code == 1
    assert failed.output == (
        f"Error: there is no default mapping; choose one with: custext --db {mapped_db} use NAME "
        "(mappings: small-euclidean-k4)\n"
    )


def test_every_command_that_prints_takes_json(mapped_db: Path) -> None:
    run("--db", mapped_db, "map", "--embedding", "small", "--k", "2")
    for command, expected in (
        (["use", "small-euclidean-k2"], {"default_mapping": "small-euclidean-k2"}),
        (["drop", "mapping", "small-euclidean-k2"], {"dropped": "mapping", "name": "small-euclidean-k2"}),
        (["drop", "embedding", "small"], {"dropped": "embedding", "name": "small"}),
        (["upgrade"], {"database": UNCHANGED, "ledger": UNCHANGED_LEDGER}),
    ):
        assert json.loads(run("--db", mapped_db, *command, "--json").output) == expected
    for name, command_object in commands():
        if not isinstance(command_object, click.Group):
            assert "--json" in [option for parameter in command_object.params for option in parameter.opts], name


def test_load_starter_brings_its_mapping(db_path: Path, few_shipped: None) -> None:
    assert run("--db", db_path, "load", "starter").exit_code == 0
    assert json.loads(run("--db", db_path, "info", "--json").output)["default_mapping"] == "starter"
    recipe = ["--embedding", "starter", "--k", "20", "--limit", "500", "--name", "starter-euclidean-k20"]
    assert "(already built)" in run("--db", db_path, "map", *recipe).output
    assert run("--db", db_path, "load", "starter").output == "starter: already loaded, with its mappings\n"
    assert run("--db", db_path, "load", "starter", "--json").output == "null\n"
    assert (
        "--format and --member apply to files only" in run("--db", db_path, "load", "starter", "--member", "x").output
    )
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


def test_upgrade_of_a_current_database_says_so(mapped_db: Path) -> None:
    assert run("--db", mapped_db, "upgrade").output == (
        f"database: already at revision {REVISIONS[-1]}\nledger: already at revision {schema.REVISIONS[-1]}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["lod", "x"], 2, "No such command 'lod'. Did you mean 'load'?"),
        (["load", "x", "--nmae", "y"], 2, "Did you mean"),
        (["load", "x.txt"], 1, "x.txt does not exist; expected a vector file"),
        (["load", "..txt"], 1, "no name that an embedding could have; use --name NAME (in Python: name=...)"),
        (["load", "missing.txt", "--name", "x"], 1, "missing.txt does not exist"),
        (["map", "--embedding", "smal"], 1, "did you mean 'small'?"),
        (["map", "--embedding", "small", "--k", "99"], 1, "must not exceed the number of words, 16; found 99"),
        (["map", "--embedding", "small", "--order", "random"], 1, "needs a seed"),
        (["inspect", "bobb"], 1, "did you mean 'bob'?"),
        (["map", "--embedding", "small", "--language", "german"], 2, "--language requires --separate-stopwords"),
        (["inspect", "bob", "--eps", "0.0005"], 1, "eps must be 0, or between 0.001 and 100; found 0.0005"),
        (["inspect", "bob", "--eps", "nan"], 1, "found nan"),
        (["inspect", "bob", "--mapping", "none"], 1, "mapping 'none' does not exist; mappings: small-euclidean-k4"),
        (["use", "none"], 1, "mapping 'none' does not exist"),
        (["drop", "mapping", "none"], 1, "mapping 'none' does not exist"),
        (["drop", "embedding", "none"], 1, "embedding 'none' does not exist"),
    ],
)
def test_mistakes_are_explained(mapped_db: Path, arguments: list[str], status: int, message: str) -> None:
    result = run("--db", mapped_db, *arguments)
    assert result.exit_code == status
    assert message in result.output
    assert "Traceback" not in result.output


def test_a_database_that_is_not_there_is_an_error_and_stays_away(db_path: Path) -> None:
    for command in (["info"], ["inspect", "she"], ["use", "x"], ["map", "--embedding", "x"], ["upgrade"]):
        result = run("--db", db_path, *command)
        assert result.exit_code == 1
    assert list(db_path.parent.iterdir()) == []


def test_hints_name_the_database_that_was_named(loaded_db: Path) -> None:
    other = loaded_db.with_name("a b.duckdb")
    loaded_db.rename(other)
    quoted = f"custext --db '{other}'"
    assert f"build one with: {quoted} map" in run("--db", other, "inspect", "bob").output
    failed = run(
        "--db", other, "map", "--embedding", "small", "--k", "4", "--separate-stopwords", "--language", "german"
    )
    assert f"run: {quoted} stopwords --language german" in failed.output
    assert f"Next: {quoted} inspect" in run("--db", other, "map", "--embedding", "small", "--k", "4").output


def test_the_name_of_the_tool_in_a_sentence_is_no_command(db_path: Path) -> None:
    with duckdb.connect(db_path) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    assert "is not a custext database: " in run("--db", db_path, "info").output


def test_the_environment_names_the_database(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUSTEXT_DB", str(mapped_db))
    assert "in small-euclidean-k4" in run("inspect", "bob").output


def test_formats_offered_are_those_there_are() -> None:
    assert _FORMATS == VECTOR_FORMATS


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_explains_itself(name: str, command: click.Command) -> None:
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    assert command.help
    if " " not in name:
        assert "Example" in result.output, "help shows an example"
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "embedding":
            assert parameter.help, f"{name} {parameter.opts}"


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
    arguments = [sys.executable, "-m", "custext_sql", "--db", str(db_path), "load", str(glove_file), "--name"]
    quiet = subprocess.run([*arguments, "quiet"], capture_output=True, text=True, check=True)
    assert quiet.stderr == ""
    mine, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with start([*arguments, "shown"], stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
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
    with duckdb.connect(db_path, read_only=True) as connection:
        assert len(connection.execute("SELECT name FROM embeddings").fetchall()) == 2


@pytest.mark.slow
def test_the_launcher_works_in_a_checkout(glove_file: Path, db_path: Path) -> None:
    launcher = Path(__file__).parents[2] / "cli.py"
    command = [sys.executable, str(launcher), "--db", str(db_path), "load", str(glove_file), "--name", "small"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("small: 16 words")
