"""What the server says about a text agrees with the library."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from custext_sql import Sanitizer
from custext_sql.kinds import spread_counts
from custext_sql.playground.serving import Address
from tests.playground.requesting import ask, connect, explain, read
from tests.statistics import fits

K20, K5 = "starter-euclidean-k20", "starter-euclidean-k5"
PLAIN = {
    "a sentence": "My doctor said the surgery went well; Zorglub's mother called at 12, twice.",
    "empty": "",
    "only spaces": " \t\n ",
    "line ends": "The family\r\nwas\rwell\n\n today\r\n",
    "letters beyond 16 bits": "𝕳ello 😀 doctor 👩👧 the 𝒇amily 🎬film 日本 café naïve ﬁlm",
    "units": "Write to a.b@example.org or call +1 555 010 9999 on 2024-05-01 at https://example.org/x?y=1 now",
    "markup": '<b>film</b> & "family" </script><img src=x onerror=alert(1)> \x00\x07 \u2028',
    "combined": "e\u0301tude cafe\u0301 o\u0308sterreich 🇩🇪🇫🇷",
}
INVISIBLE = "the fam\u200bily was\ufeff well\u00ad, doc\u2060tor 😀\u200b\U000e0041 film\u202e"
CHOICES: list[tuple[dict[str, str], str, bool]] = [
    ({"name": "strict"}, K20, False),
    ({"name": "strict", "unknown": "keep", "numbers": "keep", "units": "keep", "case": "match"}, K5, False),
    ({"name": "paper", "numbers": "mask"}, K20, True),
    ({"name": "paper", "numbers": "keep", "unknown": "mask"}, K5, True),
]


@pytest.fixture(scope="module")
def client(playground: Address) -> Iterator[httpx.Client]:
    with connect(playground) as opened:
        yield opened


@pytest.fixture(scope="module")
def sanitizer(served_db: Path) -> Sanitizer:
    return Sanitizer.load(served_db)


def cut(text: str, starts: list[int], ends: list[int]) -> tuple[list[str], list[str]]:
    """Return the words of a text, and what is between them, from places in UTF-16, as JavaScript has them."""
    units = text.encode("utf-16-le")
    words = [units[2 * start : 2 * end].decode("utf-16-le") for start, end in zip(starts, ends, strict=True)]
    bounds = zip([0, *ends], [*starts, len(units) // 2], strict=True)
    return words, [units[2 * start : 2 * end].decode("utf-16-le") for start, end in bounds]


def cut_both(answer: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the words before and after; what is between them must be the same."""
    before, between = cut(answer["before"], answer["starts"], answer["ends"])
    after, still = cut(answer["after"], answer["new_starts"], answer["new_ends"])
    assert between == still
    assert len(before) == len(after) == len(answer["kinds"])
    return before, after


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_only_words_change(client: httpx.Client, sanitizer: Sanitizer, text: str) -> None:
    for eps in (0.0, 1.0):
        answer = ask(client, "sanitize", text=text, settings={"eps": eps})
        assert answer["before"] == text
        words, outputs = cut_both(answer)
        traced = sanitizer.trace(text, eps)
        assert words == [text[start:end] for start, end in zip(traced.starts, traced.ends, strict=True)]
        assert answer["kinds"] == traced.kinds.tolist()
        if eps == 0.0:
            assert answer["after"] == sanitizer.sanitize(text, 0.0)
            assert outputs == traced.list_outputs()


def test_invisible_characters_are_dropped_as_the_policy_says(client: httpx.Client, sanitizer: Sanitizer) -> None:
    answer = ask(client, "sanitize", text=INVISIBLE, settings={"eps": 0})
    assert answer["before"] == "the family was well, doctor 😀 film"
    assert answer["after"] == sanitizer.sanitize(INVISIBLE, 0.0)
    assert cut_both(answer)[0] == ["the", "family", "was", "well", "doctor", "film"]


def test_the_longest_text_is_sanitized_and_a_longer_one_is_refused(client: httpx.Client, sanitizer: Sanitizer) -> None:
    text = ("the family was well 😀 " * 10_000)[:200_000]
    answer = ask(client, "sanitize", text=text, settings={"eps": 0})
    assert answer["before"] == text and answer["after"] == sanitizer.sanitize(text, 0.0)
    cut_both(answer)
    message = explain(client, "sanitize", 422, text=text + "x")
    assert message == "text: string should have at most 200000 characters"


@pytest.mark.parametrize(("policy", "mapping", "plus"), CHOICES)
def test_every_setting_does_what_it_does_in_the_library(
    client: httpx.Client, served_db: Path, policy: dict[str, str], mapping: str, plus: bool
) -> None:
    text = " ".join(PLAIN.values())
    parts = {name: value for name, value in policy.items() if name != "name"}
    named = Sanitizer.load(served_db, mapping=mapping, policy=policy["name"])
    known = named.with_policy(replace(named.policy, **parts))
    settings = {"eps": 0, "mapping": mapping, "plus": plus, "policy": policy, "calibration": "tight"}
    answer = ask(client, "sanitize", text=text, settings=settings)
    expected, receipt = known.release([text], 0.0, plus)
    assert [answer["after"]] == expected
    drawn = {"unchanged": len(answer["unchanged"]), "is_unchanged": answer["is_unchanged"]}
    found = ask(client, "verdict", text=text, settings=settings, **drawn)["receipt"]
    assert found["lines"] == receipt.describe().split("\n")
    assert found["warnings"] == list(receipt.warnings)
    assert found["counts"] == json.loads(json.dumps(spread_counts(asdict(receipt))))


def test_a_text_that_came_out_unchanged_is_told(client: httpx.Client, sanitizer: Sanitizer) -> None:
    settings = {"eps": 0, "plus": True}
    words = {word: sanitizer.sanitize(word, 0, True) for word in ("family", "mother", "doctor", "film", "was")}
    stays = f"The {next(word for word, output in words.items() if word == output).title()}!"
    changes = f"{stays} {next(word for word, output in words.items() if word != output)}"
    for text, warned in (
        (stays, ["1 text came out unchanged: its words were kept or replaced by themselves"]),
        (changes, []),
    ):
        answer = ask(client, "sanitize", text=text, settings=settings)
        drawn = {"unchanged": len(answer["unchanged"]), "is_unchanged": answer["is_unchanged"]}
        assert ask(client, "verdict", text=text, settings=settings, **drawn)["receipt"]["warnings"] == warned
    said = explain(client, "verdict", 400, text=stays, settings=settings, unchanged=1000)
    assert "at most the number of replaced words" in said


def test_kinds_and_mappings_have_their_names(client: httpx.Client) -> None:
    setup = read(client.get("/api/setup"))
    assert [(one["name"], one["k"]) for one in setup["mappings"]] == [(K20, 20), (K5, 5)]  # the default one first
    assert setup["public"] is None and setup["limits"]["characters"] == 200_000
    names = {one["number"]: one["name"] for one in setup["kinds"]}
    text = "the family's zorglub 98765 a@b.org"
    for plus, first in ((False, "replaced"), (True, "stopword")):
        found = ask(client, "sanitize", text=text, settings={"plus": plus})
        assert [names[kind] for kind in found["kinds"]] == [first, "replaced", "ending", "unknown", "number", "unit"]


def test_draws_follow_the_probabilities_that_are_shown(client: httpx.Client) -> None:
    def find_chances(eps: float) -> dict[str, float]:
        settings = {"eps": eps, "calibration": "tight"}
        group = ask(client, "inspect", word="doctor", output="doctor", settings=settings)["group"]
        return {one["output"]: one["probability"] for one in group}

    counts: Counter[str] = Counter()
    for _ in range(10):
        settings = {"eps": 3, "calibration": "tight"}
        counts.update(cut_both(ask(client, "sanitize", text="doctor " * 3_000, settings=settings))[1])
    chances = find_chances(3)
    assert len(chances) == 20 and set(counts) <= set(chances)
    assert fits([counts[word] for word in chances], list(chances.values()))
    for other in (find_chances(2.4), find_chances(3.6)):  # a small bias is noticed
        assert not fits([counts[word] for word in chances], [other[word] for word in chances])


@pytest.mark.parametrize(
    "settings, status, message",
    [
        ({"eps": "1"}, 422, "settings.eps: input should be a valid number"),
        ({"eps": 101}, 422, "settings.eps: input should be less than or equal to 100"),
        ({"eps": 0.0001}, 400, "eps must be 0, or between 0.001 and 100"),
        ({"plus": 1}, 422, "settings.plus: input should be a valid boolean"),
        ({"mapping": "starter-euclidean-k2"}, 400, "mapping 'starter-euclidean-k2' does not exist"),
        ({"calibration": "loose"}, 422, "settings.calibration: input should be 'paper' or 'tight'"),
        ({"policy": {"keep_words": ["a"]}}, 422, "settings.policy.keep_words: extra inputs are not permitted"),
        ([], 422, "settings: input should be a valid dictionary"),
    ],
)
def test_wrong_settings_are_explained(client: httpx.Client, settings: Any, status: int, message: str) -> None:
    assert explain(client, "sanitize", status, text="family", settings=settings).startswith(message)
