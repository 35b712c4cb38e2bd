"""Words to keep stay and are counted; other words do not hide among them; and the list is part of the key."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from custext_sql import Policy, Sanitizer, connect, make_key
from custext_sql.errors import KeyFileError, SettingError, SourceError
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.policy import name_policy
from custext_sql.sanitizer.settings import Settings
from custext_sql.store.key_files import read_key_file
from custext_sql.text.word_boundaries import read_word_file
from tests.files.test_data_files import db, folder, run
from tests.small_mapping import small_mapping

__all__ = ["db", "folder"]  # fixtures

WORDS = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"]


@pytest.fixture
def mapping() -> Mapping:
    return small_mapping(WORDS, k=4)


def find_group(mapping: Mapping, word: str) -> list[str]:
    """Return the group of a word."""
    place = mapping.index[word]
    start = max(start for start in mapping.word_starts.tolist() if start <= place)
    return list(mapping.words[start : start + 4])


def load(mapping: Mapping, *words: str, **settings: str) -> Sanitizer:
    return Sanitizer(mapping, frozenset(), Settings(policy=Policy(keep_words=words, **settings)))


def test_kept_words_stay_in_any_case_and_are_counted(mapping: Mapping) -> None:
    sanitizer = load(mapping, "Alice", "speaker_1", "2024")
    text, receipt = sanitizer.release(["ALICE speaker_1: bob Alice's 2024 zzz", "speaker_1"])
    words = text[0].replace(":", "").split()
    assert [words[place] for place in (0, 1, 4, 5)] == ["ALICE", "speaker_1", "2024", "<unk>"]
    assert words[3] == "Alice's"
    assert text[1] == "speaker_1"
    assert (receipt.kept, receipt.replaced, receipt.unknown_masked, receipt.endings) == (5, 1, 1, 1)
    assert receipt.characters_in_clear == len("ALICE speaker_1 Alice s 2024 speaker_1".replace(" ", ""))


def test_the_last_word_of_a_group_is_masked(mapping: Mapping) -> None:
    *kept, last = find_group(mapping, "alice")
    for policy in ("mask", "keep"):
        text, receipt = load(mapping, *kept, unknown=policy).release([f"{last} {kept[0]}"])
        assert text == [f"<unk> {kept[0]}"]
        assert (receipt.alone_masked, receipt.kept) == (1, 1)


def test_the_guarantee_is_that_of_the_words_that_are_replaced(mapping: Mapping) -> None:
    group = find_group(mapping, "alice")
    whole, less = load(mapping), load(mapping, group[0])
    assert less.guarantee({3.0}, {False}).worst_log_ratio <= whole.guarantee({3.0}, {False}).worst_log_ratio <= 3.0
    tables = [less.distribution(word, 3.0) for word in group[1:]]
    ratios = [abs(math.log(one[output] / other[output])) for one in tables for other in tables for output in group]
    others = [whole.distribution(word, 3.0) for word in mapping.words if word not in group]
    ratios += [abs(math.log(one[output] / two[output])) for one in others for two in others for output in one]
    assert less.guarantee({3.0}, {False}).worst_log_ratio == pytest.approx(max(ratios), abs=1e-6)


def test_the_list_is_part_of_the_key(mapped_db: Path, tmp_path: Path) -> None:
    policy = Policy(keep_words=["Alice", "label"])
    make_key(tmp_path / "key", mapped_db, policy=policy)
    assert read_key_file(tmp_path / "key").settings.policy == policy
    keyed = Sanitizer.load(mapped_db, key_file=tmp_path / "key")
    assert keyed.sanitize("alice LABEL", record="1") == "alice LABEL"
    with pytest.raises(KeyFileError, match=r"this key is for policy = .*keep_words 2:[0-9a-f]{16}, not .*units mask;"):
        Sanitizer.load(mapped_db, key_file=tmp_path / "key", policy=Policy())
    plain = Sanitizer.load(mapped_db)
    changed = plain.with_key(read_key_file(tmp_path / "key"))
    texts = ["bob alice label carol erin"]
    assert changed.sanitize_batch(texts, records=["7"]) == keyed.sanitize_batch(texts, records=["7"])
    assert changed.guarantee({1.0}, {False}) == keyed.guarantee({1.0}, {False})
    assert changed.with_fresh_draws().sanitize("alice") == "alice"


def test_every_interface_takes_the_list(db: Path, folder: Path) -> None:
    (folder / "kept.txt").write_text("Alice\r\n\nlabel\n", encoding="utf-8")
    assert run("sanitize", "ALICE label", "--keep-words", "kept.txt").stdout == "ALICE label\n"
    query = "SELECT custext_sanitize('ALICE label', 1, false) AS t"
    assert json.loads(run("sql", query, "--keep-words", "kept.txt", "--json").stdout) == [{"t": "ALICE label"}]
    with connect(db, policy=Policy(keep_words=["label", "alice"])) as connection:
        assert connection.execute(query).fetchall() == [("ALICE label",)]
    assert run("keygen", "key", "--keep-words", "kept.txt").exit_code == 0
    (folder / "in.csv").write_text("id,body\n1,ALICE label\n")
    options = ("--column", "body", "--key-file", "key", "--record-column", "id")
    assert run("sanitize", "in.csv", "out.csv", *options).exit_code == 0
    assert (folder / "out.csv").read_text() == "id,body\n1,ALICE label\n"
    assert run("sanitize", "in.csv", "again.csv", *options, "--keep-words", "kept.txt").exit_code == 0
    refused = run("sanitize", "in.csv", "fourth.csv", *options, "--units", "keep")
    assert refused.exit_code == 1
    assert "this key is for policy" in refused.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("alice", "policy: keep_words must be a list of words"),
        (["alice", "two words"], "policy: keep_words: each entry of words must be a single word; entry 2 is not"),
        ([f"w{number}" for number in range(10_001)], "keep_words may have 10,000 words at most; found 10,001"),
        ([1, "a"], "policy: keep_words must be a list of words"),
        (["\ud800"], "policy: keep_words has characters that cannot be written in UTF-8"),
    ],
)
def test_wrong_lists_are_refused(words: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Policy(keep_words=words)


def test_policies_are_named_and_spellings_of_a_word_are_one(mapping: Mapping) -> None:
    assert name_policy(Policy()) == "strict"
    assert name_policy(Policy("keep", "shape", "lower", "keep", "keep")) == "paper"
    assert name_policy(Policy(units="keep", keep_words=["a", "B"])) == "strict, except units=keep, 2 kept words"
    policy = Policy(keep_words=["caf\u00e9", "CAFE\u0301", "\ufb01ne"])
    assert policy == Policy(keep_words=["cafe\u0301", "fine"])
    text = "caf\u00e9 cafe\u0301 \ufb01ne FINE \uff46\uff49\uff4e\uff45"
    assert load(mapping, *policy.keep_words).sanitize(text) == text


def test_a_list_is_short(folder: Path) -> None:
    (folder / "kept.txt").write_bytes(b"a\n" * 600_000)
    message = "kept.txt: expected a short list of words, one per line; found more than 1 MB"
    with pytest.raises(SourceError, match=message):
        read_word_file("kept.txt")
