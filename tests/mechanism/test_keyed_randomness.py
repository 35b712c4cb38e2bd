"""Keyed draws are pinned, equal for equal records, and independent otherwise. Sums are equal only for equal rows."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.mechanism.keyed_randomness import SUM_MODULUS, KeyedRandomness, SecretKey
from custext_sql.mechanism.randomness import DIGIT, UNKNOWN_WORD, count_earlier
from custext_sql.text.encoded_text import join_texts
from tests.statistics import fits

SECRET = bytes(range(32))
PINNED = [
    "29b2a4543ccb6e5f",
    "72b1d4d33ec28538",
    "86b65e0b190182ec",
    "e36ee7a91b418a04",
    "e30c68bc208591f5",
    "2f20a5a7c1f954b8",
]
PINNED_NAME = "81481c294d87e316"
PINNED_SUM = "3978724c8173bb60f681d9d153308e4bb2663ab0a4a738df750dbcf4989b5295"


def draw(records: list[str], rows: list[int], words: list[int], secret: bytes = SECRET) -> list[int]:
    in_rows, numbers = np.array(rows, np.int64), np.array(words, np.int64)
    keyed = KeyedRandomness(SecretKey(secret), records)
    drawn = keyed.draw(numbers, lambda: (in_rows, count_earlier(in_rows, numbers)))
    return [int(value) for value in drawn]


def test_draws_are_pinned() -> None:
    """Keyed draws must never change, or a released record would be drawn a second time."""
    found = draw(["body:1", "body:2", ""], [0, 0, 0, 1, 2, 2], [7, 7, 8, 7, UNKNOWN_WORD, DIGIT])
    assert [f"{value:016x}" for value in found] == PINNED
    assert SecretKey(SECRET).name == PINNED_NAME


def test_draws_are_aes_of_the_record_the_word_and_its_occurrence() -> None:
    """Draws follow the definition, with a second implementation of every step except the cipher."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    def derive(purpose: bytes) -> bytes:
        return hashlib.blake2b(purpose, key=SECRET, digest_size=32).digest()

    digest = hashlib.blake2b("näme".encode(), key=derive(b"custext record"), digest_size=16).digest()
    for earlier in range(3):
        block = int.from_bytes(digest, "little") ^ (300 | earlier << 64)
        cipher = Cipher(algorithms.AES(derive(b"custext draw")), modes.ECB()).encryptor()
        expected = int.from_bytes(cipher.update(block.to_bytes(16, "little"))[:8], "little")
        assert draw(["näme"], [0, 0, 0], [300, 300, 300])[earlier] == expected


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2, UNKNOWN_WORD])), max_size=40).map(
        lambda pairs: sorted(pairs, key=lambda pair: pair[0])
    )
)
def test_earlier_occurrences_are_counted_within_a_row(pairs: list[tuple[int, int]]) -> None:
    rows, words = np.array([row for row, _ in pairs], np.int64), np.array([word for _, word in pairs], np.int64)
    assert count_earlier(rows, words).tolist() == [pairs[:place].count(pair) for place, pair in enumerate(pairs)]


def test_a_draw_depends_on_nothing_but_key_record_word_and_occurrence() -> None:
    alone = draw(["r"], [0, 0], [5, 6])
    assert draw(["x", "r", "y"], [0, 1, 1, 2], [5, 5, 6, 5])[1:3] == alone
    assert draw(["r"], [0, 0], [6, 5]) == alone[::-1]
    assert draw(["r", "r"], [0, 1], [5, 5]) == [alone[0]] * 2  # a record that occurs twice
    everything = [*alone, *draw(["s"], [0], [5]), *draw(["r"], [0, 0], [5, 5])[1:], *draw(["r"], [0], [5], b"k" * 32)]
    assert len(set(everything)) == 5


def test_draws_of_records_words_and_occurrences_are_uniform_and_uncorrelated() -> None:
    records = [f"r{number}" for number in range(50_000)]
    rows = np.repeat(np.arange(len(records)), 3)
    words = np.tile(np.array([5, 5, 6]), len(records))
    keyed = KeyedRandomness(SecretKey(SECRET), records)
    drawn = keyed.draw(words, lambda: (rows, count_earlier(rows, words)))
    by_record = drawn.reshape(-1, 3)
    for shift in (0, 30, 60):
        digits = (by_record >> np.uint64(shift)) & np.uint64(15)
        for place in range(3):
            assert fits(np.bincount(digits[:, place].astype(np.int64), minlength=16).tolist(), [1 / 16] * 16)
        for first, second in ((0, 1), (0, 2)):
            pairs = digits[:, first] * np.uint64(16) + digits[:, second]
            assert fits(np.bincount(pairs.astype(np.int64), minlength=256).tolist(), [1 / 256] * 256)


Row = tuple[str, str | None]


def sum_of(rows: Sequence[Row], secret: bytes = SECRET) -> int:
    text, offsets = join_texts([body or "" for _, body in rows])
    missing = np.array([body is None for _, body in rows], dtype=bool)
    return SecretKey(secret).sum_rows([record for record, _ in rows], text, offsets, missing)


few_rows = st.lists(st.tuples(st.text("ab:\0é", max_size=4), st.none() | st.text("ab:\0é", max_size=4)), max_size=12)


def test_a_sum_of_rows_is_pinned() -> None:
    """Sums follow the definition. They must never change, or the ledger would not recognize a dataset."""
    key = hashlib.blake2b(b"custext sum", key=SECRET, digest_size=32).digest()
    rows: list[Row] = [("body:1", "The doctor"), ("é", ""), ("x", None), ("", "\0")]
    framed = [b"\6\0\0\0\0\0\0\0body:1The doctor", b"\2\0\0\0\0\0\0\0\xc3\xa9", b"\0\0\0\0\0\0\0\0\0"]
    numbers = [int.from_bytes(hashlib.blake2b(row, key=key, digest_size=32).digest(), "little") for row in framed]
    assert sum_of(rows) == sum(numbers) % 2**256
    assert f"{sum_of(rows):064x}" == PINNED_SUM
    assert sum_of([]) == sum_of([("x", None)]) == 0
    assert sum_of(rows, b"k" * 32) != sum_of(rows)


@given(few_rows, st.randoms(), st.integers(0, 12))
def test_a_sum_of_rows_does_not_depend_on_their_order_nor_on_how_they_are_split(
    rows: list[Row], random: Random, cut: int
) -> None:
    shuffled = random.sample(rows, len(rows))
    assert sum_of(shuffled) == sum_of(rows)
    assert (sum_of(rows[:cut]) + sum_of(rows[cut:])) % SUM_MODULUS == sum_of(rows)


@given(few_rows, few_rows)
def test_sums_are_equal_for_the_same_rows_alone(one: list[Row], other: list[Row]) -> None:
    """Rows count as often as they occur; rows without a text do not count."""
    counted = [Counter(row for row in rows if row[1] is not None) for rows in (one, other)]
    assert (sum_of(one) == sum_of(other)) == (counted[0] == counted[1])


@given(st.text("ab:\0", max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_what_belongs_to_the_record_is_no_part_of_the_text(whole: str, one: int, other: int) -> None:
    cuts = [(whole[:place], whole[place:]) for place in (min(one, len(whole)), min(other, len(whole)))]
    assert (sum_of(cuts[:1]) == sum_of(cuts[1:])) == (cuts[0] == cuts[1])
    length = len(whole).to_bytes(8, "little").decode("latin-1")
    assert sum_of([("", length + whole)]) != sum_of([(whole, "")])


def test_a_sum_carries_over_all_its_digits() -> None:
    rows: list[Row] = [(str(number), "text") for number in range(5000)]
    assert sum_of(rows) == sum(sum_of([row]) for row in rows) % 2**256
    text, offsets = join_texts(["x", "text", "text"])
    within = SecretKey(SECRET).sum_rows(["0", "1"], text, offsets[1:])  # texts do not begin at 0
    assert within == sum_of(rows[:2])
