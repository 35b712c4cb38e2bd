"""Texts beside INPUT are read as INPUT is: the same data gives the same figures, whatever the format."""

import json
import zipfile
from pathlib import Path

import click
import duckdb
import pytest

from custext_sql import CusTextError, DataFiles, DataTable
from custext_sql.cli import main
from custext_sql.experiments import attack_context
from custext_sql.experiments.texts import find_public_column, list_public, read_labeled
from tests.cli.test_commands import run

FORMATS = ("csv", "tsv", "parquet", "jsonl")
PRIVATE = [
    'alice said "hello,\nbob" and left',
    'carol met "dave"',
    "erin\tsaw\n\nfrank",
    None,
    'grace met heidi, who said "no"',
]
PUBLIC = [*PRIVATE[:3], '"alice met\nbob"', "carol saw dave", "", None, 'erin said: "frank\n\ncame"']


def write_formats(folder: Path, name: str, texts: list[str | None]) -> None:
    """Write the same texts in every format and as a table, each with a label."""
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute(f"CREATE TABLE {name} (body VARCHAR, label VARCHAR)")
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", [[text, str(len(text or ""))] for text in texts])
        for ending in FORMATS:
            options = {"tsv": "(FORMAT csv, DELIMITER '\t')", "jsonl": "(FORMAT json)"}.get(ending, "")
            connection.execute(f"COPY {name} TO '{folder / name}.{ending}' {options}")


def test_every_format_has_the_same_texts_and_figures(few_db: Path, tmp_path: Path) -> None:
    write_formats(tmp_path, "private", PRIVATE)
    write_formats(tmp_path, "public", PUBLIC)
    found = []
    for name in (*FORMATS, "table"):
        data, known = (
            DataTable(tmp_path / "data.duckdb", one) if name == "table" else DataFiles(tmp_path / f"{one}.{name}")
            for one in ("private", "public")
        )
        texts, skipped = list_public(known, "body")
        assert (texts, skipped) == ([text for text in PUBLIC if text], 2), name
        labeled = read_labeled(known, ["body"], "label")
        assert ([text for (text,) in labeled.texts], labeled.skipped) == (texts, 2), name
        attack = attack_context(few_db, data=data, public=known, column="body", eps=(0.0, 1.0))
        assert (attack.texts, attack.public_texts, attack.left_out, attack.skipped) == (5, 3, 3, 2), name
        found.append(str([(one.success, one.single, one.texts_guessed) for one in attack.results]))
    assert len(set(found)) == 1


@pytest.mark.slow
def test_the_verdict_on_real_texts_is_the_same_in_every_format(few_db: Path, tmp_path: Path, shared_data: Path) -> None:
    """These reviews have quotes and line breaks, and half of the private ones are also public."""
    with zipfile.ZipFile(shared_data / "movie_reviews.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))[:60]
        texts: list[str | None] = [archive.read(name).decode() for name in names]
    assert all("\n" in str(text) for text in texts) and sum('"' in str(text) for text in texts) > 30
    write_formats(tmp_path, "private", texts[:20])
    write_formats(tmp_path, "public", texts[10:])
    verdicts = []
    for ending in FORMATS:
        data, public = (str(tmp_path / f"{one}.{ending}") for one in ("private", "public"))
        command = ["report", data, "--column", "body", "--public", public, "--eps", "1", "--word", "film", "--json"]
        found = json.loads(run("--db", few_db, *command).stdout)
        assert (found["context"]["left_out"], found["context"]["public_texts"]) == (10, 40)
        verdicts.append(json.dumps(found["verdict"]).replace(f".{ending}", ""))
    assert len(set(verdicts)) == 1


def test_errors_name_the_options_of_public_texts(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text('body\tid\n"odd\t1\n')
    (tmp_path / "x.csv").write_bytes(b"body,id\ncaf\xe9,1\n")
    (tmp_path / "x.dat").write_text("body\n")
    (tmp_path / "x.txt").write_text("one\n")
    (tmp_path / "y.tsv").write_text("body\tid\nodd\t1\n")
    (tmp_path / "x.duckdb").touch()
    for name, column, said in (
        ("x.tsv", "body", r"add --public-no-quotes \(in Python: quotes=False\)"),
        ("x.csv", "body", r"--public-encoding"),
        ("y.tsv", None, r"--public-column NAME \(in Python: public_column="),
        ("x.dat", "body", "--public-format csv, tsv"),
        ("x.txt", "body", r"leave out --public-column \(in Python: public_column\)"),
        ("x.duckdb", "body", r"--public \S*x.duckdb --public-table NAME"),
    ):
        with pytest.raises(CusTextError, match=said):
            list_public(tmp_path / name, column)
    with pytest.raises(CusTextError, match="--public-format csv, tsv"):
        find_public_column(tmp_path / "x.dat", None, "body")


def test_every_command_takes_the_same_options_for_all_its_texts() -> None:
    def walk(command: click.Command) -> list[click.Command]:
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        return [one for some in map(walk, inner) for one in some] or [command]

    found = 0
    for command in walk(main):
        options = {option for one in command.params for option in (*one.opts, one.name)}
        for name, prefix in (("--public", "--public-"), ("--train", "--"), ("input_", "--")):
            if name in options:
                found += 1
                assert {f"{prefix}{one}" for one in ("format", "encoding", "no-quotes")} <= options, command.name
    assert found == 7 + 2 + 6


def test_public_options_reach_the_reader(few_db: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("the doctor met the family\n")
    (tmp_path / "glue.dat").write_bytes('body\tid\n"new café\t1\nthe man met the city\t2\n \t3\n'.encode("latin-1"))
    attack = ["--db", str(few_db), "attack", "context", str(tmp_path / "mine.txt"), "--eps", "1"]
    public = ["--public", str(tmp_path / "glue.dat"), "--public-column", "body", "--public-format", "tsv"]
    result = run(*attack, *public, "--public-encoding", "latin-1", "--public-no-quotes")
    assert "learned from: glue.dat, 2 texts; skipped because they are empty: 1" in result.output
    for given, said in (
        (["--public-format", "tsv"], "--public-format is about public texts. Name them: --public FILE."),
        (["--public", "x.duckdb", "--public-table", "t", "--public-no-quotes"], "--public-no-quotes is for files"),
    ):
        refused = run("--db", few_db, "attack", "bayes", *given)
        assert refused.exit_code == 2 and said in " ".join(refused.output.split()), refused.output
