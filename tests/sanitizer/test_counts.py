"""Counts, receipts and their warnings."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql import Receipt, Sanitizer
from custext_sql.kinds import COUNTS
from custext_sql.sanitizer.tally import Counts, Tally, join_counts
from custext_sql.text.columns import open_column
from custext_sql.text.word_boundaries import fold_word
from tests.text.test_symbols import mapping, paper, strict, texts

__all__ = ["mapping", "paper", "strict"]  # fixtures

RECEIPT: dict[str, Any] = {
    "rows": 1,
    "words": 0,
    "replaced_unchanged": 0,
    "characters_in_clear": 0,
    "eps": 1.0,
    "budgets": (1.0,),
    "largest_row_eps": 0.0,
    "mean_row_eps": 0.0,
    "mapping": "m",
    "fingerprint": "f",
    "worst_log_ratio": 0.5,
    "union_log_ratio": 0.5,
    "hides_among": 2,
}


def make_receipt(**changed: Any) -> Receipt:
    """Return a receipt of no words, with other fields, and other counts of words by kind."""
    counts = {name: changed.pop(name, 0) for name in COUNTS}
    return Receipt(counts=counts, **{**RECEIPT, **changed})


def test_a_receipt_warns_of_what_passed() -> None:
    assert make_receipt(words=20, replaced=20, symbols=3).warnings == ()
    assert make_receipt(words=100_000, replaced=3_434, unknown_kept=96_566, unknown_distinct=906).warnings == (
        "96,566 words (906 distinct) are not in the vocabulary and passed unchanged",
        "most words (96,566 of 100,000) are not in the vocabulary; the texts may be in a different language or script "
        "from the mapping",
    )
    assert make_receipt(words=1_500, replaced=1_500, texts_unchanged=1_234).warnings == (
        "1,234 texts came out unchanged: their words were kept or replaced by themselves",
    )
    assert make_receipt(words=9, replaced=8, unknown_kept=1, unknown_distinct=1).warnings == (
        "1 word is not in the vocabulary and passed unchanged",
    )


@pytest.mark.parametrize("unknown", ["unknown_kept", "unknown_masked", "unknown_random"])
@pytest.mark.parametrize(
    ("words", "found", "others", "warns"),
    [
        (150, 93, {"replaced": 27, "stopwords": 10, "endings": 10, "kept": 10}, True),
        (10, 6, {"replaced": 4}, True),
        (10, 5, {"replaced": 5}, False),
        (9, 9, {}, False),
        (100, 9, {"stopwords": 91}, False),
    ],
)
def test_a_receipt_warns_of_another_language(
    unknown: str, words: int, found: int, others: dict[str, int], warns: bool
) -> None:
    warnings = make_receipt(words=words, **others, **{unknown: found}).warnings
    assert any("a different language" in warning for warning in warnings) == warns


def test_a_receipt_is_shown_with_correct_plurals() -> None:
    fixed = {"eps": 4.0, "budgets": (4.0,), "largest_row_eps": 24.0, "worst_log_ratio": 3.1532, "hides_among": 19}
    fixed |= {"mapping": "starter", "fingerprint": "0123456789abcdef"}
    shown = make_receipt(
        **fixed, words=9, replaced=6, replaced_unchanged=2, stopwords=3, characters_in_clear=7
    ).describe()
    assert shown == (
        "9 words: 6 replaced (2 drew themselves), 3 stopwords kept; 7 characters in the clear\n"
        "eps 4 per replaced word, at most 24 per row; certified log-ratio 3.153; mapping starter (0123456789ab)\n"
        "each replaced word hides among at least 19 words of its group"
    )
    several = ("replaced", "stopwords", "unknown_kept", "unknown_masked", "unknown_random", "numbers", "endings")
    one = dict.fromkeys((*several, "kept", "alone_masked", "replaced_unchanged", "characters_in_clear"), 1)
    assert make_receipt(**{**fixed, **one, "words": 9, "budgets": (1.0, 4.0)}).describe().splitlines()[:2] == [
        "9 words: 1 replaced (1 drew itself), 1 stopword kept, 1 unknown word kept, 1 unknown word masked, "
        "1 unknown word replaced at random, 1 number, 1 ending kept, 1 other word kept, "
        "1 word alone in its group masked; 1 character in the clear",
        "eps at most 4 per replaced word, at most 24 per row; certified log-ratio 3.153; "
        "mapping starter (0123456789ab)",
    ]


def count(sanitizer: Sanitizer, rows: list[str]) -> Counts:
    tally: list[Counts] = []

    class Keeping(Tally):
        def add(self, counts: Counts, **_: object) -> None:
            tally.append(counts)

    sanitizer.sanitize_column(open_column(rows)[0], tally=Keeping())
    return join_counts(tally)


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({"words": 1, "stopwords": 1, "characters_in_clear": 3}, "1 word: 0 replaced, 1 stopword kept; 3 characters"),
        ({"words": 1, "stopwords": 1}, "\nno eps was spent; mapping m (f)"),
        ({}, "0 words; 0 characters in the clear\n"),
        ({"symbols": 1234}, "; 1,234 symbols passed\n"),
        ({"symbols": 1, "texts_unchanged": 2}, "; 1 symbol passed; 2 texts unchanged\n"),
    ],
)
def test_a_receipt_shows_only_what_there_is(counts: dict[str, int], shown: str) -> None:
    receipt = make_receipt(**counts)
    assert shown in receipt.describe()
    assert ("symbol" in receipt.describe()) == ("symbols" in counts)
    assert receipt.to_dict()["symbols"] == counts.get("symbols", 0)


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
@settings(max_examples=20)
@given(rows=st.lists(texts, max_size=6))
@example(rows=["zoe ZOE zoë", "ZOË", "K k", "ΟΔΟΣ οδος", "x" * 30 + " " + "X" * 30 + " y" * 2])
@example(rows=[" ".join(f"w{number % 10_000}q" for number in range(30_000))] * 2)  # in several blocks
def test_unknown_words_are_counted_once_each(paper: Sanitizer, strict: Sanitizer, rows: list[str]) -> None:
    pieces = [piece for row in paper.compare(rows) for piece in row]  # a separate run, but words are found alike
    assert paper.release(rows)[1].unknown_distinct == len({fold_word(one.before) for one in pieces if one.kind == 3})
    assert strict.release(rows)[1].unknown_distinct == 0


def test_counts_are_cut_joined_and_added_with_all_that_they_hold(paper: Sanitizer) -> None:
    first, second = count(paper, ["zoe ❤ zoe", "", "drug amy"]), count(paper, ["amy", "bea ❤❤", "zoe"])

    def tell(counts: Counts) -> tuple[int, int, int]:
        found = Tally()
        found.add(counts)
        receipt = paper.receipt(found)
        return receipt.rows, receipt.unknown_distinct, receipt.symbols

    def cut(counts: Counts) -> list[int]:
        return [tell(counts[place : place + 1])[1] for place in range(tell(counts)[0])]

    joined, added = join_counts([first, second]), first + second
    assert [tell(counts) for counts in (joined, added)] == [(6, 3, 3), (3, 3, 3)]
    assert [cut(counts) for counts in (joined, added)] == [[1, 0, 1, 1, 1, 1], [2, 1, 2]]
    assert cut(joined[2:5][1:3]) == [1, 1] and tell(join_counts([])) == (0, 0, 0)
