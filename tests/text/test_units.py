"""Units are found where a reader would see them, and the search by windows finds what a search everywhere finds."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custext_sql.text.characters import INVISIBLE, traits, unit_characters
from custext_sql.text.encoded_text import EncodedText, join_texts
from custext_sql.text.units import (
    ADDRESSES,
    COORDINATES,
    HEX_CHAINS,
    IBANS,
    LITERALS,
    MARKED_PHONES,
    NUMBERS,
    UNIT_TYPES,
    find_units,
)
from custext_sql.text.word_boundaries import find_parts
from tests.text.hostile_texts import PIECES, make_hostile


def find(*texts: str) -> list[list[tuple[str, str]]]:
    """Return the type and text of each unit of some texts."""
    content, offsets = join_texts(texts)
    text = EncodedText(content)
    parts = find_parts(text, offsets)
    units = find_units(text, offsets, parts.starts, parts.ends)
    found: list[list[tuple[str, str]]] = [[] for _ in texts]
    if units is not None:
        rows = offsets.searchsorted(units.starts, "right") - 1
        for row, start, end, kind in zip(rows, units.starts, units.ends, units.types, strict=True):
            found[row].append((UNIT_TYPES[kind], content[start:end].tobytes().decode()))
    return found


UUID = "f3d9d7f2-d472-49ac-81c2-10f09378c12f"
UNITS = {  # by type, with | between them
    "email": "john.o'brien+a@mail.example.co.uk | a@b | john&jane@exa_mple.com | j\xf6s\xe9@m\xfcnchen.de"
    " | name\uff20example.org",
    "url": "http://example.org | https://user:pw@example.org:80/a/b.c?d=1&e=2020-01-02#f | custom+x://a"
    " | ...http://example.org | 1.http://example.org | caf\xe9-http://example.org | www.example.museum/a"
    " | mail.example.co.uk | EXAMPLE.COM:8080/a?b#c",
    "handle": "@friend | @some.one@example.social",
    "hashtag": "#MeToo | #2024goals",
    "mac": "00:1A:2b:3C:4d:5E | 00-1A-2B-3C-4D-5E",
    "ip": "fe80\uff1a\uff1a1 | 10.0.0.1 | 192.168.100.200:8080 | 10.0.0.0/24 | 2001:db8::ff00:42:8329"
    " | fe80::dead:beef:1 | 2001:0db8:0000:0000:0000:ff00:0042:8329 | ::ffff:10.0.0.1 | fe80::1%eth0",
    "uuid": UUID,
    "coordinates": "40.7128, -74.0060 | 40.7128\xb0 N, 74.0060\xb0 W | 40\xb042'46\"N 74\xb000'22\"W | 48\xb051\u2032N",
    "id": "D-2025-524501 | v/2024/00017",
    "iban": "GB29 NWBK 6016 1331 9268 19 | gb42nawi04454264788619 | DE89-3704-0044-0532-0130-00"
    " | BR97 6102 3261 5738 3533 1132 812R S | RU03 0445 2522 5408 1781 0538 0913 1041 9"
    " | MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    "date": "1980-01-02 | 19800102 | 19800102T103000Z | 2/8/1935 | 12.05.1990 | 2000-04-16 11:34:35"
    " | 2000-04-16T11:34:35.123Z | 2000-04-16T11:34+02:00 | 1990-05 | 12/5 | 1990/91 | 01 / 02 / 1990"
    " | 1. 2. 1990 | 1990-W05-3 | 5-6/2020 | 2020-01-02:10:30 | 2020-01-02 12:30:45+02"
    " | 1990-01-02 10:30:00 +0200 | 1/2/1990-3/4/1991 | 9-10:30 | 1-2-3-4 | 1980\u201301\u201302"
    " | \uff11\uff19\uff18\uff10-\uff10\uff11-\uff10\uff12"
    " | \u0661\u0669\u0668\u0660/\u0660\u0661/\u0660\u0662",
    "card": "4111 1111 1111 1111 | 4111-1111-1111-1111 | 4111.1111.1111.1111 | 3782 822463 10005"
    " | 4012888888881881 | 4111 - 1111 - 1111 - 1111 | 4111 1111 1111 1111 123",
    "ssn": "054-28-6917 | 054 - 28 - 6917",
    "phone": "+46 (0)8 928 571 38 | (37) 788-063 | (555) 123 - 4567 | +49 (0) 30 - 12 34 56"
    " | 01 23 45 67 89 01 98 76 54 32 | 0 7 7 0 0 9 0 0 1 2 3 | (579)888-3058 | 60-56-85-91 | 467 3395"
    " | 03.93.92.16.85 | +447700921916 | 9498777106 | 345-899-3560x4587 | 0207 946 0958 x12"
    " | 001-541-899-1344 | 555\u2011123\u20114567",
    "time": "10:30 | 10:30-11 | 00:01:02:03 | 12:30:45.123",
}


@pytest.mark.parametrize(
    ("kind", "unit"), [(kind, unit) for kind, units in UNITS.items() for unit in units.split(" | ")]
)
@pytest.mark.parametrize("frame", ["{}", "see {}.", "({}), or", "\u201c{}\u201d", "a\n{}\nb", "so: {}; x"])
def test_units_are_found_whole(kind: str, unit: str, frame: str) -> None:
    [[(found, text)]] = find(frame.format(unit))
    assert (found, text.strip("()")) == (kind, unit.strip("()")) or text == f"({unit})"


@pytest.mark.parametrize(
    "text",
    [
        "It cost 3.50 in 1990, not 1,000,000; 98.6 degrees.",
        "He is 42 years old and has 3 cats.",
        "On March 5, or in May",
        "std::vector<int> a1",
        "AB12 cake with that from",
        "you @ work, # 1 and #1",
        "10/10, 4.5/5, 7/10 and 3/5",
        "12::utah 12::arizona",
        "98.6\u00b0 F, 3.14159 and 2.71",
        "the end.It is",
        "a:b and x: y",
        "http:// and ://x",
        "In 2010 1500 people, and (1999) 120 min",
        "face::add and ::before",
        "covid19 x86 4th",
        "",
    ],
)
def test_what_is_no_unit_is_left_to_the_words(text: str) -> None:
    assert find(text) == [[]]


def test_units_end_with_their_text() -> None:
    assert find("555", "123 4567", "", "8", "a@", "b.org", "http:", "//x") == [
        *([], [("phone", "123 4567")], [], [], [], [("url", "b.org")], [], [])
    ]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("42 2020-01-02 10:30:00", ["2020-01-02 10:30:00"]),
        ("Tel 555-123-4567 10:30", ["555-123-4567", "10:30"]),
        ("Nov 12 2020 10:30:01", ["10:30:01"]),
        ("3 192.168.1.1:8080", ["192.168.1.1:8080"]),
        ("2012-12-05,12:30", ["2012-12-05", "12:30"]),
        ("pages 12-15,18-20", ["12-15", "18-20"]),
        ("12/05,2012 and 12/05,pm", ["12/05", "12/05"]),
        ("speaker_1 2020-01-02 10:30 u2 555-1234 mp3 1/2/90", ["2020-01-02 10:30", "555-1234", "1/2/90"]),
        ("Call 555-123-4567 2nd floor", ["555-123-4567"]),
        ("jo\u00adhn@x.org 1990\u200b-01-02", ["jo\u00adhn@x.org", "1990\u200b-01-02"]),
        ("\u8acbjohn@x.org\u8b1d", ["\u8acbjohn@x.org\u8b1d"]),
        ("call ORD-2025-524501", ["D-2025-524501"]),
        (f"id:00:1A:2B:3C:4D:5E, name:{UUID}-based", ["00:1A:2B:3C:4D:5E", UUID]),
        ("from 2001:db8::1: refused ...www.example.com/a", ["2001:db8::1", "...www.example.com/a"]),
        ("555-123-4567 x 89, 555-123-4567 x89", ["555-123-4567", "555-123-4567 x89"]),
        ("555-123-4567 # 8 #one#two", ["555-123-4567 # 8", "#one#two"]),
    ],
)
def test_what_surrounds_a_unit_is_no_part_of_it(text: str, units: list[str]) -> None:
    assert [unit for _, unit in find(text)[0]] == units


def test_neighbors_are_told_apart() -> None:
    [found] = find("12/05/2020 555-123-4567, 1/2/1990-3/4/1991 a@b.c;d@e.f 10:30-11:45")
    assert [kind for kind, _ in found] == ["date", "phone", "date", "email", "email", "time"]


def search_numbers(plain: bytes) -> list[tuple[int, int, int]]:
    """Return the numbers that patterns find where a number or a sign may begin one."""
    found, end = [], 0
    for place in range(len(plain)):
        if re.match(rb"[+(]{1,2}\d", plain[place : place + 3]):
            pattern, types = MARKED_PHONES
        elif plain[place : place + 1].isdigit() and not re.search(rb"\d[-./:]?\Z", plain[max(place - 2, 0) : place]):
            pattern, types = NUMBERS
        else:
            continue
        match = pattern.match(plain, place)
        if place >= end and match is not None:
            end, kind = match.end(), types[match.lastindex or 0]
            named = pattern is NUMBERS[0] and re.search(rb"[A-Za-z_\x80-\xff][-/]\Z", plain[:place])
            if named and len(re.findall(rb"\d", match[0])) >= 6:
                place, kind = place - 2, UNIT_TYPES.index("id")
            found.append((place, end, kind))
    return found


def search_everywhere(text: str) -> list[tuple[str, str]]:
    """Return the units that patterns find in the whole text, without windows."""
    plain, places = b"", []
    for place, character in enumerate(text):
        code = np.array([ord(character)])
        if not traits.find(code)[0] & INVISIBLE:
            plain += bytes([ord(character) if ord(character) < 128 else int(unit_characters.find(code)[0])])
            places.append(place)
    places.append(len(text))
    spans = sorted(
        [
            *search_numbers(plain),
            *(
                (match.start(), match.end(), types[match.lastindex or 0])
                for pattern, types in (ADDRESSES, IBANS, HEX_CHAINS, COORDINATES)
                for match in pattern.finditer(plain)
            ),
        ]
    )
    joined: list[tuple[int, int, int]] = []
    for start, end, kind in spans:
        if joined and start < joined[-1][1]:
            start, last, first = joined.pop()
            end, kind = max(end, last), min(kind, first)
        joined.append((start, end, kind))
    return [(UNIT_TYPES[kind], text[places[start] : places[end]]) for start, end, kind in joined]


PARTS = (  # with ~ between them
    "1~23~456~7890~123456~4111111111111111~GB29~NWBK~a~bc~fe80~word~john~x12~ ~ ~ ~-~-~/~.~.~:~:~::~://~@~@~+~(~)"
    "~,~'~\n~T~Z~\xfc~\u2013~\xa0~\xad~\u8acb~\u24b6~W~x~(0)~1990~2. ~\uff11~\u0663~\u2019~\U0001f600~#~_~\xb0"
    "~\uff1a~com~www.~12.3456~1a:2b:3c:~-ab12~%~/10"
)
parts = st.sampled_from(PARTS.split("~"))


@settings(max_examples=500)
@given(st.lists(parts, max_size=40).map("".join))
@example("12\uff1a: 5 for the word: yes: no")
@example("1-1-1990\u2013W4561\u8acb")
@example("555-123-4567 x123456word")
@example(":\u00ad:1")
@example("bc\u00ad4111111111111111,-1,")
@example(":_23):::@2. 7890::word:4111111111111111/::4111111111111111/x_)john@2. ")
def test_windows_lose_nothing(text: str) -> None:
    assert find(text) == [search_everywhere(text)]


@example(["7890\uff11::", ":::::"])
@given(st.lists(st.lists(parts, max_size=12).map("".join), max_size=6))
def test_texts_do_not_touch_each_other(texts: list[str]) -> None:
    assert find(*texts) == [find(text)[0] for text in texts] if texts else True


@pytest.mark.parametrize("name", PIECES)
def test_hostile_texts_are_searched(name: str) -> None:
    """The benchmark `units` shows that the time is linear."""
    text = make_hostile(PIECES[name], 3000)
    assert find(text) == [search_everywhere(text)]


def test_patterns_name_no_words_but_the_literals() -> None:
    named: set[bytes] = set()
    for pattern, _ in (ADDRESSES, IBANS, HEX_CHAINS, COORDINATES, NUMBERS, MARKED_PHONES):
        classes = re.sub(rb"\[[^]]*\]|\\(?:x..|.)", b"", pattern.pattern)
        named |= set(re.findall(rb"[A-Za-z]{2,}", classes))
    assert {name.decode().lower() for name in named} <= set(LITERALS)
