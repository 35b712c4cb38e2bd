"""Keyed draws are pinned, equal for equal rows, and independent otherwise; so are the digests for the ledger."""

import hashlib
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.mechanism.randomness import DIGITS, WORDS, KeyedRandomness, SecretKey
from custext_sql.text.columns import TextColumn
from custext_sql.text.encoded_text import join_texts
from tests.statistics import fits

SECRET = bytes(range(32))
Row = tuple[str, str | None]

PINNED = [
    *("b4fbab7243124c33", "60b207e9fe76fcc8", "e0b7f048de8c0639"),
    *("7237a9681550cae4", "187bf359e3bcca2b", "c196ff6cca669f0c"),
]
PINNED_NAME = "81481c294d87e316"
PINNED_DIGESTS = [
    *("ff555d3ce8f2a0ee", "8b6e4e1ffb0ebf29", "78ebe831ea7d2165"),
    *("ac325679467be9ce", "6388c348be1faef6", "a29d3f623940056f"),
]


def open_rows(rows: Sequence[Row], secret: bytes = SECRET) -> KeyedRandomness:
    """Return the draws of some records and texts."""
    missing = np.array([text is None for _, text in rows], dtype=bool)
    texts = TextColumn(*join_texts([text or "" for _, text in rows]), missing if missing.any() else None)
    return KeyedRandomness(SecretKey(secret), TextColumn(*join_texts([record for record, _ in rows])), texts)


def draw(
    rows: Sequence[Row],
    sizes: Sequence[int],
    places: Sequence[int] | None = None,
    *,
    stream: int = WORDS,
    secret: bytes = SECRET,
) -> list[int]:
    """Return draws of some places. sizes: the number of words of each row. places: all of them if None."""
    bounds = np.cumsum([0, *sizes])
    chosen = np.arange(bounds[-1]) if places is None else np.array(places, dtype=np.int64)
    return [int(value) for value in open_rows(rows, secret).draw(chosen, lambda: bounds, stream)]


def test_draws_are_pinned() -> None:
    """Keyed draws must never change, or a released record would be drawn a second time."""
    rows = [("body:1", "The doctor"), ("body:2", "The doctor"), ("", "")]
    found = [*draw(rows, [2, 1, 1]), *draw(rows, [1, 0, 1], stream=DIGITS)]
    assert [f"{value:016x}" for value in found] == PINNED
    assert SecretKey(SECRET).name == PINNED_NAME


def test_draws_are_a_stream_of_the_record_and_the_whole_text() -> None:
    """Draws follow the definition, with a second implementation of every step except the cipher."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    record, text = "näme".encode(), "l’été\u200b".encode()
    row_key = hashlib.blake2b(b"custext row", key=SECRET, digest_size=32).digest()
    framed = len(record).to_bytes(8, "little") + record + text
    key = hashlib.blake2b(framed, key=row_key, digest_size=64).digest()[:32]
    for stream in (WORDS, DIGITS):
        nonce = bytes(8) + stream.to_bytes(8, "little")  # for the counter, and for the nonce
        content = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(bytes(8 * 100))
        expected = np.frombuffer(content, dtype="<u8").tolist()
        for copies in (1, 300):  # few rows, and many
            found = draw([(record.decode(), text.decode())] * copies, [100] * copies, stream=stream)
            assert found == expected * copies


def test_a_draw_depends_on_nothing_but_key_record_text_and_position() -> None:
    row = ("r", "some text")
    alone = draw([row], [20])
    others = [("x", "some text"), row, ("r", "another text"), row]
    beside = draw(others, [3, 20, 0, 20])
    assert beside[3:23] == beside[23:] == alone  # also a row that occurs twice
    assert draw([row], [20], [0, 7, 8, 19]) == [alone[place] for place in (0, 7, 8, 19)]
    assert draw(others, [3, 20, 0, 20], [4, 42]) == [alone[1], alone[19]]  # whatever the others draw
    assert draw([row], [9000])[:20] == alone
    assert draw([row], [5], []) == []


def test_rows_that_differ_in_anything_share_no_draw() -> None:
    rows = [("r", "text"), ("s", "text"), ("r", "text "), ("r", "Text"), ("rt", "ext"), ("", "rtext"), ("", "")]
    draws = [value for stream in (WORDS, DIGITS) for value in draw(rows, [100] * len(rows), stream=stream)]
    draws += draw(rows, [100] * len(rows), secret=b"k" * 32)
    assert len(set(draws)) == len(draws) == 3 * len(rows) * 100  # within a row, none occurs twice either


def test_draws_of_rows_positions_and_streams_are_uniform_and_uncorrelated() -> None:
    count = 50_000
    rows: list[Row] = [(f"r{number}", f"text {number}") for number in range(count)]
    words = np.array(draw(rows, [3] * count), dtype=np.uint64).reshape(-1, 3)
    digits = np.array(draw(rows, [1] * count, stream=DIGITS), dtype=np.uint64)
    edited = np.array(draw([(record, f"{text}s") for record, text in rows], [1] * count), dtype=np.uint64)
    again = np.array(draw(rows, [1] * count, secret=b"k" * 32), dtype=np.uint64)
    drawn = np.column_stack([words, digits, edited, again])
    for shift in (0, 30, 60):
        parts = (drawn >> np.uint64(shift)) & np.uint64(15)
        for place in range(drawn.shape[1]):
            assert fits(np.bincount(parts[:, place].astype(np.int64), minlength=16).tolist(), [1 / 16] * 16)
            pairs = parts[:, 0] * np.uint64(16) + parts[:, place]
            assert place == 0 or fits(np.bincount(pairs.astype(np.int64), minlength=256).tolist(), [1 / 256] * 256)


def digest(rows: Sequence[Row], secret: bytes = SECRET) -> list[tuple[int, int]]:
    """Return the digests of rows whose records name a column: of the ID, and of the record and the text."""
    _, ids, texts = open_rows(rows, secret).digest(named=True)
    return list(zip(ids.tolist(), texts.tolist(), strict=True))


few_rows = st.lists(st.tuples(st.text("ab:\0é", max_size=4), st.text("ab:\0é", max_size=4)), max_size=12)


def test_digests_are_pinned() -> None:
    """Digests follow the definition. They must never change, or the ledger would not recognize a record."""
    row_key, id_key = (
        hashlib.blake2b(purpose, key=SECRET, digest_size=32).digest() for purpose in (b"custext row", b"custext record")
    )
    rows: list[Row] = [("body:1", "The doctor"), ("é", ""), ("a:b:c", "\0")]
    framed = [b"\6\0\0\0\0\0\0\0body:1The doctor", b"\2\0\0\0\0\0\0\0\xc3\xa9", b"\5\0\0\0\0\0\0\0a:b:c\0"]
    texts = [hashlib.blake2b(row, key=row_key, digest_size=64).digest()[32:40] for row in framed]
    ids = [hashlib.blake2b(part, key=id_key, digest_size=8).digest() for part in (b"1", b"\xc3\xa9", b"b:c")]
    expected = [tuple(int.from_bytes(part, "little") for part in pair) for pair in zip(ids, texts, strict=True)]
    assert digest(rows) == expected
    assert [f"{part:016x}" for pair in digest(rows) for part in pair] == PINNED_DIGESTS
    assert digest([]) == []
    others = digest(rows, b"k" * 32)
    assert {part for pair in others for part in pair}.isdisjoint(part for pair in digest(rows) for part in pair)


@given(few_rows)
def test_digests_of_texts_are_equal_for_the_same_record_and_text_alone(rows: list[Row]) -> None:
    found = [text for _, text in digest(rows)]
    assert len(set(found)) == len(set(rows))
    assert found == [digest([row])[0][1] for row in rows]  # whatever the others are


@given(few_rows)
def test_digests_of_ids_are_equal_in_all_columns_of_a_row(rows: list[Row]) -> None:
    """The ID is what follows the first colon, since a column's name has none; without a colon, the whole record."""
    names = [record.partition(":")[2] if ":" in record else record for record, _ in rows]
    found = [identifier for identifier, _ in digest(rows)]
    assert len(set(found)) == len(set(names))
    assert found == [digest([(f"another:{name}", "text")])[0][0] for name in names]


@given(few_rows)
def test_a_record_that_may_be_an_id_with_a_colon_counts_for_either(rows: list[Row]) -> None:
    found = list(zip(*(part.tolist() for part in open_rows(rows).digest()), strict=True))
    known = digest([(f"column:{record}", "") for record, _ in rows])  # of the whole record
    whole = [
        (place, known[place][0], digest(rows)[place][1]) for place, (record, _) in enumerate(rows) if ":" in record
    ]
    assert found == [(place, *pair) for place, pair in enumerate(digest(rows))] + whole


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=6))
def test_the_digest_of_a_row_with_marks_depends_on_its_own_marks_alone(marks: list[list[int]]) -> None:
    rows: list[Row] = [(str(number), "text") for number in range(len(marks))]

    def find(some: list[Row], marked: list[list[int]]) -> list[tuple[int, int]]:
        of_row = np.repeat(np.arange(len(some)), [len(each) for each in marked])
        flat = np.array([mark for each in marked for mark in each], dtype=np.uint8)
        _, ids, texts = open_rows(some).digest((of_row, flat))
        return list(zip(ids.tolist(), texts.tolist(), strict=True))

    together = find(rows, marks)
    for row, each, found in zip(rows, marks, together, strict=True):
        [alone], [plain], [more] = find([row], [each]), digest([row]), find([row], [[*each, 1]])
        assert found == alone
        assert (alone == plain) == (not any(each))
        assert found[0] == plain[0] == more[0]  # the record is the same
        assert more[1] not in (found[1], plain[1])
