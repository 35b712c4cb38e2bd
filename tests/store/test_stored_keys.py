"""Keys of every format, made by the code of their time, still give the same bytes on every interface."""

import json
import lzma
import pickle
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from custext_sql import Kind, PartedRelease, Policy, Sanitizer, TextAttacker, make_key, register, sanitize_part
from custext_sql.errors import KeyFileError
from custext_sql.replacing.policy import POLICIES
from custext_sql.store.key_files import KEY_FORMATS, NEWEST_FORMAT, KeyFile, KeySettings, read_key_file
from tests.cli.test_commands import run
from tests.keys.make import ADDED, SETTINGS, TEXTS, sanitize_everywhere

KEYS = Path(__file__).parents[1] / "keys"
STORED = sorted(path.stem for path in KEYS.glob("*.key"))
OLD = [name for name in STORED if name.startswith("1-")]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "words.duckdb"
    path.write_bytes(lzma.decompress((KEYS / "words.duckdb.xz").read_bytes()))
    result = run("--db", path, "upgrade")
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def database(upgraded: Path, tmp_path: Path) -> Path:
    """A separate database, since releases are entered in it."""
    return Path(shutil.copy(upgraded, tmp_path / "own.duckdb"))


def take(name: str, folder: Path) -> Path:
    """Copy a stored key and make it private, since git does not keep file modes."""
    path = folder / f"{name}.key"
    shutil.copyfile(KEYS / path.name, path)
    path.chmod(0o600)
    return path


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_every_format_has_stored_keys() -> None:
    expected = {
        f"{number}-{name}"
        for number in KEY_FORMATS
        for chosen in (SETTINGS, *(added for since, added in ADDED.items() if since <= number))
        for name in chosen
    }
    assert set(STORED) == expected, "make them as tests/keys/make.py says, and never anew"


def test_a_new_setting_is_a_new_format() -> None:
    """A new field of a key's settings or of a policy needs a new format; earlier formats stay unchanged."""
    settings, policy = {field.name for field in fields(KeySettings)}, {field.name for field in fields(Policy)}
    assert set(KEY_FORMATS[NEWEST_FORMAT].settings) == settings
    assert set(KEY_FORMATS[NEWEST_FORMAT].policy) == policy
    for number, format in KEY_FORMATS.items():
        assert sorted([*format.settings, *format.unsaid_settings]) == sorted(settings), number
        assert sorted([*format.policy, *format.unsaid_policy]) == sorted(policy), number
    assert list(KEY_FORMATS) == list(range(1, NEWEST_FORMAT + 1))


@pytest.mark.parametrize("name", STORED)
def test_a_stored_key_has_the_fields_of_its_format(name: str, tmp_path: Path) -> None:
    content = json.loads((KEYS / f"{name}.key").read_text())
    format = KEY_FORMATS[content["custext_key"]]
    assert list(content) == ["custext_key", "key", *format.settings, "check"]
    assert tuple(content["policy"]) == format.policy
    found = read_key_file(take(name, tmp_path))
    assert (found.format, found.rules) == (int(name.partition("-")[0]), format.rules)
    assert pickle.loads(pickle.dumps(found)).format == found.format


@pytest.mark.slow
@pytest.mark.parametrize("name", STORED)
def test_a_stored_key_gives_what_it_gave(name: str, database: Path, tmp_path: Path) -> None:
    expected = json.loads((KEYS / f"{name}.json").read_text())
    found = sanitize_everywhere(database, take(name, tmp_path), tmp_path)
    assert found.keys() == expected.keys()
    for surface, texts in expected.items():
        assert found[surface] == texts, surface
    assert expected["sql"] == expected["batch"]


@pytest.mark.parametrize("name", OLD)
def test_an_old_key_keeps_to_itself_among_new_ones(name: str, database: Path, tmp_path: Path) -> None:
    """Functions share their arrays, but a key of format 1 does not share them with newer rules."""
    key = read_key_file(take(name, tmp_path))
    expected = json.loads((KEYS / f"{name}.json").read_text())["sql"]
    query = "SELECT custext_sanitize_keyed(body, 'body:' || id) FROM given ORDER BY id"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE given (id BIGINT, body VARCHAR)")
        connection.executemany("INSERT INTO given VALUES (?, ?)", list(enumerate(TEXTS)))
        same = key.settings
        register(
            connection, database, mapping=same.mapping, policy=same.policy, calibration=same.calibration
        )  # without a key, the newest rules apply
        register(connection, database, key_file=key.path)
        assert [text for (text,) in connection.execute(query).fetchall()] == expected


def test_a_policy_without_a_part_is_read_as_it_was_then(database: Path, tmp_path: Path) -> None:
    """The name of a policy covers only the fields of the format; a Policy covers all fields."""
    strict, paper = take("1-strict", tmp_path), take("1-paper", tmp_path)
    assert read_key_file(strict).settings.policy == Policy(invisible="keep", units="keep")
    assert read_key_file(paper).settings.policy == POLICIES["paper"]
    kept = Policy(invisible="keep", units="keep")
    for policy in (None, "strict", kept):
        sanitizer = Sanitizer.load(database, key_file=strict, policy=policy)
        assert sanitizer.policy == kept
        assert sanitizer.sanitize("dog\u00ad", record="r").endswith("\u00ad")
    for key, refused in ((strict, Policy()), (strict, "paper"), (paper, "strict")):
        with pytest.raises(KeyFileError, match=r"key is for policy = .*invisible keep, units keep, not"):
            Sanitizer.load(database, key_file=key, policy=refused)


def test_a_key_does_not_change_its_format(database: Path, tmp_path: Path) -> None:
    old, new = take("1-strict", tmp_path), tmp_path / "new"
    make_key(new, database)
    change(old, lambda content: content.update(custext_key=2))
    with pytest.raises(KeyFileError, match="is not a key file"):
        read_key_file(old)
    change(old, lambda content: content["policy"].update(invisible="keep"))
    with pytest.raises(KeyFileError, match="was changed after it was made"):
        read_key_file(old)
    added = ("invisible", "units", "keep_words")
    change(new, lambda content: (content.update(custext_key=1), [content["policy"].pop(name) for name in added]))
    with pytest.raises(KeyFileError, match="was changed after it was made"):
        read_key_file(new)


def test_columns_are_told_apart_in_records(tmp_path: Path) -> None:
    old = read_key_file(take("1-paper", tmp_path))
    assert old.name_records("a", ["b:c"]) == old.name_records("a:b", ["c"]) == ["a:b:c"]
    assert old.name_records("50%", [1, "x"]) == ["50%:1", "50%:x"]
    new = KeyFile(old.path, old.settings, old.key)
    assert new.format == NEWEST_FORMAT
    assert new.name_records("a", ["b:c"]) == ["a:b:c"]
    assert new.name_records("a:b", ["c"]) == ["a%3Ab:c"]
    assert new.name_records("a%3Ab", ["c"]) == ["a%253Ab:c"]
    assert new.name_records("body", [7, "%:é"]) == ["body:7", "body:%:é"]  # as SQL's 'body:' || id


@pytest.mark.parametrize("name", OLD)
def test_draws_without_the_key_are_as_new_whatever_its_format(database: Path, tmp_path: Path, name: str) -> None:
    """An old key keeps its behavior; custext_sanitize beside it uses today's meaning of its policy."""
    path = take(name, tmp_path)
    old = read_key_file(path)
    with duckdb.connect() as connection:
        register(connection, database, key_file=path)
        query = "SELECT custext_sanitize(?, 1.0, true), custext_sanitize_keyed(?, 'a')"
        [(fresh, keyed)] = connection.execute(query, ["do\u00adctor \u2764\ufe0f", "\u2764\ufe0f"]).fetchall()
    is_paper = old.settings.policy.unknown == "keep"
    assert ("\u00ad" in fresh) == is_paper
    assert fresh.endswith("\u2764\ufe0f")
    assert keyed != "\u2764\ufe0f" or old.settings.policy.unknown == "keep"


@pytest.mark.parametrize("name", [name for name in STORED if name.startswith(("1-", "2-"))])
def test_draws_without_an_old_key_mask_units_unless_its_policy_is_the_papers(
    database: Path, tmp_path: Path, name: str
) -> None:
    sanitizer = Sanitizer.load(database, key_file=take(name, tmp_path))
    assert "<email>" not in sanitizer.sanitize("a@b.org", record="1")
    is_paper = sanitizer.policy.unknown == "keep" and sanitizer.policy.invisible == "keep"
    assert ("<email>" in sanitizer.with_fresh_draws().sanitize("a@b.org")) == (not is_paper)


@pytest.mark.parametrize("name", [name for name in STORED if name.startswith(("1-", "2-"))])
def test_draws_without_an_old_key_mask_a_word_that_is_listed_alone(database: Path, tmp_path: Path, name: str) -> None:
    """Also if the key was in use before."""
    sanitizer, listed = Sanitizer.load(database, key_file=take(name, tmp_path)), frozenset({"doctor"})
    assert not sanitizer.replacer.vocabulary.find_alone(False, listed).any()
    assert sanitizer.with_fresh_draws().replacer.vocabulary.find_alone(False, listed).any()


@pytest.mark.parametrize("name", STORED)
def test_an_attacker_reads_words_by_the_rules_of_the_key(database: Path, tmp_path: Path, name: str) -> None:
    sanitizer = Sanitizer.load(database, key_file=take(name, tmp_path))
    text = "My doctor, my do\u00adctor, my \uff44octor in Boston: a@b.org 1984"
    traced = sanitizer.trace(text, record="1")
    guesses = TextAttacker(sanitizer).guess(text, traced.list_outputs())
    assert list(guesses.places) == (traced.kinds == Kind.SAMPLED).nonzero()[0].tolist()


@pytest.mark.parametrize("name", STORED)
def test_a_key_works_with_a_sanitizer_file_and_in_parts(database: Path, tmp_path: Path, name: str) -> None:
    key = take(name, tmp_path)
    release = PartedRelease("texts", "body", dataset="texts", key_file=key, record_column="id", database=database)
    sha256 = release.sanitizer.save(tmp_path / "file")
    worker = Sanitizer.open(tmp_path / "file", sha256=sha256).with_key(read_key_file(key))
    texts = pa.array(["My doctor in Boston, 1984!", None])
    made, counts = sanitize_part(worker, {"body": texts}, pa.array([1, 2]))
    assert made["body"].to_pylist() == release.sanitizer.sanitize_batch(texts.to_pylist(), records=["body:1", "body:2"])
    release.add(counts)
    assert release.publish(lambda: None).rows == 1
