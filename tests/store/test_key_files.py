"""Key files: who can read them, what they were made for, and that a record always gives the same output."""

import json
import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import CusTextError, Policy, Sanitizer, build_mapping, connect, make_key, register
from custext_sql.errors import KeyFileError
from custext_sql.mechanism.randomness import SecretKey
from custext_sql.sanitizer.settings import Settings
from custext_sql.store.contents import load_mapping
from custext_sql.store.key_files import FORMAT, KeyFile, read_key_file
from tests.cli.test_commands import run
from tests.shipped_stopwords import STOPWORDS

PINNED = [
    "carol, bob & carol; carol'd sybil peggy 99244 the",
    "carol, mallory & carol; carol'd frank mallory 21322 the",
    "erin erin 57",
]
TEXT = "Alice, bob & carol; alice'd dave zq 12345 the"


@pytest.fixture
def key_path(mapped_db: Path, tmp_path: Path) -> Path:
    path = tmp_path / "key"
    make_key(path, mapped_db, eps=1.0, plus=True)
    return path


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_a_key_file_is_for_its_owner_and_names_its_settings(mapped_db: Path, key_path: Path) -> None:
    assert stat.S_IMODE(key_path.stat().st_mode) == 0o600
    found = read_key_file(key_path)
    assert (found.settings.eps, found.settings.plus, found.settings.policy) == (1.0, True, Policy())
    assert (found.settings.mapping, found.settings.calibration) == ("small-euclidean-k4", "paper")
    secret = json.loads(key_path.read_text())["key"]
    assert len(secret) == 64
    assert secret not in repr(found)
    assert secret.encode() not in pickle.dumps(Sanitizer.load(mapped_db, key_file=key_path))


def test_keygen_tells_all_that_a_key_is_for(mapped_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "key"
    result = run("--db", mapped_db, "keygen", path, "--eps", "0.5", "--plus", "--policy", "paper")
    assert result.exit_code == 0, result.output
    made = read_key_file(path)
    for expected in (
        f"{path}: key {made.key.name}, for these settings only:",
        f"mapping      small-euclidean-k4, fingerprint {made.settings.fingerprint}",
        "plus         yes, stopwords are kept",
        f"stopwords    english, digest {made.settings.stopwords}",
        "policy       paper: unknown keep, numbers shape, case lower, invisible keep, units keep",
        f"format       {FORMAT}",
    ):
        assert expected in result.output
    assert json.loads(path.read_text())["key"] not in result.output
    shown = json.loads(run("--db", mapped_db, "keygen", tmp_path / "other", "--json").output)
    other = read_key_file(tmp_path / "other")
    assert shown == {
        "path": str(tmp_path / "other"),
        "name": other.key.name,
        "format": FORMAT,
        "mapping": "small-euclidean-k4",
        "fingerprint": other.settings.fingerprint,
        "eps": 1.0,
        "plus": False,
        "policy": Policy().to_dict(),
        "calibration": "paper",
        "language": "english",
        "stopwords": other.settings.stopwords,
    }


def test_two_keys_differ_and_none_is_overwritten(mapped_db: Path, key_path: Path, tmp_path: Path) -> None:
    before = key_path.read_bytes()
    with pytest.raises(KeyFileError, match="already exists, and key files are never overwritten"):
        make_key(key_path, mapped_db)
    assert key_path.read_bytes() == before
    assert make_key(tmp_path / "other", mapped_db, plus=True).key.name != read_key_file(key_path).key.name
    for place, message in ((tmp_path / "no" / "folder", "No such file or directory"), ("a\0b", "invalid file name")):
        with pytest.raises(KeyFileError, match=f"cannot write the key file .*: {message}"):
            make_key(place, mapped_db)
    with pytest.raises(KeyFileError, match="cannot read the key file .*nothing: No such file"):
        Sanitizer.load(mapped_db, key_file=tmp_path / "nothing")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o602])
def test_a_key_that_others_can_read_or_change_is_refused(mapped_db: Path, key_path: Path, mode: int) -> None:
    key_path.chmod(mode)
    with pytest.raises(KeyFileError, match=f"by other users .mode {mode:04o}.; run: chmod 600"):
        Sanitizer.load(mapped_db, key_file=key_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_key_that_belongs_to_another_user_is_refused(mapped_db: Path, key_path: Path) -> None:
    """Its owner could read it, and change its mode at any time."""
    os.chown(key_path, 12345, 12345)
    with pytest.raises(KeyFileError, match="belongs to another user .ID 12345., who can read and change it; make"):
        Sanitizer.load(mapped_db, key_file=key_path)


def test_columns_are_told_apart_in_records(key_path: Path) -> None:
    key = read_key_file(key_path)
    assert key.name_records("a", ["b:c"]) == ["a:b:c"]
    assert key.name_records("a:b", ["c"]) == ["a%3Ab:c"]
    assert key.name_records("a%3Ab", ["c"]) == ["a%253Ab:c"]
    assert key.name_records("body", [7, "%:é"]) == ["body:7", "body:%:é"]  # as SQL's 'body:' || id


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(key=c["key"][:32]), "expected a key of 256 bits; found 128"),
        (lambda c: c.pop("eps"), "is not a key file"),
        (
            lambda c: c.update(custext_key=4),
            f"is a key of format 4; this version reads format {FORMAT}; make another one with: custext keygen PATH",
        ),
        (lambda c: c.update(custext_key=True), "is not a key file"),
        (lambda c: c["policy"].update(note="mine"), "is not a key file"),
        (lambda c: c["policy"].pop("invisible"), "is not a key file"),
        (lambda c: c["policy"].update(keep_words="alice"), "is not a key file"),
        (lambda c: c["policy"].update(keep_words=["alice"]), "was changed after it was made"),
        (lambda c: c.update(policy=["mask"]), "is not a key file"),
        (lambda c: c.update(eps=3.0), "was changed after it was made"),
        (lambda c: c.update(key="0" * 64), "was changed after it was made"),
        (lambda c: c.pop("check"), "is not a key file"),
    ],
)
def test_a_key_that_was_changed_is_refused(
    mapped_db: Path, key_path: Path, edit: Callable[[dict[str, Any]], object], message: str
) -> None:
    change(key_path, edit)
    with pytest.raises(CusTextError, match=message):
        Sanitizer.load(mapped_db, key_file=key_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b'{"custext_key": 5}', b"[" * 200_000, None])
def test_other_files_are_refused(mapped_db: Path, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "file"
    if content is None:
        os.mkfifo(path)  # which nobody writes to
    else:
        path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="is not a key file; make one with: custext keygen"):
        Sanitizer.load(mapped_db, key_file=path)


def test_other_settings_are_refused(mapped_db: Path, key_path: Path) -> None:
    build_mapping(mapped_db, embedding="small", k=8, name="other")
    for settings, message in (
        ({"policy": "paper"}, "policy = unknown mask, numbers mask, .* units mask, not unknown keep, numbers shape"),
        ({"policy": Policy(invisible="keep")}, "policy = .*invisible drop, units mask, not .*, invisible keep"),
        ({"calibration": "tight"}, "calibration = paper, not tight"),
        ({"mapping": "other"}, "fingerprint = "),
        ({"language": "german"}, "language = english, not german"),
    ):
        with pytest.raises(KeyFileError, match=f"key is for {message}"):
            Sanitizer.load(mapped_db, key_file=key_path, **settings)
    with duckdb.connect() as connection, pytest.raises(KeyFileError, match="key is for calibration"):
        register(connection, mapped_db, key_file=key_path, calibration="tight")
    sanitizer = Sanitizer.load(mapped_db, key_file=key_path)
    for eps, plus, message in ((2.0, None, "eps = 1, not 2"), (None, False, "plus = True, not False")):
        with pytest.raises(KeyFileError, match=f"key is for {message}; for other settings, make another key"):
            sanitizer.sanitize(TEXT, eps, plus, record="r")
    with pytest.raises(KeyFileError, match="eps = 1, not 2"):
        sanitizer.sanitize_batch([TEXT, TEXT], [1.0, 2.0], records=["r", "s"])
    assert sanitizer.sanitize(TEXT, 1.0, True, record="r") == sanitizer.sanitize(TEXT, record="r")
    with duckdb.connect(mapped_db) as connection:  # other words of a released text would be drawn
        connection.execute("INSERT INTO stopwords VALUES ('english', 'alice', 'mine')")
    with pytest.raises(KeyFileError, match="key is for stopwords = "):
        Sanitizer.load(mapped_db, key_file=key_path)
    build_mapping(mapped_db, embedding="small", k=5, name="small-euclidean-k4", replace=True)
    with pytest.raises(KeyFileError, match="key is for fingerprint"):
        Sanitizer.load(mapped_db, key_file=key_path)


def test_a_key_is_the_same_wherever_a_sanitizer_travels(mapped_db: Path, key_path: Path, tmp_path: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db, key_file=key_path)
    packed = pickle.dumps(sanitizer)
    make_key(tmp_path / "other", mapped_db, eps=50, policy="paper")
    key_path.write_bytes((tmp_path / "other").read_bytes())
    with pytest.raises(KeyFileError, match="now has another key"):
        pickle.loads(packed)
    assert sanitizer.key is not None
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(sanitizer.key.key)


def test_records_and_keys_belong_together(mapped_db: Path, key_path: Path) -> None:
    keyed, fresh = Sanitizer.load(mapped_db, key_file=key_path), Sanitizer.load(mapped_db)
    for sanitizer, records, message in (
        (keyed, None, "keyed draws need a record for each text"),
        (fresh, ["r", "s"], "records are only for keyed draws"),
        (keyed, ["r"], "records must have one value per text, 2 in all; found 1"),
        (keyed, ["r", None], "a record must be a string; the record at index 1 is missing"),
    ):
        with pytest.raises(CusTextError, match=message):
            sanitizer.sanitize_batch([TEXT, TEXT], records=records)
    with pytest.raises(CusTextError, match="give a key or a seed, not both"):
        Sanitizer.load(mapped_db, key_file=key_path, seed=1)


def test_a_record_gives_the_same_text_in_every_query(mapped_db: Path, key_path: Path) -> None:
    with connect(mapped_db, key_file=key_path) as connection:
        query = f"SELECT custext_sanitize_keyed('{TEXT.replace(chr(39), chr(39) * 2)}', 'body:7')"
        first = connection.execute(query).fetchall()
        connection.execute(f"PREPARE again AS {query}")
        assert all(connection.execute("EXECUTE again").fetchall() == first for _ in range(50))
        others = connection.execute(query.replace("'body:7'", "'body:' || range") + " FROM range(500)").fetchall()
        assert others[7] == first[0]
        assert len(set(others)) > 100
    sanitizer = Sanitizer.load(mapped_db, key_file=key_path)
    copy = pickle.loads(pickle.dumps(sanitizer))
    for again in (sanitizer, copy):
        assert again.sanitize(TEXT, record="body:7") == first[0][0]
        assert again.sanitize_batch(["x y", TEXT, "z"], records=["1", "body:7", "2"])[1] == first[0][0]


def test_the_same_word_twice_draws_twice(mapped_db: Path, key_path: Path) -> None:
    """One replacement per distinct word would distinguish "a a" from "a b" with certainty."""
    sanitizer = Sanitizer.load(mapped_db, key_file=key_path)
    records = [str(number) for number in range(5_000)]
    twice = [text.split() for text in sanitizer.sanitize_batch(["alice alice"] * 5_000, records=records)]
    chances = sanitizer.distribution("alice")
    expected = sum(chance**2 for chance in chances.values())
    assert abs(sum(first == second for first, second in twice) / len(twice) - expected) < 0.04
    once = sanitizer.sanitize_batch(["alice"] * 5_000, records=records)
    same = sum(first == alone for (first, _), alone in zip(twice, once, strict=True)) / len(twice)
    assert abs(same - expected) < 0.04  # a word is drawn again if anything in its text changes


def test_keyed_draws_are_pinned(mapped_db: Path, tmp_path: Path) -> None:
    """A released text must give the same output in every version; this pins a mapping, a key and their output."""
    made = make_key(tmp_path / "key", mapped_db, plus=True, policy=Policy(unknown="random", numbers="shape"))
    key = KeyFile(made.path, made.settings, SecretKey(bytes(range(32))))
    stopwords = frozenset(STOPWORDS)
    sanitizer = Sanitizer(load_mapping(mapped_db), stopwords, Settings.settle(policy=made.settings.policy, key=key))
    found = sanitizer.sanitize_batch([TEXT, TEXT, "zq zq 99"], records=["body:1", "body:2", "é"])
    assert found == PINNED
