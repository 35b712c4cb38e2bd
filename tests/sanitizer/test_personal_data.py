"""Nothing of a marked e-mail address, number, URL or date is left, nor any part of a name that the mapping lacks."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

import pytest

from custext_sql import Mapping, Policy, Sanitizer
from custext_sql.sanitizer.settings import Settings
from tests.small_mapping import small_mapping

Marked = list[tuple[str, str, int, int]]  # the kind of a marked value, its text, and where it starts and ends in it

KINDS = {
    "EMAIL_ADDRESS": "<email>",
    "PHONE_NUMBER": "<phone>",
    "CREDIT_CARD": "<card>",
    "IBAN_CODE": "<iban>",
    "DOMAIN_NAME": "<url>",
    "IP_ADDRESS": "<ip>",
    "US_SSN": "<ssn>",
    "DATE_TIME": "<date>",
}
OWN = [
    ("CREDIT_CARD", "Anna Zzyzxa-Brown's card [4012888888881881] was sent to O'Neil!"),
    ("EMAIL_ADDRESS", "It was sent to [anna.zz@qqvx.com]; call"),
    ("PHONE_NUMBER", "call [+49 8812345678], O'Neil!"),
    ("PHONE_NUMBER", "Call [+46 (0)8 928 571 38] or"),
    ("US_SSN", "My SSN is [054-28-6917]."),
    ("DATE_TIME", "Born [2/8/1935], IP"),
    ("DATE_TIME", "On [2000-04-16 11:34:35] it ended"),
    ("IP_ADDRESS", "IP [106.31.73.20]!"),
    ("IBAN_CODE", "IBAN: [GB59NAWV77136867049356]"),
    ("IBAN_CODE", "from [gb42nawi04454264788619] to"),
    ("DOMAIN_NAME", "see [https://www.artist-movie.se/] and"),
    ("DOMAIN_NAME", "see [http://poolvendor.be/a?b=1]"),
]
OWN_NAMES = [
    ("PERSON", "[Anna Zzyzxa-Brown]'s card was sent"),
    ("PERSON", "to [Zoë O'Neil], who"),
    ("PERSON", "call [MÜLLER_Ann]!"),
]


def read_marked(own: list[tuple[str, str]], kinds: Collection[str]) -> Marked:
    """Return the values of some kinds in the sentences of CUSTEXT_DATA, or a few of our own."""
    if not (data := os.environ.get("CUSTEXT_DATA")):
        return [(kind, re.sub(r"[][]", "", text), text.index("["), text.index("]") - 1) for kind, text in own]
    rows = json.loads((Path(data) / "pii_presidio_synth.json").read_text(encoding="utf-8"))
    spans = [(row["full_text"], span) for row in rows for span in row["spans"] if span["entity_type"] in kinds]
    return [(span["entity_type"], text, span["start_position"], span["end_position"]) for text, span in spans]


@pytest.fixture(scope="module")
def marked() -> Marked:
    """Return the values that must be masked."""
    return [
        (kind, text, start, end)
        for kind, text, start, end in read_marked(OWN, KINDS)
        if kind != "DATE_TIME" or len(re.findall(r"\d+", text[start:end])) > 1
    ]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    """Return a mapping of all parts of our texts, in groups of two, so that any that is left or drawn shows."""
    return small_mapping(sorted({*re.findall(r"[^\W_]+", " ".join(text for _, text in OWN).lower())}), k=2)


@pytest.fixture(scope="module")
def sanitizer(mapping: Mapping) -> Sanitizer:
    return Sanitizer(mapping)


def test_nothing_of_a_marked_value_is_left(sanitizer: Sanitizer, marked: Marked) -> None:
    """This does not look at how units are found. Each marked value is exchanged for others of its kind, and the outputs
    of the two texts must be equal, byte for byte, at eps = 0. If any part of a value were left, or replaced as a word,
    they would differ, except where the other value has a word of the same group in its place.
    """
    values = defaultdict(list)
    for kind, text, start, end in marked:
        values[kind].append(text[start:end])
    assert set(values) == set(KINDS)
    outputs = sanitizer.sanitize_batch([text for _, text, _, _ in marked], 0.0)
    for step in (1, 7):
        others = [
            text[:start] + values[kind][(values[kind].index(text[start:end]) + step) % len(values[kind])] + text[end:]
            for kind, text, start, end in marked
        ]
        exchanged = sanitizer.sanitize_batch(others, 0.0)
        differ = [kind for (kind, *_), one, other in zip(marked, outputs, exchanged, strict=True) if one != other]
        assert not differ
    for (kind, *_), output in zip(marked, outputs, strict=True):
        assert KINDS[kind] in output


def test_without_units_the_check_fails(mapping: Mapping, marked: Marked) -> None:
    as_words = Sanitizer(mapping, settings=Settings(policy=Policy(units="keep")))
    kind, text, start, end = next(one for one in marked if one[0] == "EMAIL_ADDRESS")
    one, other = as_words.sanitize_batch([text, f"{text[:start]}name@long.domain.org{text[end:]}"], 0.0)
    assert KINDS[kind] not in one and one != other


def test_no_part_of_a_name_is_left_that_the_mapping_lacks() -> None:
    """The same search finds every such part if unknown words are kept."""
    mapping = small_mapping(["anna", "brown", "card", "call", "michael", "smith", "sent", "to"], k=4)
    names = read_marked(OWN_NAMES, ["PERSON"])

    def read_parts(text: str) -> set[str]:
        return {part for part in re.findall(r"[^\W_]+", text.lower()) if part not in mapping.index and len(part) > 2}

    def find_left(policy: Policy) -> list[set[str]]:
        sanitizer = Sanitizer(mapping, settings=Settings(policy=policy))
        outputs = sanitizer.sanitize_batch([text for _, text, _, _ in names], 1.0)
        return [
            read_parts(text[start:end]) & read_parts(out)
            for (_, text, start, end), out in zip(names, outputs, strict=True)
        ]

    assert not any(find_left(Policy()))
    assert find_left(Policy(unknown="keep")) == [read_parts(text[start:end]) for _, text, start, end in names]


@pytest.mark.parametrize("text", ["foo :: bar", "+@\u0301 dog", ":: the a@b 10:30 1-2 red", "@", "a@b"])
def test_what_only_looks_like_a_unit_breaks_nothing(sanitizer: Sanitizer, text: str) -> None:
    [alone] = sanitizer.sanitize_batch([text], 0.0)
    among = sanitizer.sanitize_batch(["red 10:30", text, "1/2/1990 red"], 0.0)
    assert among[1] == alone
    assert among[0].endswith(" <time>") and among[2].startswith("<date> ")
    assert ("<email>" in alone) == ("a@b" in text)
