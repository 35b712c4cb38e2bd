"""Every command that keeps stopwords in a release, or shows one before, takes their language, or one's own list."""

import json
from pathlib import Path

import pytest

from custext_sql.store.database import writing
from custext_sql.store.stopwords import write_stopwords
from tests.files.test_data_files import db, folder, run

__all__ = ["db", "folder"]  # fixtures
Options = tuple[str, str, str]


@pytest.fixture(params=["german", "legal"])
def options(db: Path, folder: Path, request: pytest.FixtureRequest) -> Options:
    """Return the options that keep only "bob"."""
    if request.param == "german":
        with writing(db) as connection:
            write_stopwords(connection, "german", ["bob"], "a test")
    else:
        (folder / "own words.txt").write_text("\n Bob \n\nbob\n", encoding="utf-8-sig")
        listed = run("stopwords", "--file", "own words.txt", "--name", "legal", "--json")
        assert json.loads(listed.stdout)[1] == {"language": "legal", "words": 1, "source": "file own words.txt"}
    return "--plus", "--language", request.param


def test_a_release_keeps_the_stopwords_of_its_language(folder: Path, options: Options) -> None:
    assert run("sanitize", "bob the", *options).stdout == "bob <unk>\n"
    assert run("sanitize", "zzyzxa the", "--plus").stdout == "<unk> the\n"
    (folder / "in.txt").write_text("bob\n")
    assert run("sanitize", "in.txt", "out.txt", *options).exit_code == 0
    assert (folder / "out.txt").read_text() == "bob\n"


def test_previews_use_the_same_stopwords(folder: Path, options: Options) -> None:
    (folder / "in.txt").write_text("bob the\n")
    assert "1 stopword kept" in run("diff", "in.txt", *options).output
    found = json.loads(run("leaks", "in.txt", *options, "--json").stdout)
    assert (found["stopwords"], found["replaced"]) == (1, 0)


def test_a_key_and_an_audit_use_the_same_stopwords(folder: Path, options: Options) -> None:
    assert f"stopwords    {options[2]}, digest " in run("keygen", "own.key", *options).output
    assert "stopwords    english, digest " in run("keygen", "other.key", "--plus").output
    assert json.loads(run("audit", *options, "--json").stdout)["hides_among"] == 3
    assert json.loads(run("audit", "--plus", "--json").stdout)["hides_among"] == 4
    refused = run("audit", "--plus", "--language", "klingon")
    assert refused.exit_code == 1
    assert f"the database has no stopwords for 'klingon', only for english, {options[2]}; run: " in refused.output
    assert "stopwords --language klingon (or, with a list of your own, --file FILE --name klingon)" in refused.output


def test_a_mapping_can_group_the_words_of_a_list_separately(folder: Path, options: Options) -> None:
    names = json.loads(run("info", "--json").stdout)["embeddings"]
    result = run("map", "--embedding", names[0]["name"], "--k", "3", "--separate-stopwords", *options[1:])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("content", "arguments", "code", "message"),
    [
        (b"bob\n", ("--file", "own.txt"), 2, "--file and --name go together"),
        (b"bob\n", ("--name", "legal"), 2, "--file and --name go together"),
        (b"bob\n", ("--file", "own.txt", "--name", "legal", "--language", "german"), 2, "Give either --language"),
        (b"bob\n", ("--file", "own.txt", "--name", "le gal"), 1, "the name of a stopword list must have"),
        (b"bob\n\nsecret 81\n", ("--file", "own.txt", "--name", "legal"), 1, "own.txt, line 3: expected a single word"),
        (b"\n \n", ("--file", "own.txt", "--name", "legal"), 1, "own.txt: expected one word per line; found none"),
        (b"bob\nsecret\xff\n", ("--file", "own.txt", "--name", "legal"), 1, "own.txt, line 2"),
        (b"", ("--file", "none.txt", "--name", "legal"), 1, "cannot read 'none.txt': No such file"),
    ],
)
def test_a_list_that_cannot_be_used_is_an_error(
    db: Path, folder: Path, content: bytes, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (folder / "own.txt").write_bytes(content)
    result = run("stopwords", *arguments)
    assert (result.exit_code, message in result.output, "secret" in result.output) == (code, True, False)
    assert [one["language"] for one in json.loads(run("stopwords", "--json").stdout)] == ["english"]
