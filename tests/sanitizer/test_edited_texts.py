"""With a key, an edited text draws independently in all its words; so do other records and other keys."""

import math
from collections.abc import Callable
from hashlib import blake2b
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from custext_sql import Sanitizer
from custext_sql.arrays import Draws, Places
from custext_sql.mechanism.randomness import KeyedRandomness, Randomness, SecretKey
from custext_sql.sanitizer.replacer import RowSettings
from custext_sql.text.columns import TextColumn
from custext_sql.text.encoded_text import join_texts
from tests.small_mapping import small_mapping

WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
PAIRS = 6000
SECRET = b"s" * 32  # fixed: these tests give the same result in every run
# If draws are independent, a value is beyond this many standard deviations with probability 2e-9.
FAR = 6.0

Texts = list[list[str]]  # in words
Scheme = Callable[[list[str], Texts], Randomness]


@pytest.fixture(scope="module")
def sanitizer() -> Sanitizer:
    return Sanitizer(small_mapping(WORDS, k=5))


@pytest.fixture(scope="module")
def collisions(sanitizer: Sanitizer) -> dict[str, float]:
    """Return the probability that two independent draws for a word are equal, from the certified table."""
    return {word: sum(chance**2 for chance in sanitizer.distribution(word, 1.0).values()) for word in WORDS}


def by_whole_text(records: list[str], texts: Texts, secret: bytes = SECRET) -> Randomness:
    joined = TextColumn(*join_texts([" ".join(words) for words in texts]))
    return KeyedRandomness(SecretKey(secret), TextColumn(*join_texts(records)), joined)


class _Known:
    """Draws that depend on a name of each word, as in schemes that show where an edit was."""

    def __init__(self, names: list[tuple[object, ...]]) -> None:
        digests = (blake2b(repr(name).encode(), key=SECRET, digest_size=8).digest() for name in names)
        self._draws = np.frombuffer(b"".join(digests), dtype=np.uint64)

    def draw(self, places: Places, find_rows: Callable[[], Places], stream: int) -> Draws:
        return self._draws[places]


def by_word_and_occurrence(records: list[str], texts: Texts) -> Randomness:
    rows = zip(records, texts, strict=True)
    return _Known([(record, word, text[:at].count(word)) for record, text in rows for at, word in enumerate(text)])


def sanitize(sanitizer: Sanitizer, records: list[str], texts: Texts, scheme: Scheme) -> Texts:
    content = join_texts([" ".join(words) for words in texts])
    result = sanitizer.replacer.replace_words(*content, scheme(records, texts), RowSettings(1.0, False))
    written = result.text.tobytes().decode()
    return [written[start:end].split(" ") for start, end in pairwise(result.offsets.tolist())]


def measure_equal(pairs: list[tuple[str, str, str]], collisions: dict[str, float]) -> float:
    """Return how many standard deviations more pairs of outputs are equal than if they were independent.

    pairs: a word, and its output before and after.
    """
    chances = [collisions[word] for word, _, _ in pairs]
    equal = sum(before == after for _, before, after in pairs)
    return (equal - sum(chances)) / math.sqrt(sum(chance * (1 - chance) for chance in chances))


def edit(random: Random, words: list[str]) -> tuple[str, list[str], list[tuple[str, int, int]]]:
    """Return the kind of a random edit, the edited words, and where the unchanged words are.

    For each of them: on which side of the edit it is, and its index before and after.
    """
    kind, at = random.choice(["replace", "insert", "delete"]), random.randrange(len(words))
    new = [] if kind == "delete" else [random.choice([word for word in WORDS if word != words[at]])]
    rest = at if kind == "insert" else at + 1
    edited = [*words[:at], *new, *words[rest:]]
    moved = len(edited) - len(words)
    left = [("left", place, place) for place in range(at)]
    return kind, edited, left + [("right", place, place + moved) for place in range(rest, len(words))]


def compare_edits(sanitizer: Sanitizer, scheme: Scheme) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """Return the unchanged words of edited texts with their outputs, by the kind of edit and the side of it."""
    random = Random(1)
    texts = [[random.choice(WORDS) for _ in range(random.randint(3, 9))] for _ in range(PAIRS)]
    edits = [edit(random, words) for words in texts]
    records = [f"body:{number}" for number in range(PAIRS)]
    before = sanitize(sanitizer, records, texts, scheme)
    after = sanitize(sanitizer, records, [edited for _, edited, _ in edits], scheme)
    found: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for words, (kind, edited, places), old, new in zip(texts, edits, before, after, strict=True):
        assert len(words) == len(old) and len(edited) == len(new)
        for side, one, other in places:
            assert words[one] == edited[other]
            found.setdefault((kind, side), []).append((words[one], old[one], new[other]))
    return found


@pytest.fixture(scope="module")
def edited(sanitizer: Sanitizer) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    return compare_edits(sanitizer, by_whole_text)


def test_unchanged_words_of_an_edited_text_are_drawn_independently(
    edited: dict[tuple[str, str], list[tuple[str, str, str]]], collisions: dict[str, float]
) -> None:
    assert len(edited) == 6 and sum(map(len, edited.values())) > 3 * PAIRS
    for pairs in edited.values():
        assert abs(measure_equal(pairs, collisions)) < FAR


def test_a_scheme_that_does_not_depend_on_the_whole_text_is_caught(
    sanitizer: Sanitizer, collisions: dict[str, float]
) -> None:
    found = compare_edits(sanitizer, by_word_and_occurrence)
    assert max(measure_equal(pairs, collisions) for pairs in found.values()) > 70


def test_a_small_dependence_is_caught(
    edited: dict[tuple[str, str], list[tuple[str, str, str]]], collisions: dict[str, float]
) -> None:
    """If one word in twenty-five keeps its draw after an edit, the test above fails."""
    pairs = [pair for some in edited.values() for pair in some]
    kept = [(word, old, old if place % 25 == 0 else new) for place, (word, old, new) in enumerate(pairs)]
    assert measure_equal(kept, collisions) > FAR


def test_the_same_record_and_text_give_the_same(sanitizer: Sanitizer) -> None:
    texts, records = [WORDS[:9]] * 3, ["a", "a", "b"]
    first, second, other = sanitize(sanitizer, records, texts, by_whole_text)
    assert first == second != other


@pytest.mark.parametrize("change", ["record", "key"])
def test_other_records_and_other_keys_draw_independently(
    sanitizer: Sanitizer, collisions: dict[str, float], change: str
) -> None:
    random = Random(2)
    texts = [[random.choice(WORDS) for _ in range(5)] for _ in range(PAIRS)]
    records = [f"body:{number}" for number in range(PAIRS)]
    others = [f"note:{number}" for number in range(PAIRS)] if change == "record" else records
    secret = b"t" * 32 if change == "key" else SECRET
    before = sanitize(sanitizer, records, texts, by_whole_text)
    after = sanitize(sanitizer, others, texts, lambda names, words: by_whole_text(names, words, secret))
    pairs = [pair for row in zip(texts, before, after, strict=True) for pair in zip(*row, strict=True)]
    assert abs(measure_equal(pairs, collisions)) < FAR


def test_words_of_a_text_are_drawn_independently_of_each_other(
    sanitizer: Sanitizer, collisions: dict[str, float]
) -> None:
    texts = [[WORDS[number % 26]] * 6 for number in range(PAIRS)]
    drawn = sanitize(sanitizer, [str(number) for number in range(PAIRS)], texts, by_whole_text)
    for distance in (1, 2, 5):
        pairs = [(words[0], new[0], new[distance]) for words, new in zip(texts, drawn, strict=True)]
        assert abs(measure_equal(pairs, collisions)) < FAR
