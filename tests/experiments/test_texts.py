"""Texts beside INPUT are read as INPUT is, and labeled texts in the formats of others."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest

from custext_sql import CusTextError, DataFiles, DataTable
from custext_sql.cli import main
from custext_sql.experiments import attack_context
from custext_sql.experiments.texts import (
    LabeledTexts,
    find_public_column,
    list_public,
    read_labeled,
    read_sentence_polarity,
)
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


def test_every_format_has_the_same_texts_and_figures(mapped_db: Path, tmp_path: Path) -> None:
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
        attack = attack_context(mapped_db, data=data, public=known, column="body", eps=1.0)
        assert (attack.texts, attack.public_texts, attack.left_out, attack.skipped) == (5, 3, 3, 2), name
        found.append(str([(one.success, one.single, one.texts_guessed) for one in attack.results]))
    assert len(set(found)) == 1


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


def test_public_options_reach_the_reader(mapped_db: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("alice met bob\n")
    (tmp_path / "glue.dat").write_bytes('body\tid\n"new café\t1\ncarol met dave\t2\n \t3\n'.encode("latin-1"))
    attack = ["--db", str(mapped_db), "attack", "context", str(tmp_path / "mine.txt"), "--eps", "1"]
    public = ["--public", str(tmp_path / "glue.dat"), "--public-column", "body", "--public-format", "tsv"]
    result = run(*attack, *public, "--public-encoding", "latin-1", "--public-no-quotes")
    assert "learned from: glue.dat, 2 texts; skipped because they are empty: 1" in result.output
    for given, said in (
        (["--public-format", "tsv"], "--public-format is about public texts. Name them: --public FILE."),
        (["--public", "x.duckdb", "--public-table", "t", "--public-no-quotes"], "--public-no-quotes is for files"),
    ):
        refused = run("--db", mapped_db, "attack", "bayes", *given)
        assert refused.exit_code == 2 and said in " ".join(refused.output.split()), refused.output


SST2 = "sentence\tlabel\nhide new secretions from the parental units \t0\nan \"odd quote , isn't it \t1\n"
QNLI = 'index\tquestion\tsentence\tlabel\n0\tWhat came?\tAs of that day, "it" came.\tentailment\n'
STSB = (
    "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
    "0\tmain-captions\tMSRvid\t2012test\t0001\tnone\tnone\t"
    'A plane is taking off.\tAn air plane is "taking off.\t5.000\n'
)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def read_glue(path: str, columns: list[str], label: str = "label") -> LabeledTexts:
    return read_labeled(DataFiles(path, quotes=False), columns, label)


def test_glue_files_are_read_unchanged(tmp_path: Path) -> None:
    single = read_glue(write(tmp_path, "sst2.tsv", SST2), ["sentence"])
    assert single.texts == [("hide new secretions from the parental units ",), ("an \"odd quote , isn't it ",)]
    assert single.labels == ["0", "1"]
    pair = read_glue(write(tmp_path, "qnli.tsv", QNLI), ["question", "sentence"])
    assert pair.texts == [("What came?", 'As of that day, "it" came.')]
    assert pair.labels == ["entailment"]
    degrees = read_glue(write(tmp_path, "stsb.tsv.gz", STSB), ["sentence1", "sentence2"], "score")
    assert degrees.texts == [("A plane is taking off.", 'An air plane is "taking off.')]
    assert degrees.labels == ["5.000"]


def test_rows_without_a_text_or_a_label_are_counted(tmp_path: Path) -> None:
    for name, text in (
        ("x.tsv", SST2 + "no label here\n \t1\nempty label\t\n"),
        ("y.tsv", SST2.replace('"', "") + 'a\t\n""\t1\n\t1\n'),
        ("x.jsonl", '{"sentence": "a", "label": 1}\n{"sentence": "b"}\n{"label": 1}\n{"sentence": "", "label": 1}\n'),
    ):
        path = write(tmp_path, name, text)
        found = read_glue(path, ["sentence"]) if name == "x.tsv" else read_labeled(path, ["sentence"], "label")
        assert found.skipped == 3 and len(found.texts) == (1 if name == "x.jsonl" else 2)


@pytest.mark.parametrize(
    "lines",
    ['"great film\t1\nbad\t0\n', '"great" film\t1\n', '"great film\t1\nso bad "\t0\n', '"great"\t1\t"x\n', '"a"\t\n'],
)
def test_stray_quotes_are_explained(tmp_path: Path, lines: str) -> None:
    with pytest.raises(CusTextError, match=r"ordinary characters in this file, add --no-quotes \(in"):
        read_labeled(write(tmp_path, "x.tsv", f"sentence\tlabel\n{lines}"), ["sentence"], "label")


def test_quoted_texts_may_have_tabs_and_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, "x.tsv", 'sentence\tlabel\n"one\ntwo"\t1\n"one\ttwo"\t0\n')
    assert read_labeled(path, ["sentence"], "label").texts == [("one\ntwo",), ("one\ttwo",)]


@pytest.mark.parametrize(
    ("name", "text", "columns", "message"),
    [
        ("x.tsv", SST2, ["sentense"], "x.tsv: column 'sentense' does not exist; did you mean 'sentence'?"),
        ("x.tsv", "sentence\tlabel\n", ["sentence"], "x.tsv: found no rows with a text and a label"),
        ("x.tsv", "secret, of a file without names\t1\n", ["sentence"], "the file has 2 columns"),
        ("x.tsv", "", ["sentence"], "x.tsv: the file is empty"),
        (
            "x.tsv",
            SST2,
            ["sentence"] * 3,
            "expected one or two columns of texts: --text NAME (in Python: text=...); found 3",
        ),
        (
            "x.csv",
            "sentence,label\nsecret,\n",
            ["sentence"],
            "x.csv: found no rows with a text and a label; if quotes are ordinary characters",
        ),
        ("x.txt", "secret\n", ["sentence"], "plain text has no labels"),
        ("y.csv", None, ["sentence"], "y.csv does not exist"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, text: str | None, columns: list[str], message: str) -> None:
    path = str(tmp_path / name) if text is None else write(tmp_path, name, text)
    with pytest.raises(CusTextError) as caught:
        read_labeled(path, columns, "label")
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def write_polarity(folder: Path, sentences: int = 25) -> Path:
    """Write a small corpus in the format of NLTK's, and return its path."""
    path = folder / "sentence_polarity.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for label, word in (("neg", "terrible"), ("pos", "wonderful")):
            lines = [f"the caf\xe9 was {word} number{number} ." for number in range(sentences)]
            archive.writestr(f"sentence_polarity/rt-polarity.{label}", "\n".join(lines).encode("latin-1"))
    return path


def test_sentence_polarity_is_split_in_one_fixed_way(tmp_path: Path) -> None:
    train, test = read_sentence_polarity(str(write_polarity(tmp_path)))
    assert (len(train.texts), len(test.texts)) == (40, 10)
    assert not {text for (text,) in train.texts} & {text for (text,) in test.texts}
    assert test.texts[0] == ("the café was terrible number4 .",)
    assert sorted(test.labels) == ["neg"] * 5 + ["pos"] * 5


def test_a_missing_corpus_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
    with pytest.raises(CusTextError, match="run: python -m nltk.downloader sentence_polarity"):
        read_sentence_polarity()
    (tmp_path / "corpora").mkdir()
    write_polarity(tmp_path / "corpora")
    assert len(read_sentence_polarity()[0].texts) == 40
    (tmp_path / "other.zip").write_bytes(b"no archive")
    with pytest.raises(CusTextError, match="no readable zip archive"):
        read_sentence_polarity(str(tmp_path / "other.zip"))
    with pytest.raises(CusTextError, match="nothing.zip does not exist"):
        read_sentence_polarity("nothing.zip")


@pytest.mark.parametrize(
    "texts, labels, message",
    [
        ([("good",)], ["1", "0"], "expected one label per row; found 2 labels for 1 row"),
        ([], [], "expected one label per row; found 0 labels for 0 rows"),
        ([("good",), ("not", "bad")], ["1", "0"], "row 2: expected as many texts as in row 1; found 2"),
        (["good"], ["1"], "row 1: expected a tuple of one or two texts"),
        ([("good",), ()], ["1", "0"], "row 2: expected a tuple"),
        ([("a", "b", "c")], ["1"], "row 1: expected a tuple"),
        ([("good",)], [1], "row 1: expected a string as the label; found int"),
    ],
)
def test_labeled_texts_in_memory_are_checked(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        LabeledTexts("mine", texts, labels)
