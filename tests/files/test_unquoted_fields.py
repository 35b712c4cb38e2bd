"""Files in which quotes are ordinary characters, as in GLUE's: read as they are, and written without quoting."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custext_sql import DataFiles, sanitize_file
from custext_sql.errors import CusTextError
from custext_sql.files.inputs.texts import list_texts
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures

GLUE = 'id\tsentence\tla"bel\n1\talice met "bob\t0\n2\t"carol" saw\t\n3\t"\t"\n4\t\t""\n5\tdave\\ \'s, "erin"\t1"\n'
HINT = "if quotes are ordinary characters in this file, add --no-quotes (in Python: quotes=False)"
FIELDS = st.text(st.sampled_from("\"'\\,;|# aé0-😀\x0b\u2028") | st.characters(codec="utf-8"), max_size=8).map(
    lambda text: "".join(character for character in text if character not in "\t\n\r\x00")
)


def split(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.removesuffix("\n").split("\n")]


@pytest.mark.slow
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(FIELDS, st.sampled_from(['"', '""', '"."', ",", "'"]), FIELDS), min_size=20, max_size=40)
)
def test_random_fields_with_quotes_come_back_byte_for_byte(
    db: Path, folder: Path, rows: list[tuple[str, str, str]]
) -> None:
    lines = [("first", "body", '"last"'), ("a", "-", '"'), *rows]
    content = "".join("\t".join(line) + "\n" for line in lines).encode()
    Path("in.tsv").write_bytes(content)
    for place, name in enumerate(lines[0]):
        assert list_texts(DataFiles("in.tsv", quotes=False), name) == [line[place] or None for line in lines[1:]]
    sanitize_file("in.tsv", "out.tsv", columns="body", quotes=False, force=True, database=db)
    assert Path("out.tsv").read_bytes() == content  # these bodies have no words


@pytest.mark.parametrize("command", [["leaks"], ["diff", "--rows", "9"], ["sanitize", "out.tsv"]])
def test_without_the_option_the_error_names_it_and_with_it_the_file_is_read(
    db: Path, folder: Path, command: list[str]
) -> None:
    Path("in.tsv").write_text(GLUE)
    first, *rest = command
    given = [first, "in.tsv", *rest, "--column", "sentence"]
    refused = run(*given)
    assert refused.exit_code == 1
    assert refused.output == f"Error: in.tsv, line 3: a quoted value has no closing quote; {HINT}\n"
    assert not Path("out.tsv").exists()
    done = run(*given, "--no-quotes")
    assert done.exit_code == 0, done.output


def test_a_quote_that_opens_in_the_first_line_is_explained_too(db: Path, folder: Path) -> None:
    Path("in.tsv").write_text('id\t"body\n1\talice\n2\tbob\n')
    refused = run("leaks", "in.tsv", "--column", "id")
    assert refused.output == f"Error: in.tsv: cannot tell how this CSV file is written; {HINT}\n"
    assert list_texts(DataFiles("in.tsv", quotes=False), '"body') == ["alice", "bob"]


def test_only_the_sanitized_column_changes(db: Path, folder: Path) -> None:
    Path("in.tsv").write_text(GLUE)
    assert run("sanitize", "in.tsv", "out.tsv", "--column", "sentence", "--no-quotes").exit_code == 0
    before, after = split(GLUE), split(Path("out.tsv").read_text())
    assert [[line[0], line[2]] for line in before] == [[line[0], line[2]] for line in after]
    assert [line[1].count('"') for line in before] == [line[1].count('"') for line in after]
    assert after[2][1].startswith('"') and before != after
    streamed = run("sanitize", "-", "--format", "tsv", "--no-quotes", "--column", "sentence", input=GLUE.encode())
    assert [line[2] for line in split(streamed.stdout)] == [line[2] for line in before]


@pytest.mark.parametrize(
    "content", ['id\tbody\n1\talice, bob\n"\t-\n', 'id\tbody\n"1,2\talice\n', 'id,"\tbody\n1\talice\n']
)
def test_a_field_that_would_need_quotes_is_refused(db: Path, folder: Path, content: str) -> None:
    Path("in.tsv").write_text(content)
    refused = run("sanitize", "in.tsv", "out.csv", "--column", "body", "--no-quotes")
    assert refused.exit_code == 1
    assert refused.output == (
        "Error: in.tsv: a field of the output would contain ',' or a line end, which --no-quotes (in Python: "
        "quotes=False) cannot write to CSV or TSV; write to a .jsonl or .parquet file\n"
    )
    assert not Path("out.csv").exists() and all(release.state != "complete" for release in list_releases(db))
    Path("plain.tsv").write_text('id\tbody\n"1\talice "bob\n')
    assert run("sanitize", "plain.tsv", "out.csv", "--column", "body", "--no-quotes").exit_code == 0
    assert Path("out.csv").read_text().startswith('id,body\n"1,')


def test_no_sanitized_text_adds_a_field(db: Path, folder: Path) -> None:
    Path("in.csv").write_text("id,body\n1,alice\tbob\n")
    with pytest.raises(CusTextError, match="in.csv: a field of the output would contain a tab or a line end"):
        sanitize_file("in.csv", "out.tsv", columns="body", quotes=False, database=db)
    assert not Path("out.tsv").exists()


@pytest.mark.parametrize(
    ("name", "arguments", "shown"), [("in.parquet", [], "Parquet"), ("in.csv", ["--format", "json"], "JSON")]
)
def test_formats_without_quotes_refuse_the_option(
    db: Path, folder: Path, name: str, arguments: list[str], shown: str
) -> None:
    Path(name).write_text("alice\n")
    wanted = (
        f"Error: {name}: --no-quotes (in Python: quotes=False) is for CSV and TSV files; leave it out for {shown}\n"
    )
    for command in (["leaks", name], ["sanitize", name, "out.csv"]):
        refused = run(*command, *arguments, "--column", "body", "--no-quotes")
        assert refused.exit_code == 1 and refused.output == wanted, command


@pytest.mark.parametrize("quotes", [True, False])
def test_a_semicolon_stays_the_delimiter(db: Path, folder: Path, quotes: bool) -> None:
    content = 'id;body\n"1";-\n'
    Path("in.csv").write_text(content)
    sanitize_file("in.csv", "out.csv.gz", columns="body", quotes=quotes, database=db)
    assert gzip.decompress(Path("out.csv.gz").read_bytes()).decode() == (
        content.replace('"', "") if quotes else content
    )
