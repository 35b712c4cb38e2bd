"""Whether something is a unit, and where it ends, does not depend on which word is beside it."""

from collections import defaultdict
from functools import cache
from unicodedata import category

import numpy as np
import pytest

from custext_sql.text.encoded_text import EncodedText, join_texts
from custext_sql.text.unit_patterns import UNIT_TYPES
from custext_sql.text.units import find_units
from custext_sql.text.word_boundaries import find_parts
from custext_sql.vectors.starter import open_starter

SAMPLE = 700  # of the longer words
UNITS = (
    *("555 1234", "555-123-4567", "(555) 123-4567", "+44 20 7946 0958", "5551234567", "555 1234 x60", "555 1234 #60"),
    *("2020-01-02", "1/2/1990", "2019/20", "1. 2. 1990", "2020-01-02 10:30", "1990-W05", "10:30", "12:30:45.123"),
    *("4111 1111 1111 1111", "4012888888881881", "054-28-6917", "10.0.0.1", "10.0.0.1:80", "fe80::1", "::1"),
    *("GB82 WEST 1234 5698 7654 32", "DE89 3704 0044 0532 0130 00", "gb82west12345698765432"),
    *("jo.o'neil@example.org", "a@b", "http://example.org/a?b=1", "a+b://c"),
    *("60", "1990", "3.50", "GB82"),  # not units by themselves
)
APART = (  # the word is between spaces
    *("{unit} {word}", "{word} {unit}", "{unit} {word} 60", "60 {word} {unit}", "{unit} {word} 555 1234"),
    *("{unit} {word}, 60", "{unit}, {word} #60", "{unit} ({word}) 60", "{unit}\n{word}: 60", "{unit} - {word} - 60"),
    *("{unit} {word} 1234 5698 7654 32", "20 {word} 1990 {unit}", "{unit} +{word} 60", "{unit} {word}. 12:30"),
    "{unit}\u00a0{word}\u00a060",
)
JOINED = ("{word}-{unit}", "{word}/{unit}", "{word}.{unit}", "{word}...{unit}", "{unit},{word}", "{unit}/{word}")


@cache
def read_words() -> list[str]:
    with open_starter() as source:
        return [word for batch in source.batches for word in batch.words]


@cache
def list_words() -> list[str]:
    """Return words of letters: all that have one or two of them, and some of the others."""
    words = [word for word in read_words() if word.isalpha()]
    long = [word for word in words if len(word) > 2]
    some = np.random.default_rng(0).choice(len(long), SAMPLE, replace=False)
    chosen = {word for word in words if len(word) <= 2} | {long[place] for place in some} | {"ext", "dead", "face"}
    assert chosen >= {"x", "e", "t", "v", "p", "w", "z"}
    return sorted(chosen | {word.title() for word in chosen})


def describe_units(text: str, words: list[str]) -> dict[tuple[tuple[str, ...], ...], list[str]]:
    """Return words by the units of a text that contains them, as places that do not depend on how long the word is."""
    before, after = (part.encode() for part in text.split("{word}"))
    content, offsets = join_texts([text.replace("{word}", word) for word in words])
    encoded = EncodedText(content)
    parts = find_parts(encoded, offsets)
    units = find_units(encoded, offsets, parts.starts, parts.ends)
    found: list[tuple[tuple[str, ...], ...]] = [()] * len(words)
    if units is not None:
        rows = (offsets.searchsorted(units.starts, "right") - 1).tolist()
        for row, *span, kind in zip(
            rows, *(one.tolist() for one in (units.starts, units.ends, units.types)), strict=True
        ):
            places = (_place(place - offsets[row], offsets[row + 1] - place, len(before), len(after)) for place in span)
            found[row] += ((UNIT_TYPES[kind], *places),)
    known = defaultdict(list)
    for word, spans in zip(words, found, strict=True):
        known[spans].append(word)
    return known


def _place(from_start: int, from_end: int, before: int, after: int) -> str:
    """Return a place of a text: counted from the start before the word and from the end after it."""
    if from_start <= before:
        return f"{from_start} from the start"
    return f"{from_end} from the end" if from_end <= after else "within the word"


def check_alike(template: str, words: list[str]) -> None:
    for unit in UNITS:
        found = describe_units(template.replace("{unit}", unit), words)
        assert len(found) == 1, (unit, {places: words[:5] for places, words in found.items()})


@pytest.mark.parametrize("template", APART)
def test_words_beside_units_do_not_change_them(template: str) -> None:
    check_alike(template, list_words())


@pytest.mark.parametrize("template", APART)
def test_words_that_begin_with_digits_are_no_part_of_units(template: str) -> None:
    """Such as 1st and 1980s: they do what words of letters do."""
    words = [word for word in read_words() if word.isascii() and word[0].isdecimal() and not word.isdecimal()]
    assert {"1st", "20th", "1980s"} <= set(words)
    check_alike(template, ["doctor", *words])


@pytest.mark.parametrize("template", JOINED)
def test_words_joined_to_units_change_them_alike(template: str) -> None:
    """Addresses end at letters of a script without cases, but not at other letters, such as those with accents."""
    check_alike(template, [word for word in list_words() if {category(one) for one in word} <= {"Lu", "Ll"}])
