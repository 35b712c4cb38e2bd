"""With `plus`, the guarantee covers the words that are replaced, in certificate, audit and receipts.

They also say how many words a replaced word hides among. All ratios are computed again here, from the weights.
"""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from custext_sql import Policy, Sanitizer, build_mapping, connect, load_embeddings, load_mapping, make_key
from custext_sql.cli import main
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.sampler import Sampler
from custext_sql.sanitizer.settings import Settings
from tests import shipped_stopwords
from tests.ledger_entries import list_releases
from tests.small_mapping import small_mapping
from tests.vector_samples import write_glove
from tests.vectors.test_starter import FINGERPRINT, STARTER_FINGERPRINT

STOPWORDS = frozenset(shipped_stopwords.STOPWORDS)
WORDS = ["the", "and", "of", "cat", "dog", "cow", "hen", "or", "well", "good", "fine", "bad"]


def groups_of(mapping: Mapping) -> Iterable[tuple[str, ...]]:
    for start, size in zip(mapping.word_starts.tolist(), mapping.sizes.tolist(), strict=True):
        yield mapping.words[start : start + size]


def find_worst(mapping: Mapping, epsilon: float, kept: frozenset[str], calibration: str = "paper") -> float:
    """Return the largest log-ratio between two replaced words of a group, over all outputs."""
    sampler, worst = Sampler(mapping, calibration), 0.0
    for group in groups_of(mapping):
        rows = [sampler.row(mapping.find(word), epsilon) for word in group if word not in kept]
        for column in zip(*rows, strict=True):
            worst = max(worst, math.log(max(column) / min(column)))
    return worst


def find_hiding(mapping: Mapping, kept: frozenset[str]) -> int:
    drawn = [sum(word not in kept for word in group) for group in groups_of(mapping)]
    return min(count for count in drawn if count > 1)


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("plus", [False, True])
def test_receipts_speak_of_the_drawn_words(plus: bool, calibration: str) -> None:
    mapping = small_mapping(WORDS, k=4, seed=3)
    kept = STOPWORDS if plus else frozenset()
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings.settle(calibration=calibration))
    _, receipt = sanitizer.release(["the cat and the dog"], 2.0, plus)
    assert receipt.worst_log_ratio == pytest.approx(find_worst(mapping, 2.0, kept, calibration))
    assert receipt.hides_among == find_hiding(mapping, kept)
    assert find_worst(mapping, 2.0, STOPWORDS, "paper") < find_worst(mapping, 2.0, frozenset(), "paper")


def test_budgets_together_are_verified_among_the_drawn_words_too() -> None:
    mapping = small_mapping(WORDS, k=4, seed=3)
    guarantee = Sanitizer(mapping, STOPWORDS).guarantee({0.5, 3.0}, {True})
    sampler, worst = Sampler(mapping, "paper"), 0.0
    for group in groups_of(mapping):
        drawn = [mapping.find(word) for word in group if word not in STOPWORDS]
        rows = [sampler.row(word, epsilon) for word in drawn for epsilon in (0.5, 3.0)]
        worst = max([worst, *(math.log(max(column) / min(column)) for column in zip(*rows, strict=True))])
    assert guarantee.union_log_ratio == pytest.approx(worst)
    assert guarantee.worst_log_ratio == pytest.approx(find_worst(mapping, 3.0, STOPWORDS))


def test_rows_that_differ_in_plus_get_what_holds_for_both() -> None:
    sanitizer = Sanitizer(small_mapping(WORDS, k=4, seed=3), STOPWORDS)
    with_all, drawn, both = (sanitizer.guarantee({2.0}, plus) for plus in ({False}, {True}, {True, False}))
    assert both.worst_log_ratio == max(with_all.worst_log_ratio, drawn.worst_log_ratio)
    assert both.hides_among == min(with_all.hides_among, drawn.hides_among)


def test_the_default_mapping_groups_stopwords_apart(starter_db: Path) -> None:
    mapping = load_mapping(starter_db)
    assert (mapping.info.name, mapping.info.fingerprint) == ("starter", STARTER_FINGERPRINT)
    assert mapping.info.stopword_language == "english"
    for group in groups_of(mapping):
        assert len({word in STOPWORDS for word in group}) == 1
    older = load_mapping(starter_db, "starter-euclidean-k20")
    assert older.info.fingerprint == FINGERPRINT
    assert all(any(word not in STOPWORDS for word in group) for group in groups_of(older))


@pytest.fixture
def lonely_db(tmp_path: Path) -> Path:
    """Two groups of two: `the` and `cat`, of which only one is replaced with plus, and `dog` and `cow`."""
    vectors = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]], dtype=np.float32)
    path = tmp_path / "lonely.duckdb"
    load_embeddings(path, write_glove(tmp_path / "few.txt", ["the", "cat", "dog", "cow"], vectors), name="few")
    build_mapping(path, embedding="few", k=2)
    return path


@pytest.mark.parametrize("unknown", ["keep", "mask", "random"])
def test_a_word_that_would_hide_alone_is_masked_and_spends_nothing(lonely_db: Path, unknown: str) -> None:
    sanitizer = Sanitizer.load(lonely_db, policy=Policy(unknown=unknown))
    texts, receipt = sanitizer.release(["The Cat saw the dog"] * 50, 2.0, True)
    for text in texts:
        words = text.split()
        assert words[:2] == ["The", "<unk>"] and words[3] == "the" and words[4] in ("dog", "cow")
    assert (receipt.alone_masked, receipt.replaced, receipt.stopwords) == (50, 50, 100)
    assert receipt.words == receipt.replaced + receipt.stopwords + receipt.alone_masked + 50
    assert (receipt.largest_row_eps, receipt.hides_among) == (2.0, 2)
    texts, receipt = sanitizer.release(["the cat"] * 50, 2.0, False)
    assert set(" ".join(texts).split()) == {"the", "cat"} and receipt.alone_masked == 0
    with connect(lonely_db) as connection:
        query = "SELECT custext_sanitize('cat', 1, true), custext_epsilon('cat cat dog', 1, true)"
        assert connection.execute(query).fetchall() == [("<unk>", 1.0)]


def test_a_lonely_word_is_masked_with_a_key_and_in_files_too(lonely_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", lonely_db, plus=True)
    keyed = Sanitizer.load(lonely_db, key_file=tmp_path / "key")
    assert keyed.sanitize("cat", record="1") == "<unk>"
    (tmp_path / "in.csv").write_text("id,body\n1,the cat\n")
    arguments = ["sanitize", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--column", "body", "--plus"]
    done = CliRunner().invoke(main, ["--db", str(lonely_db), *arguments])
    assert done.exit_code == 0, done.output
    assert "1 word alone in its group masked" in done.output
    assert (tmp_path / "out.csv").read_text() == "id,body\n1,the <unk>\n"
    [release] = list_releases(lonely_db)
    assert (release.alone_masked, release.hides_among) == (1, 2)
    assert release.worst_log_ratio is not None and 0.0 < release.worst_log_ratio <= 1.0


def test_a_list_of_words_hides_among_itself(starter_db: Path) -> None:
    sanitizer = Sanitizer.load(starter_db)
    group = sanitizer.mapping.find_row("doctor")[0]
    for listed, expected in ((["doctor"], 1), (group[:3], 3), ([*group[:3], "boston"], 1), (["zzzz"], 0), (["the"], 1)):
        assert sanitizer.guarantee({1.0}, {False}, frozenset(listed)).hides_among == expected
    assert sanitizer.guarantee({1.0}, {True}, frozenset(["the"])).hides_among == 0
    assert sanitizer.guarantee({1.0}, {True}).hides_among == 39
