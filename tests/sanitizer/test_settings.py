"""Settings are resolved in one place: given, else the key's, else the default."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import spacy

from custext_sql import CusTextError, Policy, Sanitizer, connect, find_leaks, make_key, register, sanitize_file
from custext_sql.errors import SettingError
from custext_sql.experiments import choose
from custext_sql.sanitizer.settings import Settings
from custext_sql.store.key_files import KeyFile, KeySettings

OTHERS = {"eps": 2.0, "plus": False, "policy": "paper", "calibration": "paper", "language": "german"}


@pytest.fixture
def key(mapped_db: Path, tmp_path: Path) -> KeyFile:
    path = tmp_path / "own.key"
    return make_key(path, mapped_db, eps=3.0, plus=True, policy=Policy(unknown="random"), calibration="tight")


def test_without_anything_given_the_defaults_hold() -> None:
    assert Settings.settle() == Settings()
    assert Settings() == Settings(None, 1.0, False, Policy("mask", "mask", "lower", "drop"), "paper", "english", None)


def test_what_is_not_given_comes_from_the_key(key: KeyFile) -> None:
    for given in (key, key.path, str(key.path)):
        settled = Settings.settle(key=given)
        for name in ("mapping", "eps", "plus", "policy", "calibration", "language"):
            assert getattr(settled, name) == getattr(key.settings, name)
        assert settled.key is not None and settled.key.key.name == key.key.name
    fresh = settled.without_key()
    assert fresh.key is None and fresh == replace(settled, key=None) and fresh.with_key(key) == Settings.settle(key=key)


@pytest.mark.parametrize("name", OTHERS)
def test_what_differs_from_the_key_is_refused(key: KeyFile, name: str) -> None:
    with pytest.raises(CusTextError, match=f"key is for {name} = "):
        Settings.settle(key=key, **{name: OTHERS[name]})  # type: ignore[arg-type]
    same = getattr(key.settings, name)
    assert Settings.settle(key=key, **{name: same}) == Settings.settle(key=key)


def test_every_setting_of_a_key_is_settled() -> None:
    made_for = {"fingerprint", "stopwords"}  # they follow from the mapping and the language
    of_keys = {field.name for field in fields(KeySettings)}
    assert {field.name for field in fields(Settings)} - {"key"} == of_keys - made_for


def test_python_sql_and_spacy_settle_alike(mapped_db: Path, key: KeyFile) -> None:
    sanitizer = Sanitizer.load(mapped_db, key_file=key.path)
    assert sanitizer.settings == Settings.settle(key=sanitizer.key)
    expected = sanitizer.sanitize("alice said bob went home", record="r")
    assert expected == sanitizer.sanitize("alice said bob went home", 3.0, True, record="r")
    with connect(mapped_db, key_file=key.path) as connection:
        query = "SELECT custext_sanitize_keyed('alice said bob went home', 'r')"
        assert connection.execute(query).fetchall() == [(expected,)]
    nlp = spacy.blank("en")
    nlp.add_pipe("custext", config={"database": str(mapped_db), "key_file": str(key.path)})
    doc = nlp.make_doc("alice said bob went home")
    doc._.custext_record = "r"
    assert nlp(doc)._.custext == expected


@pytest.mark.parametrize(
    "setting, value, message",
    [
        ("eps", 0.0005, "eps must be 0, or between"),
        ("eps", float("nan"), "eps must be 0, or between"),
        *(("plus", value, "plus must be a bool") for value in ("no", "false", 1)),
        *(("policy", value, "policy must be one of") for value in ("", "loose")),
        ("policy", ["strict"], "policy must be one of strict, paper or a Policy; found list$"),
        ("calibration", "", "calibration must be one of"),
        ("language", "", "no stopwords for ''"),
        *(("mapping", name, f"mapping {name!r} does not exist") for name in ("", "nothing")),
    ],
)
def test_no_surface_takes_what_is_no_setting(
    mapped_template: Path, tmp_path: Path, setting: str, value: Any, message: str
) -> None:
    given = {setting: value}
    (tmp_path / "in.csv").write_text("id,body\n1,alice\n")
    files = (tmp_path / "in.csv", tmp_path / "out.csv")
    calls: list[Callable[[], object]] = [
        lambda: Sanitizer.load(mapped_template, **given),
        lambda: make_key(tmp_path / "never.key", mapped_template, **given),
        lambda: sanitize_file(*files, columns="body", database=mapped_template, **given),
    ]
    if setting not in ("language", "mapping"):  # any name is valid until it is loaded
        calls += [lambda: Settings(**given), lambda: Settings.settle(**given)]
    if setting in ("mapping", "policy"):
        calls.append(lambda: connect(mapped_template, **given))
    for call in calls:
        with pytest.raises(CusTextError, match=message):
            call()
    assert list(tmp_path.iterdir()) == [files[0]]


def test_a_dict_is_no_policy(mapped_template: Path) -> None:
    """Its values may be words of a user's texts, so they are not in the message."""
    given: Any = {"keep_words": ["Zyzzyva"]}
    calls: list[Callable[[], object]] = [
        lambda: Sanitizer.load(mapped_template, policy=given),
        lambda: register(duckdb.connect(), mapped_template, policy=given),
        lambda: find_leaks(["alice"], database=mapped_template, policy=given),
        lambda: choose(mapped_template, data=["alice"], policy=given),
    ]
    hint = 'found dict; to change parts of the strict one: Policy(unknown="keep", ...)'
    for call in calls:
        with pytest.raises(SettingError) as error:
            call()
        assert str(error.value) == f"policy must be one of strict, paper or a Policy; {hint}"
