"""`custext leaks` and `find_leaks`: every word that is not in the vocabulary, counted, and what becomes of it."""

import csv
import json
import re
import stat
from collections import Counter
from pathlib import Path

import pytest

from custext_sql import Policy, Sanitizer, find_leaks
from custext_sql.errors import CusTextError
from custext_sql.files.preview.leaks import LeakedKind, Leaks
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import list_releases

__all__ = ["db", "folder"]  # fixtures

TEXTS = [
    "The Zzyzxa of alice and zzyzxa, 12345 😀",
    None,
    "ZZYZXA Ärzte ärzte 12345 7 bob's qwfp ☎",
    "мария мария 東京 Ζωή mail me@example.org on 1980-01-02",
    "",
]


def by_kind(leaks: Leaks) -> dict[str, LeakedKind]:
    return {kind.kind: kind for kind in leaks.kinds}


def words_of(leaks: Leaks, kind: str) -> dict[str, int]:
    found = by_kind(leaks).get(kind)
    return {} if found is None else {one.word: one.count for one in found.words}


def test_words_are_counted_by_kind_in_lower_case(db: Path) -> None:
    leaks = find_leaks(TEXTS, plus=True)
    assert words_of(leaks, "unknown") == {"zzyzxa": 3, "ärzte": 2, "qwfp": 1, "mail": 1}
    assert words_of(leaks, "other script") == {"мария": 2, "東京": 1, "ζωή": 1}
    assert words_of(leaks, "number") == {"12345": 2, "7": 1}
    assert words_of(leaks, "symbol") == {"😀": 1, "☎": 1}
    assert words_of(leaks, "email") == {"me@example.org": 1} and words_of(leaks, "date") == {"1980-01-02": 1}
    assert (leaks.rows, leaks.replaced, leaks.stopwords, leaks.endings) == (5, 2, 4, 1)
    assert leaks.words == sum(kind.count for kind in leaks.kinds if kind.kind != "symbol") + 2 + 4 + 1
    unknown = by_kind(leaks)["unknown"]
    assert (unknown.count, unknown.distinct, unknown.share) == (7, 4, 7 / leaks.words)
    assert by_kind(leaks)["symbol"].share is None
    leaks = find_leaks(TEXTS, policy=Policy(keep_words={"Zzyzxa", "alice"}))
    assert "zzyzxa" not in words_of(leaks, "unknown") and leaks.kept == 4


@pytest.mark.parametrize(
    ("policy", "fates"),
    [
        ("strict", {"unknown": "<unk>", "number": "<num>", "email": "<email>", "symbol": "in the clear"}),
        ("paper", {"unknown": "in the clear", "other script": "in the clear", "number": "random digits"}),
        (Policy(unknown="random", numbers="keep"), {"unknown": "a random word", "number": "in the clear"}),
    ],
)
def test_what_becomes_of_them_depends_on_the_policy(db: Path, policy: str | Policy, fates: dict[str, str]) -> None:
    leaks = find_leaks(TEXTS, policy=policy)
    found = by_kind(leaks)
    assert {kind: found[kind].becomes for kind in fates} == fates
    assert all(kind.in_clear == (kind.becomes == "in the clear") for kind in leaks.kinds)
    receipt = Sanitizer.load(db, policy=policy).release([text for text in TEXTS if text])[1]
    passing = receipt.unknown_kept + receipt.endings + (receipt.numbers if found["number"].in_clear else 0)
    assert leaks.in_clear == passing
    assert leaks.words == receipt.words and leaks.replaced == receipt.replaced
    assert found["symbol"].count == receipt.symbols


def test_counts_agree_with_a_plain_count_however_blocks_are_cut(
    db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"alice", "bob", "carol"}
    lines = [f"alice x{number % 7} Carol y{number % 301}z Y{number % 11}Z\n" for number in range(3000)]
    (folder / "in.txt").write_text("".join(lines))
    expected = Counter(word for line in lines for word in re.findall(r"\w+", line.lower()) if word not in known)
    monkeypatch.setattr("custext_sql.files.preview.leaks._MOST_ROWS", 500)
    monkeypatch.setattr("custext_sql.files.inputs.encodings._CHUNK", 4000)
    leaks = find_leaks("in.txt", top=None)
    assert words_of(leaks, "unknown") == expected
    assert by_kind(leaks)["unknown"].distinct == len(expected)
    few = by_kind(find_leaks("in.txt", top=3))["unknown"].words
    assert [(one.word, one.count) for one in few] == sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:3]


def test_all_words_are_written_for_their_owner_only(db: Path, folder: Path) -> None:
    (folder / "in.csv").write_text("body\nalice zzyzxa 12 zzyzxa\nqwfp мария\n")
    done = run("leaks", "in.csv", "--column", "body", "--top", "1", "--output", "words.csv")
    assert done.exit_code == 0 and "words.csv: 4 words" in done.output and "qwfp" not in done.output
    assert stat.S_IMODE((folder / "words.csv").stat().st_mode) == 0o600
    with (folder / "words.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["word"], row["kind"], row["count"], row["becomes"]) for row in rows] == [
        ("zzyzxa", "unknown", "2", "<unk>"),
        ("qwfp", "unknown", "1", "<unk>"),
        ("мария", "other script", "1", "<unk>"),
        ("12", "number", "1", "<num>"),
    ]
    assert float(rows[0]["share"]) == pytest.approx(2 / 6)
    before = (folder / "words.csv").read_bytes()
    assert "already exists" in run("leaks", "in.csv", "--column", "body", "--output", "words.csv").output
    assert (folder / "words.csv").read_bytes() == before
    assert run("leaks", "in.csv", "--column", "body", "--output", "words.csv", "--force").exit_code == 0
    assert "must end in .csv" in run("leaks", "in.csv", "--column", "body", "--output", "words.txt").output
    assert not list(folder.glob(".*"))


def test_the_command_prints_what_the_function_returns(db: Path, folder: Path) -> None:
    (folder / "in.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    found = json.loads(run("leaks", "in.jsonl", "--column", "body", "--plus", "--json").stdout)
    expected = find_leaks("in.jsonl", column="body", plus=True)
    assert found["words"] == expected.words and found["advice"] == list(expected.advice)
    assert found["kinds"][0]["words"][0] == {"word": "zzyzxa", "count": 3, "share": 3 / expected.words}
    lines = run("leaks", "in.jsonl", "--column", "body", "--plus").output.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split() == ["unknown", "7", "4", "30.43%", "<unk>"] for line in lines)
    assert any(line.split()[:1] == ["1"] and "U+1F600 grinning face" in line for line in lines)
    assert any(line.split() == ["1", "<email>", "me@example.org"] for line in lines)
    assert lines[-1].startswith("These are words of your texts")
    assert list_releases(db) == [] and [path.name for path in folder.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("texts", "policy", "said", "unsaid"),
    [
        (["alice bob"], "strict", ["Nothing to do"], ["--keep-words", "--unknown"]),
        ([], "strict", ["no words"], ["Nothing to do"]),
        (["alice qwfp " * 20], "strict", ["custext load", "--keep-words"], ["--unknown mask", "different languages"]),
        (["alice qwfp " * 20], "paper", ["--unknown mask", "--keep-words"], ["--units mask"]),
        (["qwfp zzyzxa bob " * 20], "strict", ["different languages", "custext stopwords --language"], []),
        (["мария " + "alice " * 20], "strict", ["another script"], ["different languages"]),
        (["alice 12"], Policy(numbers="keep"), ["--numbers mask"], ["--keep-words"]),
        (["alice 12"], "paper", ["--units mask"], ["--numbers mask"]),
        (["alice ☎"], "strict", ["Symbols always pass"], ["Nothing to do"]),
    ],
)
def test_advice_follows_from_what_was_found(
    db: Path, texts: list[str], policy: str | Policy, said: list[str], unsaid: list[str]
) -> None:
    advice = " ".join(find_leaks(texts, policy=policy).advice)
    assert all(part in advice for part in said) and not any(part in advice for part in unsaid)


def test_wrong_settings_are_errors(db: Path) -> None:
    with pytest.raises(CusTextError, match="top"):
        find_leaks(TEXTS, top=-1)
    with pytest.raises(CusTextError, match="output must be a path"):
        find_leaks(TEXTS, output=1)  # type: ignore[arg-type]
