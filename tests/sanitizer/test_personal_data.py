"""Under `strict`, and even without units, marked personal data survives only as often as the tables allow."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import Sanitizer
from custext_sql.text.characters import APOSTROPHES
from custext_sql.text.word_boundaries import fold_word
from tests.release.test_data_files import folder, run
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
