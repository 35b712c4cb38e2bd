"""Texts that come out unchanged are counted by every way to release them, and their owner is warned."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import spacy

from custext_sql import Policy, Sanitizer, find_leaks, make_key, sanitize_file
from custext_sql.errors import PrivacyWarning, ReleaseWarning
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.tally import Tally
from tests.files.test_data_files import db, folder, run
from tests.small_mapping import small_mapping

__all__ = ["db", "folder"]  # fixtures

WARNING = "2 texts came out unchanged: their words were kept or replaced by themselves"
AT_ZERO = ("--eps", "0", "--plus")
POLICIES = [
    Policy(),
    Policy(case="match", unknown="random"),
    Policy(unknown="keep", numbers="shape"),
    Policy(unknown="keep", numbers="keep", keep_words={"zzz", "b"}),
]


@pytest.mark.parametrize("eps", [0.0, [0.0, 5.0] * 500])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("plus", [False, True])
def test_the_count_is_that_of_a_plain_comparison(policy: Policy, eps: float | list[float], plus: bool) -> None:
    pool = ["A", "b", "C", "d", "e", "the", "AND", "zzz", "7", "12", "٣", "a's", "A’s", "...", "😀", ""]
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(pool, size=size)) for size in generator.integers(0, 4, 1000)]
    mapping = small_mapping([*"abcdefghij", "the"], k=3)
    sanitizer, tally = Sanitizer(mapping, frozenset({"the", "and"}), Settings(policy=policy)), Tally()
    released = sanitizer.sanitize_arrow(pa.array(texts), eps, plus, tally=tally).to_pylist()
    pairs = [pair for pair in zip(texts, released, strict=True) if any(map(str.isalnum, pair[0]))]
    unchanged = sum(old.lower() == new.lower() for old, new in pairs)
    assert sanitizer.receipt(tally, 1.0, plus).texts_unchanged == unchanged
    assert 0 < unchanged < len(pairs)


@pytest.fixture
def texts(db: Path) -> list[str | None]:
    """Return texts, of which two come out unchanged at eps = 0 with `plus`, one of them at any eps."""
    sanitizer = Sanitizer.load(db)
    words = ("alice", "bob", "carol", "dave", "erin", "frank")
    same = {word: sanitizer.sanitize(word, 0) == word for word in words}
    stays, changes = (next(word for word in words if same[word] is wanted) for wanted in (True, False))
    return [f"The {stays.title()}, {stays}!", "The AND", f"{stays} {changes}", f"the {stays} zzz", None, "", "?! -"]


def write_csv(texts: list[str | None]) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest(range(7)) AS id, unnest(?::VARCHAR[]) AS body", [texts])
        connection.execute("COPY t TO 'in.csv'")
        connection.execute("COPY (SELECT id, 'zzz' AS body, body AS title FROM t) TO 'two.csv'")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sanitize", "in.csv", "out.parquet", "--column", "body", *AT_ZERO),
        ("sanitize", "two.csv", "out.csv", "--column", "body", "--column", "title", *AT_ZERO),
        ("sanitize", "in.csv", "out.csv", "--column", "body", "--key-file", "k", "--record-column", "id"),
        ("sanitize", "-", "-", *AT_ZERO),
        ("sql", "SELECT custext_sanitize(body, 0, true) AS body FROM 'in.csv'", "--output", "out.csv"),
    ],
)
def test_commands_count_and_warn(db: Path, folder: Path, texts: list[str | None], arguments: tuple[str, ...]) -> None:
    write_csv(texts)
    lines = "".join(f"{text or ''}\n" for text in texts).encode()
    make_key("k", db, eps=0, plus=True)
    done = run(*arguments, input=lines)
    assert done.exit_code == 0, done.output
    assert "; 2 texts unchanged\n" in done.stderr and f"\nWarning: {WARNING}\n" in done.stderr


def test_python_counts_and_warns(db: Path, folder: Path, texts: list[str | None]) -> None:
    write_csv(texts)
    with pytest.warns(PrivacyWarning, match=WARNING):
        receipt = Sanitizer.load(db).release(texts, 0, True)[1]
    with pytest.warns(ReleaseWarning, match=WARNING):
        report = sanitize_file("in.csv", "out.csv", columns="body", eps=0, plus=True)
    assert receipt.texts_unchanged == report.receipt.texts_unchanged == 2
    assert "texts_unchanged" not in receipt.to_dict()  # for one text, it tells that the output is the input


def test_documents_are_texts(db: Path, texts: list[str | None]) -> None:
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("custext", config={"database": str(db), "eps": 0.0, "plus": True})
    docs = list(nlp.pipe(text or "" for text in texts))
    assert [doc._.custext_receipt.texts_unchanged for doc in docs] == [1, 1, 0, 0, 0, 0, 0]
    assert pipe.receipt.texts_unchanged == 2  # type: ignore[attr-defined]


def test_diff_marks_them(db: Path, folder: Path, texts: list[str | None]) -> None:
    write_csv(texts)
    asked = ("diff", "in.csv", "--column", "body", "--rows", "7", *AT_ZERO)
    shown = run(*asked)
    assert [line[0] for line in shown.stdout.splitlines() if line[:2] in ("+ ", "= ")] == [*"==+++++"]
    assert shown.stderr == "Warning: 2 texts came out unchanged\n"
    as_json = run(*asked, "--json")
    assert [row["unchanged"] for row in json.loads(as_json.stdout)] == [True, True] + [False] * 5
    page = run(*asked, "--html", "page.html")
    assert as_json.stderr == page.stderr == shown.stderr
    html = Path("page.html").read_text()
    assert html.count("; unchanged</footer>") == 2 and " 2 texts came out unchanged.</p>" in html
    Path("in.csv").write_text("body\nzzz\n")
    assert run(*asked).stderr == ""


@pytest.mark.parametrize(("policy", "plus", "at_any_eps"), [(POLICIES[0], True, 1), (POLICIES[3], False, 4)])
def test_leaks_counts_them_beforehand(
    db: Path, texts: list[str | None], policy: Policy, plus: bool, at_any_eps: int
) -> None:
    rows = [*texts, "zzz", "12", "zzz 12 the"]
    leaks = find_leaks(rows, plus=plus, policy=policy)
    sanitizer = Sanitizer.load(db, policy=policy)
    assert leaks.unchanged_at_eps_0 == sanitizer.release(rows, 0, plus)[1].texts_unchanged
    assert leaks.unchanged_at_any_eps == at_any_eps  # texts of stopwords, or of words that the policy keeps


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("The AND", "\n1 text would come out unchanged at eps = 0, 1 of them at any eps\n"),
        ("zzz", None),
    ],
)
def test_leaks_tells_of_them(db: Path, folder: Path, body: str, told: str | None) -> None:
    Path("in.csv").write_text(f"body\n{body}\n")
    shown = run("leaks", "in.csv", "--column", "body", "--plus").stdout
    assert "would come out" not in shown if told is None else told in shown
