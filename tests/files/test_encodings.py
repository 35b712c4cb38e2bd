"""Files in encodings other than UTF-8 are recognized by their bytes, and read with --encoding."""

import gzip
import io
import json
from pathlib import Path

import duckdb
import pytest

from custext_sql import sanitize_file
from custext_sql.errors import SettingError, SourceError
from custext_sql.files.inputs import encodings
from custext_sql.files.inputs.encodings import files_as_utf8, find_encoding, read_as_utf8
from tests.files.test_data_files import MARKER, db, folder, read_csv, run
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures

TEXT = "id,body,note\n1,alice met bob,café\n2,carol,naïve\n"
COLUMN = ("--column", "body")


def notes(path: Path) -> list[str]:
    return [str(row[2]) for row in read_csv(path)]


@pytest.mark.parametrize(
    ("encoding", "named", "looks"),
    [
        ("utf-16", "utf-16", "UTF-16"),
        ("utf-16-le", "utf-16-le", "UTF-16 without a byte order mark"),
        ("utf-32", "utf-32", "UTF-32"),
        ("latin-1", "cp1252", "Latin-1 or Windows-1252"),
    ],
)
def test_the_encoding_is_named_and_reads_the_file(
    db: Path, folder: Path, encoding: str, named: str, looks: str
) -> None:
    (folder / "in.csv").write_bytes(TEXT.encode(encoding))
    refused = run("sanitize", "in.csv", "out.csv", *COLUMN)
    line = ", line 2" if named == "cp1252" else ""
    assert refused.exit_code == 1
    assert refused.output == (
        f"Error: in.csv{line}: not UTF-8; it looks like {looks}; to read it, use --encoding {named} "
        f'(in Python: encoding="{named}")\n'
    )
    assert not (folder / "out.csv").exists() and list_releases(db) == []
    done = run("sanitize", "in.csv", "out.csv", *COLUMN, "--encoding", named)
    assert done.exit_code == 0, done.output
    assert notes(folder / "out.csv") == ["café", "naïve"]
    assert [release.dataset for release in list_releases(db)] == [str((folder / "in.csv").resolve())]


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl.gz", ".txt"])
def test_every_text_format_takes_an_encoding(db: Path, folder: Path, suffix: str) -> None:
    contents = {
        ".tsv": TEXT.replace(",", "\t"),
        ".jsonl": '{"id": 1, "body": "alice", "note": "café"}\n',
        ".txt": "alice café\nbob\n",
    }
    content = contents[suffix.removesuffix(".gz")].encode("utf-16")
    (folder / f"in{suffix}").write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    column = () if ".txt" in suffix else COLUMN
    done = run("sanitize", f"in{suffix}", f"out{suffix}", *column, "--encoding", "UTF16", "--policy", "paper")
    assert done.exit_code == 0, done.output
    written = (folder / f"out{suffix}").read_bytes()
    assert "café" in (gzip.decompress(written) if suffix.endswith(".gz") else written).decode()
    shown = run("diff", f"in{suffix}", *column, "--encoding", "utf-16", "--json")
    assert "alice" in json.loads(shown.stdout)[0]["before"]
    assert "it looks like UTF-16" in run("diff", f"in{suffix}", *column).output


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_a_wrong_encoding_that_leaves_utf_16_is_refused(db: Path, folder: Path, suffix: str) -> None:
    (folder / f"in{suffix}").write_bytes('[{"text": "alice"}]'.encode("utf-16"))
    refused = run("sanitize", f"in{suffix}", "out.csv", "--column", "text", "--encoding", "latin-1")
    assert "it looks like UTF-16" in refused.output and not (folder / "out.csv").exists()


def test_folders_and_streams_take_an_encoding(db: Path, folder: Path) -> None:
    (folder / "parts").mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / "parts" / name).write_bytes(TEXT.encode("latin-1"))
    assert f"{Path('parts') / 'a.csv'}, line 2: not UTF-8" in run("sanitize", "parts", "out.csv", *COLUMN).output
    assert run("sanitize", "parts", "out.csv", *COLUMN, "--encoding", "latin-1").exit_code == 0
    assert notes(folder / "out.csv") == ["café", "naïve"] * 2
    wrong = TEXT.encode("utf-16")
    refused = run("sanitize", "-", "-", "--format", "csv", *COLUMN, input=wrong)
    assert refused.output.startswith("Error: standard input: not UTF-8; it looks like UTF-16; ")
    done = run("sanitize", "-", "-", "--format", "csv", *COLUMN, "--encoding", "utf-16", input=wrong)
    assert "café" in done.stdout and done.exit_code == 0
    lines = run("sanitize", "-", "-", "--policy", "paper", "--encoding", "cp1252", input=b"alice \x93caf\xe9\x94\n")
    assert "\N{LEFT DOUBLE QUOTATION MARK}café" in lines.stdout_bytes.decode()
    written = io.BytesIO()
    sanitize_file(io.BytesIO(wrong), written, format="csv", columns="body", encoding="utf-16")
    assert "café" in written.getvalue().decode()


def test_bytes_that_do_not_decode_are_named_by_their_line(db: Path, folder: Path) -> None:
    (folder / "in.csv").write_bytes(f"id,body\n1,{MARKER}\n2,{MARKER} \u00e9\n".encode("latin-1"))
    refused = run("sanitize", "in.csv", "out.csv", *COLUMN, "--encoding", "ascii")
    assert refused.output.startswith("Error: in.csv, line 3: not ascii; name another encoding with --encoding")
    assert MARKER not in refused.output and not (folder / "out.csv").exists()
    (folder / "cut.txt").write_bytes("a\nb".encode("utf-16")[:-1])
    assert "cut.txt, line 2: not utf-16" in run("sanitize", "cut.txt", "out.txt", "--encoding", "utf-16").output


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_lines_are_counted_across_chunks(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(encodings, "_CHUNK", chunk)
    for encoding in ("utf-8", "utf-16", "utf-16-be", "shift_jis"):
        text = "日本\r\nx\n" * 20
        assert read_as_utf8(io.BytesIO(text.encode(encoding)), encoding, "x").read() == text.encode()
    wrong = "日本\n".encode("shift_jis") * 5 + b"\x81\n"
    with pytest.raises(SourceError, match="^x, line 6: not shift_jis; "):
        read_as_utf8(io.BytesIO(wrong), "shift_jis", "x").read()
    with pytest.raises(SourceError, match="^x, line 1: not utf-7; "):  # a lone surrogate
        read_as_utf8(io.BytesIO(b"+2AA-"), "utf-7", "x").read()


@pytest.mark.parametrize(("name", "row"), [("late.jsonl", '{{"body": "{}"}}\n'), ("late.txt", "{}\n")])
def test_the_encoding_is_named_even_far_into_a_file(db: Path, folder: Path, name: str, row: str) -> None:
    content = row.format("alice") * 50_000 + row.format("caf\u00e9 and more words")
    (folder / name).write_bytes(content.encode("latin-1"))
    refused = run("sanitize", name, f"out{Path(name).suffix}", *(() if name == "late.txt" else COLUMN))
    assert f"{name}, line 50001: not UTF-8; it looks like Latin-1 or Windows-1252; " in refused.output


def test_other_scripts_are_not_taken_for_latin(db: Path, folder: Path) -> None:
    (folder / "in.txt").write_bytes("привет, мир\n".encode("cp1251"))
    refused = run("sanitize", "in.txt", "out.txt")
    assert refused.output == (
        "Error: in.txt, line 1: not UTF-8; to read it, name its encoding: --encoding NAME (in Python: encoding=...)\n"
    )
    assert run("sanitize", "in.txt", "out.txt", "--encoding", "cp1251", "--policy", "paper").exit_code == 0
    assert (folder / "out.txt").read_text() == "привет, мир\n"


def test_utf8_is_read_with_and_without_its_mark(db: Path, folder: Path) -> None:
    for suffix, content in ((".csv", TEXT), (".txt", "alice\n")):
        (folder / f"in{suffix}").write_bytes(b"\xef\xbb\xbf" + content.encode())
        for given in ((), ("--encoding", "UTF-8-SIG")):
            column = () if suffix == ".txt" else COLUMN
            done = run("sanitize", f"in{suffix}", f"out{suffix}", *column, *given, "--force")
            assert done.exit_code == 0, done.output
            assert not (folder / f"out{suffix}").read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("latin-x", "encoding 'latin-x' does not exist; did you mean 'latin-1'?"),
        ("klingon", "encoding 'klingon' does not exist; common encodings: utf-8, utf-16"),
        ("rot13", "'rot13' is not an encoding of text files"),
        ("a\0b", "does not exist"),
    ],
)
def test_unknown_encodings_are_refused(name: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        find_encoding(name)
    assert message in str(caught.value)
    assert find_encoding("Latin-1") == "Latin-1" and find_encoding("utf8") is None


def test_only_text_files_have_an_encoding(db: Path, folder: Path) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 'alice' AS body; COPY t TO 'in.parquet'")
    for arguments, message in (
        (
            ("in.parquet", "out.parquet", *COLUMN),
            "in.parquet: Parquet always stores text as UTF-8; leave out --encoding",
        ),
        (("--data", "shop.duckdb", "--table", "t", "out", *COLUMN), "DuckDB tables are always UTF-8"),
        (("some text",), "a text on the command line has none"),
    ):
        assert message in run("sanitize", *arguments, "--encoding", "latin-1").output
    assert "Parquet always stores text as UTF-8" in run("diff", "in.parquet", *COLUMN, "--encoding", "cp1252").output


def test_errors_name_the_file_and_not_its_private_copy(db: Path, folder: Path) -> None:
    wrong = f"id,body\n1,a\n2,{MARKER},c\n"
    (folder / "in.csv").write_bytes(wrong.encode("utf-16"))
    refused = run("sanitize", "in.csv", "out.csv", *COLUMN, "--encoding", "utf-16")
    assert refused.output == "Error: in.csv, line 3: expected 2 columns, found 3\n"
    refused = run("sanitize", "-", "-", "--format", "csv", *COLUMN, input=wrong.encode())
    assert refused.output == "Error: standard input, line 3: expected 2 columns, found 3\n"


def test_copies_lie_in_a_private_folder_and_go(
    db: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    seen: list[tuple[int, bytes]] = []
    real = encodings.renamed_errors

    def looking(names: dict[str, str]) -> object:
        for name in names:
            private = next(parent for parent in Path(name).parents if parent.name.endswith(".draft"))
            seen.append((private.stat().st_mode & 0o777, Path(name).read_bytes()))
        return real(names)

    monkeypatch.setattr(encodings, "renamed_errors", looking)
    (folder / "in.csv").write_bytes(TEXT.encode("latin-1"))
    assert run("sanitize", "in.csv", "out.csv", *COLUMN, "--encoding", "latin-1").exit_code == 0
    assert seen == [(0o700, TEXT.encode())]
    assert not list((tmp_path / "temporary").iterdir()) and not list(folder.glob(".*"))


def test_a_cut_within_a_character_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "in.txt").write_bytes(("é" * 10 + "日" * 10).encode())
    for size in range(1, 50):
        monkeypatch.setattr(encodings, "SAMPLE", size)
        with files_as_utf8("in.txt", [folder / "in.txt"], "text") as files:
            assert files == [folder / "in.txt"]
