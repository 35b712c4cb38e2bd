"""Whether something is a unit, and where it ends, does not depend on which word stands in it or beside it.

All words are of one group here, so that at eps = 0 texts that differ in one word must give the same bytes.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from unicodedata import normalize

import numpy as np
import pytest

from custext_sql import Sanitizer
from custext_sql.text.units import LITERALS, SUFFIXES
from custext_sql.vectors.starter import open_starter
from tests.small_mapping import small_mapping

UNITS = (
    *("555 1234", "555-123-4567", "(555) 123-4567", "+44 20 7946 0958", "5551234567", "555 1234 x60", "555 1234 #60"),
    *("2020-01-02", "1/2/1990", "2019/20", "1. 2. 1990", "2020-01-02 10:30", "1990-W05", "10:30", "12:30:45.123"),
    *("20240115", "10:30pm", "10:30 pm", "4111 1111 1111 1111", "4012888888881881", "054-28-6917"),
    *("10.0.0.1", "10.0.0.1:80", "fe80::1", "::1", "12::", "12::ab", "::ffff:10.0.0.1", "fe80::1%eth0"),
    *("1:2:3:4:5:6:7:8", "7:8:9:a:b:c:d:", "std::a1", "00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5e"),
    *("f3d9d7f2-d472-49ac-81c2-10f09378c12f", "ORD-2025-524501"),
    *("40.7128, -74.0060", "40.7128\u00b0 N, 74.0060\u00b0 W", "40\u00b042'46\"N 74\u00b000'22\"W"),
    *("GB82 WEST 1234 5698 7654 32", "DE89 3704 0044 0532 0130 00", "gb82west12345698765432"),
    *("BR97 6102 3261 5738 3533 1132 812R S", "RU03 0445 2522 5408 1781 0538 0913 1041 9"),
    "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    *("jo.o'neil@example.org", "a@b", "http://example.org/a?b=1", "a+b://c", "www.example.org/a", "mail.example.co.uk"),
    *("@friend", "@a@b.c", "#MeToo"),
    *("60", "1990", "3.50", "GB82", "10/10", "4.5/5"),  # not units by themselves
)
MARKS = (
    *["-", ":", "::", ".", "/", "@", "#", "%", ",", "'", '"', "(", "+", "://", "：", "：：", "°", "’", "..."],
    *(" ", ", ", ". ", " ext ", "\u00a0", " - ", "\n", ": ", " #", " +"),
)
ENDINGS = {"s", "t", "re", "ve", "ll", "d", "m"}  # after an apostrophe, they stay


@cache
def read_words() -> list[str]:
    with open_starter() as source:
        return [word for batch in source.batches for word in batch.words]


def is_named(word: str) -> bool:
    """Return whether a word is among those that patterns name, or is made of the characters of units."""
    plain = normalize("NFKC", word)
    return plain in LITERALS or re.search(r"\d", plain) is not None or re.fullmatch("[a-f]+", plain) is not None


@cache
def list_words(longer: int) -> list[str]:
    """Return words of letters: those that have one or two, and some of the longer ones, in three cases."""
    words = [word for word in read_words() if word.isalpha() and not is_named(word) and word not in ENDINGS]
    long = [word for word in words if len(word) > 2]
    some = np.random.default_rng(0).choice(len(long), longer, replace=False)
    short = [word for word in words if len(word) <= 2]
    chosen = sorted({*short[:: 8 if longer > 50 else 40], *(long[place] for place in some), "x", "z", "pm", "ext"})
    assert len(chosen) > longer
    return [*chosen, *(word.title() for word in chosen), *(word.upper() for word in chosen)]


def list_templates() -> list[str]:
    """Return texts with a place for a word: in a unit, beside it, and between two of them."""
    found = set()
    for unit in UNITS:
        found |= {f"{unit[: one.start()]}{{word}}{unit[one.end() :]}" for one in re.finditer(r"\w+", unit)}
        for mark in MARKS:
            found |= {f"{{word}}{mark}{unit}", f"{unit}{mark}{{word}}", f"{unit}{mark}{{word}}{mark}60"}
            found |= {f"60{mark}{{word}}{mark}{unit}", f"{unit}{mark}{{word}}{mark}555 1234"}
            found.add(f"{unit} {{word}} 1234 5698 7654 32")
    return sorted(found)


def find_differences(templates: list[str], words: list[str]) -> dict[str, dict[str, list[str]]]:
    """Return templates that do not give the same output with all words: the outputs, each with its words."""
    group = sorted({word.lower() for word in words})
    sanitizer = Sanitizer(small_mapping(group, k=len(group)))
    found = {}
    for some in batched(templates, 100):
        made = iter(
            sanitizer.sanitize_batch([one.replace("{word}", word) for one in some for word in words], 0.0, False)
        )
        for template in some:
            outputs = defaultdict(list)
            for word in words:
                outputs[next(made)].append(word)
            if len(outputs) > 1:
                found[template] = {output: alike[:5] for output, alike in outputs.items()}
    return found


def batched(items: list[str], size: int) -> Iterator[list[str]]:
    yield from (items[place : place + size] for place in range(0, len(items), size))


def test_words_in_units_and_beside_them_do_not_change_them() -> None:
    assert find_differences(list_templates()[::8], list_words(3)) == {}


@pytest.mark.slow
def test_more_words_in_units_and_beside_them_do_not_change_them() -> None:
    assert find_differences(list_templates(), list_words(60)) == {}


def test_words_that_begin_with_digits_are_no_part_of_units() -> None:
    """Such as 1st and 1980s: apart from units, they do what words of letters do."""
    words = [word for word in read_words() if word.isascii() and word[0].isdecimal() and not word.isdecimal()]
    assert {"1st", "20th", "1980s"} <= set(words)
    apart = [f"{unit} {word} 60" for unit, word in product(UNITS, ("{word}", "({word})", "- {word} -", "+{word}"))]
    assert find_differences(apart, ["doctor", *words[::5]]) == {}


def test_a_word_that_a_pattern_swallowed_would_be_seen() -> None:
    """The counter-test: words of the letters a to f may be part of IP addresses."""
    assert find_differences(["12::{word}", "12 {word}"], ["utah", "dad"]).keys() == {"12::{word}"}


def test_few_words_are_named_by_patterns() -> None:
    """The figures are in docs/privacy.md."""
    words = [word for word in read_words() if is_named(word)]
    digits = [word for word in words if re.search(r"\d", normalize("NFKC", word))]
    hexadecimal = [word for word in words if re.fullmatch("[a-f]+", normalize("NFKC", word))]
    assert len(set(words) & set(LITERALS)) == len(LITERALS) == len(SUFFIXES) + 5
    assert (len(digits), len(hexadecimal)) == (992, 277)
