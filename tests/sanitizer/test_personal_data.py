"""Nothing of a marked e-mail address, number, URL or date is left."""

import json
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from custext_sql import Policy, Sanitizer


def mark(text: str, **marked: str) -> dict[str, Any]:
    """A text with marked spans, each with its kind and its value."""
    spans = []
    for kind, value in marked.items():
        start = text.index(value)
        position = {"start_position": start, "end_position": start + len(value)}
        spans.append({"entity_type": kind.rstrip("_"), "entity_value": value, **position})
    return {"full_text": text, "spans": spans}


SAMPLE = [
    mark(
        "Anna Zzyzxa-Brown's card 4012888888881881 was sent to anna.zz@qqvx.com; call +49 8812345678, O'Neil!",
        PERSON="Anna Zzyzxa-Brown",
        CREDIT_CARD="4012888888881881",
        EMAIL_ADDRESS="anna.zz@qqvx.com",
        PHONE_NUMBER="+49 8812345678",
    ),
    mark("Mary met John in Boston.", PERSON="Mary", PERSON_="John"),
]


@pytest.fixture(scope="module")
def texts() -> list[dict[str, Any]]:
    """Return the sentences of CUSTEXT_DATA, or a few of our own, repeated."""
    data = os.environ.get("CUSTEXT_DATA")
    if data:
        return list(json.loads((Path(data) / "pii_presidio_synth.json").read_text(encoding="utf-8")))
    return SAMPLE


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
    *SAMPLE[:1],
    mark("My SSN is 054-28-6917.", US_SSN="054-28-6917"),
    mark("Born 2/8/1935, IP 106.31.73.20!", DATE_TIME="2/8/1935", IP_ADDRESS="106.31.73.20"),
    mark("On 2000-04-16 11:34:35 it ended", DATE_TIME="2000-04-16 11:34:35"),
    mark("Call +46 (0)8 928 571 38 or", PHONE_NUMBER="+46 (0)8 928 571 38"),
    mark("IBAN: GB59NAWV77136867049356", IBAN_CODE="GB59NAWV77136867049356"),
    mark("see https://www.artist-movie.se/ and", DOMAIN_NAME="https://www.artist-movie.se/"),
    mark("see http://poolvendor.be/a?b=1", DOMAIN_NAME="http://poolvendor.be/a?b=1"),
    mark("from gb42nawi04454264788619 to", IBAN_CODE="gb42nawi04454264788619"),
]


@pytest.fixture(scope="module")
def of_all_kinds(texts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return OWN if texts is SAMPLE else texts


@pytest.fixture(scope="module")
def sanitizer(starter_db: Path) -> Sanitizer:
    return Sanitizer.load(starter_db)


def list_marked(texts: list[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    """Return the kind, text, start and end of each marked value that must be masked."""
    found = []
    for row in texts:
        for span in row["spans"]:
            kind, value = span["entity_type"], span["entity_value"]
            if kind in KINDS and (kind != "DATE_TIME" or len(re.findall(r"\d+", value)) > 1):
                found.append((kind, row["full_text"], span["start_position"], span["end_position"]))
    return found


def test_nothing_of_a_marked_value_is_left(sanitizer: Sanitizer, of_all_kinds: list[dict[str, Any]]) -> None:
    """This does not look at how units are found. Each marked value is exchanged for others of its kind, and the outputs
    of the two texts must be equal, byte for byte, at eps = 0. If any part of a value were left, or replaced as a word,
    they would differ, except where the other value has a word of the same group in its place.
    """
    marked = list_marked(of_all_kinds)
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


def test_without_units_the_check_fails(starter_db: Path, of_all_kinds: list[dict[str, Any]]) -> None:
    as_words = Sanitizer.load(starter_db, policy=Policy(units="keep"))
    kind, text, start, end = next(one for one in list_marked(of_all_kinds) if one[0] == "EMAIL_ADDRESS")
    one, other = as_words.sanitize_batch([text, f"{text[:start]}name@long.domain.org{text[end:]}"], 0.0)
    assert KINDS[kind] not in one
    assert one != other


@pytest.mark.parametrize("text", ["foo :: bar", "+@\u0301 dog", ":: the a@b 10:30 1-2 red", "@", "a@b"])
def test_what_only_looks_like_a_unit_breaks_nothing(sanitizer: Sanitizer, text: str) -> None:
    [alone] = sanitizer.sanitize_batch([text], 0.0)
    among = sanitizer.sanitize_batch(["red 10:30", text, "1/2/1990 red"], 0.0)
    assert among[1] == alone
    assert among[0].endswith(" <time>")
    assert among[2].startswith("<date> ")
    assert ("<email>" in alone) == ("a@b" in text)
