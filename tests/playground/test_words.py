"""What the server says about words, guesses and the verdict agrees with the library."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from custext_sql import Sanitizer
from custext_sql.experiments import TextAttacker, judge_text
from custext_sql.playground.serving import Address
from tests.playground.conftest import PUBLIC
from tests.playground.requesting import ask, connect, explain
from tests.playground.test_texts import K5, K20, cut_both

TEXT = "My doctor said the surgery went well; Zorglub's mother called at 12 on 2024-05-01, twice."
SETTINGS: list[dict[str, Any]] = [
    {},
    {"eps": 0},
    {"eps": 8, "plus": True, "mapping": K5},
    {"eps": 0, "plus": True, "calibration": "tight", "policy": {"name": "paper", "case": "match"}},
    {"eps": 50, "calibration": "tight", "mapping": K20, "policy": {"name": "strict", "unknown": "random"}},
]


@pytest.fixture(scope="module", params=["no public texts", pytest.param("public texts", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest) -> Address:
    name = "playground" if request.param == "no public texts" else "public_playground"
    found: Address = request.getfixturevalue(name)
    return found


@pytest.fixture(scope="module")
def has_public(place: Address, request: pytest.FixtureRequest) -> bool:
    return place is request.getfixturevalue("public_playground")


@pytest.fixture(scope="module")
def client(place: Address) -> Iterator[httpx.Client]:
    with connect(place) as opened:
        yield opened


def load(database: Path, settings: dict[str, Any], *, public: bool) -> TextAttacker:
    """Return the attacker of these settings, from the library."""
    named = {name: value for name, value in settings.items() if name in ("mapping", "calibration")}
    policy = dict(settings.get("policy", {"name": "strict"}))
    sanitizer = Sanitizer.load(database, policy=policy.pop("name"), **named)
    sanitizer = sanitizer.with_policy(replace(sanitizer.policy, **policy))
    return TextAttacker(sanitizer, plus=settings.get("plus", False), public=list(PUBLIC * 20) if public else None)


def simplify(value: Any) -> Any:
    return json.loads(json.dumps(value))


def sanitize(client: httpx.Client, settings: dict[str, Any], text: str = TEXT) -> list[str]:
    """Return what became of each word of a text."""
    return cut_both(ask(client, "sanitize", text=text, settings=settings))[1]


@pytest.mark.parametrize("settings", SETTINGS)
def test_guesses_words_and_the_verdict_are_those_of_the_library(
    client: httpx.Client, served_db: Path, has_public: bool, settings: dict[str, Any]
) -> None:
    attacker, eps = load(served_db, settings, public=has_public), float(settings.get("eps", 1))
    sanitizer, outputs = attacker.sanitizer, sanitize(client, settings)
    found = ask(client, "attack", text=TEXT, outputs=outputs, settings=settings)
    guesses = attacker.guess(TEXT, outputs, eps)
    assert found.pop("share") == guesses.share
    assert found.pop("public") == ("public.txt" if has_public else None)
    assert found == simplify(asdict(guesses)) and found["with_context"] == has_public
    assert len(found["places"]) >= 4

    receipt = sanitizer.receipt(sanitizer.trace(TEXT, eps, attacker.plus).tally, eps, attacker.plus)
    expected = json.dumps(asdict(judge_text(attacker, TEXT, receipt)))
    judged = json.dumps(ask(client, "verdict", text=TEXT, settings=settings, unchanged=0)["verdict"])
    assert judged.replace("public.txt", "texts") == expected.replace("public.txt", "texts")

    group = sanitizer.inspect("doctor", eps, attacker.plus).group
    word = ask(client, "inspect", word="DocTor", output=group[0].output, settings=settings)
    assert word["word"] == "doctor" and word["group"] == simplify([asdict(one) for one in group])
    assert sum(one["probability"] for one in word["group"]) == pytest.approx(1.0)
    assert word["chances"] == simplify(asdict(attacker.find_chances("doctor", eps)))
    assert list(word["draws"].values()) == list(attacker.count_draws("doctor", eps))
    assert (word["guess"]["word"], word["guess"]["certainty"]) == attacker.guess_word(group[0].output, eps)


@pytest.mark.parametrize(
    "word, output, settings, message",
    [
        ("zorglub", "zorglub", {}, "is not in mapping"),
        ("doctor", "zorglub", {}, "is not in mapping"),
        ("98765", "98765", {"policy": {"name": "paper"}}, "is not in mapping"),
        ("\x00", "\ufeff", {}, "is not in mapping"),
        ("the", "the", {"plus": True}, "not replaced at these settings"),
        ("doctor", "the", {"plus": True}, "what became of the word, at the same settings"),
        ("doctor", "film", {}, "what became of the word, at the same settings"),
        ("doctor", "doctor", {"mapping": "none"}, "mapping 'none' does not exist"),
    ],
)
def test_a_word_that_cannot_be_inspected_is_explained(
    client: httpx.Client, word: str, output: str, settings: dict[str, Any], message: str
) -> None:
    said = explain(client, "inspect", word=word, output=output, settings=settings)
    assert message in said and len(said) > 10


def test_outputs_of_another_text_or_of_other_settings_are_refused(client: httpx.Client) -> None:
    outputs = sanitize(client, {"eps": 0})
    for wrong in ([], [*outputs, "film"], ["<unk>"] * len(outputs), ["the"] * len(outputs), [""] * len(outputs)):
        said = explain(client, "attack", text=TEXT, outputs=wrong, settings={"eps": 0})
        assert said == "outputs must be what became of each word of the text, at the same settings"
    outputs = sanitize(client, {"eps": 0, "mapping": K5})
    assert "at the same settings" in explain(client, "attack", text=TEXT, outputs=outputs, settings={"mapping": K20})
    ask(client, "attack", text=TEXT, outputs=outputs, settings={"eps": 1, "mapping": K5})


@pytest.mark.parametrize("text", ["", "zorglub 98765 😀 \x00", "the the the"])
def test_texts_without_anything_to_guess_are_no_problem(client: httpx.Client, text: str) -> None:
    for settings in SETTINGS:
        outputs = sanitize(client, settings, text)
        found = ask(client, "attack", text=text, outputs=outputs, settings=settings)
        assert (found["share"] is None) == (found["places"] == [])
        judged = ask(client, "verdict", text=text, settings=settings, unchanged=0)["verdict"]
        assert judged["color"] in ("green", "amber", "red")
