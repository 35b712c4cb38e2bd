"""Draws by key: pinned, equal for equal records, independent otherwise."""

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.keyed_randomness import KeyedRandomness, SecretKey
from custext_sql.randomness import DIGIT, UNKNOWN_WORD, count_earlier
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


def draw(records: list[str], rows: list[int], words: list[int], secret: bytes = SECRET) -> list[int]:
    in_rows, numbers = np.array(rows, np.int64), np.array(words, np.int64)
    keyed = KeyedRandomness(SecretKey(secret), records)
    drawn = keyed.draw(numbers, lambda: (in_rows, count_earlier(in_rows, numbers)))
    return [int(value) for value in drawn]


def test_draws_are_pinned() -> None:
    """They must never change: a released record would be drawn anew."""
    found = draw(["body:1", "body:2", ""], [0, 0, 0, 1, 2, 2], [7, 7, 8, 7, UNKNOWN_WORD, DIGIT])
    assert [f"{value:016x}" for value in found] == PINNED
    assert SecretKey(SECRET).name == PINNED_NAME


def test_draws_are_aes_of_the_record_the_word_and_its_occurrence() -> None:
    """By the definition, with another implementation of every step but the cipher itself."""
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
    draws = np.arange(len(pairs)) % 3
    expected = [sum(draws[j] for j in range(place) if pairs[j] == pair) for place, pair in enumerate(pairs)]
    assert count_earlier(rows, words, draws).tolist() == expected


def test_a_draw_depends_on_nothing_but_key_record_word_and_occurrence() -> None:
    alone = draw(["r"], [0, 0], [5, 6])
    assert draw(["x", "r", "y"], [0, 1, 1, 2], [5, 5, 6, 5])[1:3] == alone
    assert draw(["r"], [0, 0], [6, 5]) == alone[::-1]
    assert draw(["r", "r"], [0, 1], [5, 5]) == [alone[0]] * 2  # a record that comes twice
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
