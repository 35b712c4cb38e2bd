"""The sanitizer as Python callers use it."""

import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from custext_sql import CusTextError, Policy, Sanitizer
from custext_sql.errors import PrivacyWarning, SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify
from custext_sql.sanitizer.settings import Settings
from custext_sql.text import columns
from tests.small_mapping import small_mapping
from tests.statistics import fits

WORDS = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return small_mapping(WORDS, k=4)


@pytest.fixture
def sanitizer(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping, frozenset({"the", "she"}))


def draw_many(sanitizer: Sanitizer) -> str:
    return sanitizer.sanitize(" ".join(WORDS * 20))


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_draws_follow_the_integer_table_and_the_test_would_notice_a_percent(mapping: Mapping, calibration: str) -> None:
    """A million draws for every word; the same test rejects a table with 1% moved between two outputs."""
    drawing = Sanitizer(mapping, frozenset(), Settings.settle(calibration=calibration))
    table = certify(mapping.sizes, mapping.scores, 2.0, calibration)
    start = 0
    for word, size in zip(mapping.words, np.repeat(mapping.sizes, mapping.sizes).tolist(), strict=True):
        outputs = mapping.find_row(word)[0]
        drawn = drawing.sanitize(f"{word} " * 1_000_000, 2.0).split()
        counts = [drawn.count(output) for output in outputs]
        chances = [weight / 2.0**64 for weight in table.weights[start : start + size].tolist()]
        assert sum(counts) == 1_000_000
        assert fits(counts, chances)
        chances[0], chances[1] = chances[0] + 0.01, chances[1] - 0.01
        assert not fits(counts, chances)
        start += size


def test_equal_rows_and_equal_words_draw_anew(sanitizer: Sanitizer) -> None:
    rows = sanitizer.sanitize_batch(["alice bob carol dave erin"] * 500, 0.5)
    assert len(set(rows)) > 200
    assert len(set(sanitizer.sanitize("alice " * 500, 0.5).split())) == 4


def test_threads_draw_independently(sanitizer: Sanitizer) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: draw_many(sanitizer), range(64)))
    assert len(set(results)) == 64


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_draw_independently(sanitizer: Sanitizer, method: str) -> None:
    draw_many(sanitizer)
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map(draw_many, [sanitizer] * 8, chunksize=1)
    assert len({*results, draw_many(sanitizer)}) == 9


def test_a_sanitizer_travels_by_pickle_without_its_tables(sanitizer: Sanitizer) -> None:
    sanitizer.sanitize("alice")
    before = len(pickle.dumps(sanitizer))
    for eps in range(2, 100):
        sanitizer.sanitize("alice", eps)
    travelled = pickle.dumps(sanitizer)
    assert len(travelled) < before + 100  # each table alone would take more
    assert pickle.loads(travelled).sanitize("alice").isalpha()


def test_blocks_change_nothing_but_the_draws(mapping: Mapping, monkeypatch: pytest.MonkeyPatch) -> None:
    sanitizer = Sanitizer(mapping, frozenset(), Settings.settle(policy="paper"))
    rows = [None if number % 7 == 0 else "x " * number for number in range(50)]
    monkeypatch.setattr(columns, "_BLOCK", 10)
    assert sanitizer.sanitize_batch(rows) == rows
    assert sanitizer.release(rows)[1].unknown_kept == sum(number for number in range(50) if number % 7)


def test_the_receipt_adds_up(mapping: Mapping) -> None:
    rows = ["Alice met the 77 zoes", "she's bob's"]
    for unknown, field in (("keep", "unknown_kept"), ("mask", "unknown_masked"), ("random", "unknown_random")):
        _, receipt = Sanitizer(mapping, frozenset({"the", "she"}), Settings.settle(policy=Policy(unknown))).release(
            rows, 0.5, plus=True
        )
        assert getattr(receipt, field) == 2
        parts = (receipt.replaced, receipt.stopwords, receipt.numbers, receipt.endings)
        assert parts == (2, 2, 1, 2)
        assert receipt.words == sum(parts) + 2 == 9
        assert (receipt.rows, receipt.eps, receipt.largest_row_eps, receipt.mean_row_eps) == (2, 0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    "call, wrong, message",
    [
        (
            lambda it: Sanitizer(it),
            "x",
            r"must be a Mapping; found str; to use a stored one: Sanitizer\.load\(mapping=",
        ),
        (lambda it: Sanitizer(small_mapping(WORDS, k=4), it), ["the"], "must be a frozenset of words; found list"),
        (lambda it: Sanitizer(small_mapping(WORDS, k=4)).with_key(it), "k", "key must be a KeyFile; found str"),
        (lambda it: Sanitizer(small_mapping(WORDS, k=4), seed=it), "x", "seed must be a whole number"),
        (lambda it: Sanitizer(small_mapping(WORDS, k=4), seed=it), -1, "seed must not be negative; found -1"),
        (lambda it: Sanitizer(small_mapping(WORDS, k=4)).sanitize(it), 5, "the text must be a string; found int"),
        (lambda it: Sanitizer.load(it), 5, "database must be a path; found int"),
        (lambda it: Sanitizer.load(key_file=it), 5, "the key file must be a path; found int"),
        (lambda it: Settings(key=it), "k", r"key must be a KeyFile; found str; .* Settings\.settle\(key=PATH\)"),
    ],
)
def test_a_wrong_type_is_named(call: Callable[[object], object], wrong: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call(wrong)


def test_a_seed_repeats_draws_and_warns_at_the_line_of_the_caller(mapping: Mapping, mapped_db: Path) -> None:
    makers: list[Callable[[], Sanitizer]] = [lambda: Sanitizer(mapping, seed=4)] * 2
    made = []
    makers.append(lambda: Sanitizer.load(mapped_db, seed=4))
    for make in makers:
        with pytest.warns(PrivacyWarning, match="protect nothing") as warned:
            made.append(make())
        assert [warning.filename for warning in warned] == [__file__]
    seeded = made[0]
    assert draw_many(seeded.with_fresh_draws()) != draw_many(seeded.with_fresh_draws())
    assert draw_many(seeded) == draw_many(made[1])


def test_wrong_texts_and_eps_are_refused(sanitizer: Sanitizer) -> None:
    for eps in (0.0005, -1, float("nan"), float("inf"), 101):
        for given in (eps, [1.0, eps]):
            with pytest.raises(CusTextError, match="eps must be 0, or between"):
                sanitizer.sanitize_batch(["alice", "bob"], given)
    with pytest.raises(CusTextError, match="eps must have one value per text, 1 in all; found 0"):
        sanitizer.sanitize("alice", [])  # type: ignore[arg-type]
    with pytest.raises(CusTextError, match="strings or None; found int"):
        sanitizer.sanitize_batch([3])
