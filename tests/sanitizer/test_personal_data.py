"""Nothing of a marked e-mail address, number, URL or date is left; other marked data survives as the tables allow."""

import json
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import Policy, Sanitizer
from custext_sql.text.characters import APOSTROPHES
from custext_sql.text.word_boundaries import fold_word
from tests.files.test_data_files import folder, run
from tests.text.test_word_boundaries import read_words

__all__ = ["folder"]  # a fixture

ENDINGS = {"s", "t", "re", "ve", "ll", "d", "m"}
WHOLE = {"EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD"}
EPS = 1.0
WORD = r"[\w'\u0300-\u036f]+?"  # of the vocabulary


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
] * 300


@pytest.fixture(scope="module")
def texts() -> list[dict[str, Any]]:
    """Return the sentences of CUSTEXT_DATA, or a few of our own, repeated."""
    data = os.environ.get("CUSTEXT_DATA")
    if data:
        return list(json.loads((Path(data) / "pii_presidio_synth.json").read_text(encoding="utf-8")))
    return SAMPLE


def read_units(text: str, vocabulary: dict[str, int]) -> list[tuple[int, int, str]]:
    """Return the position and kind of each word, found one by one."""
    units = []
    position = 0
    for parts in read_words(text):
        found = re.compile(f"[{APOSTROPHES}]".join(map(re.escape, parts))).search(text, position)
        assert found is not None
        position = found.end()
        if len(parts) == 1 or fold_word(found[0]) in vocabulary:
            units.append((found.start(), found.end(), _decide(found[0], vocabulary)))
            continue
        start = found.start()
        for place, part in enumerate(parts):
            is_ending = place == len(parts) - 1 and fold_word(part) in ENDINGS
            units.append((start, start + len(part), "ending" if is_ending else _decide(part, vocabulary)))
            start += len(part) + 1
    return units


def _decide(word: str, vocabulary: dict[str, int]) -> str:
    if fold_word(word) in vocabulary:
        return "replaced"
    return "number" if word.isdecimal() else "unknown"


def align(before: str, after: str, units: list[tuple[int, int, str]]) -> list[str]:
    """Return the output for each word, given that the text between words is unchanged."""
    pattern, position = "", 0
    for start, end, kind in units:
        word = {"ending": re.escape(before[start:end]), "unknown": "<unk>", "number": "<num>"}.get(
            kind, r"[\w'\u0300-\u036f]+?"
        )
        pattern += f"{re.escape(before[position:start])}({word})"
        position = end
    found = re.fullmatch(pattern + re.escape(before[position:]), after)
    assert found is not None, "what lies between words changed, or a word that is unknown survived"
    return list(found.groups())


@pytest.mark.slow
def test_no_more_survives_than_the_tables_say(starter_db: Path, folder: Path, texts: list[dict[str, Any]]) -> None:
    lines = [json.dumps({"id": number, "body": row["full_text"]}) for number, row in enumerate(texts)]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run(
        *("--db", starter_db, "sanitize", "in.jsonl", "out.jsonl", "--column", "body", "--policy", "strict"),
        *("--units", "keep", "--eps", str(EPS), "--json"),
    )
    assert done.exit_code == 0, done.output
    after = [json.loads(line)["body"] for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    sanitizer = Sanitizer.load(starter_db)
    vocabulary = sanitizer.mapping.index
    counts = dict.fromkeys(("replaced", "number", "unknown", "ending"), 0)
    whole, names, chances, of_whole = 0, 0, [], 0.0
    for row, text in zip(texts, after, strict=True):
        before = row["full_text"]
        units = read_units(before, vocabulary)
        outputs = align(before, text, units)  # exact: unknown words and numbers are masks
        for (start, end, kind), output in zip(units, outputs, strict=True):
            counts[kind] += 1
            if kind == "replaced":
                assert output in sanitizer.distribution(fold_word(before[start:end]), EPS)
        for span in row["spans"]:
            first, last = span["start_position"], span["end_position"]
            inside = [number for number, (start, end, _) in enumerate(units) if start < last and end > first]
            same = all(fold_word(before[units[n][0] : units[n][1]]) == outputs[n] for n in inside)
            if span["entity_type"] in WHOLE:
                whole += span["entity_value"] in text
                of_whole += survival(sanitizer, before, [units[number] for number in inside])
            elif span["entity_type"] == "PERSON":
                names += same
                chances.append(survival(sanitizer, before, [units[number] for number in inside]))
    assert of_whole < 1e-3  # the probability that any of them survives
    assert whole == 0
    low, high = interval(chances, 1 - 1e-8)
    print(f"\n{names} of {len(chances)} names came out whole; the tables predict {low} to {high}")
    assert low <= names <= high
    receipt = json.loads(done.stdout)["receipt"]
    assert (receipt["rows"], receipt["words"]) == (len(texts), sum(counts.values()))
    assert (receipt["replaced"], receipt["numbers"]) == (counts["replaced"], counts["number"])
    assert (receipt["unknown_masked"], receipt["endings"]) == (counts["unknown"], counts["ending"])
    assert receipt["unknown_kept"] == receipt["stopwords"] == 0
    assert not low <= names + 0.1 * len(chances) <= high  # the test would notice a tenth more


def survival(sanitizer: Sanitizer, text: str, units: list[tuple[int, int, str]]) -> float:
    """Return the probability that all these words are unchanged."""
    chance = 1.0
    for start, end, kind in units:
        word = fold_word(text[start:end])
        chance *= sanitizer.distribution(word, EPS)[word] if kind == "replaced" else float(kind == "ending")
    return chance


def interval(chances: list[float], level: float) -> tuple[int, int]:
    """Return the range of a number of independent events at that probability, by the exact distribution."""
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, [1.0 - chance, chance])
    below = np.cumsum(distribution)
    tail = (1.0 - level) / 2.0
    return int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1.0 - tail))


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
