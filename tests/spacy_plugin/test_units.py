"""Units, such as phone numbers, are masked as a whole, however spaCy splits them into tokens."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.util import registry

from custext_sql import Kind, Policy, Sanitizer
from spacy_plugin.component import CusText
from spacy_plugin.rendering import render
from tests.spacy_plugin.pipelines import CUTS, kinds_of, make_pipeline, tokens_of, words_of

MASKS = re.compile("|".join(Policy.UNIT_MASKS))
UNITS = ["+49 (30) 1234567", "john_doe@x-y.com", "1980-01-02", "http://a.b/c_d?e=1", "5:30pm"]
EXPECTED = ["<phone>", "<email>", "<date>", "<url>", "<time>"]
TEXT = "People called {} or mail:{}. On {} (see {}) at {}".format(*UNITS)


@pytest.fixture(scope="module")
def sanitizer(few_template: Path) -> Sanitizer:
    return Sanitizer.load(few_template, eps=0.0)


Open = Callable[..., Language]


@pytest.fixture(scope="module")
def pipeline(few_template: Path) -> Open:
    """Return a function that makes pipelines in which equal texts give equal results, each of them once."""

    @cache
    def open_pipeline(where: str | None = None, carry: tuple[str, ...] | None = None) -> Language:
        return make_pipeline(few_template, "sentencizer", cut=where, eps=0.0, **new_docs(carry))

    return open_pipeline


DEFAULT, TOKENS = ("default",), ("tokens", "entities", "sentences")


def new_docs(carry: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the part of a config that makes new Docs; nothing for None."""
    return {"output": "replace", "carry": None if carry == DEFAULT else carry} if carry else {}


def test_the_mask_is_in_the_first_token(pipeline: Open) -> None:
    nlp = pipeline()
    doc = nlp("People called +49 (30) 1234567, or mail:john@x.com's on 1980-01-02")
    assert tokens_of(doc)[2:7] == ["+49", "(", "30", ")", "1234567"]
    assert words_of(doc)[2:8] == ["<phone>", "", "", "", "", ","] and kinds_of(doc)[2:8] == ["unit"] * 5 + ["kept"]
    assert re.fullmatch(r"\S+ \S+ <phone>, \S+ \S+:<email> \S+ <date>", doc._.custext)
    [address] = [token for token in doc if "@" in token.text]
    assert address._.custext_kind == "unit" and address._.custext.endswith(":<email>")
    receipt = doc._.custext_receipt
    assert (receipt.units, receipt.words, receipt.characters_in_clear) == (3, 8, 0)
    for copy in (Doc(nlp.vocab).from_bytes(doc.to_bytes()), *DocBin([], True, [doc]).get_docs(nlp.vocab)):
        assert (copy._.custext, words_of(copy), kinds_of(copy)) == (doc._.custext, words_of(doc), kinds_of(doc))


@pytest.mark.parametrize("carry", [DEFAULT, TOKENS])
@pytest.mark.parametrize("where", [None, *CUTS])
def test_each_unit_is_one_token_of_a_new_doc(
    pipeline: Open, sanitizer: Sanitizer, carry: tuple[str, ...], where: str | None
) -> None:
    doc = pipeline(where, carry)(TEXT)
    found = [token.text for token in doc if MASKS.search(token.text)]
    if carry == DEFAULT:
        assert found == EXPECTED
    else:  # with what else the original tokens contain
        assert len(found) == len(EXPECTED) and all(map(str.__contains__, found, EXPECTED))
    assert [doc.text] == sanitizer.sanitize_batch([TEXT])
    assert len(list(doc.sents)) == (1 if where == "at spaces" else 2)
    assert "".join(token.text_with_ws for token in doc) == doc.text == doc._.custext


parts = st.sampled_from(["people", "Time", "zzyzxa", "7", "12", "30", "1980", "john@x.com", "+49", "1234567", "5:30pm"])
marks = st.sampled_from([" ", " ", " ", "-", "/", ".", ":", "://", "@", "(", ")", ", ", "; ", "_", "  ", "\n"])
EXCHANGE = str.maketrans("02345678john", "86754032mary")  # years of the 1900s stay such years


@settings(max_examples=40)
@given(st.lists(st.tuples(parts, marks), max_size=10), st.sampled_from([None, *CUTS]), st.booleans())
def test_a_new_doc_has_the_text_of_the_sanitizer_and_nothing_of_a_unit(
    pipeline: Open, sanitizer: Sanitizer, written: list[tuple[str, str]], where: str | None, tokens: bool
) -> None:
    nlp = pipeline(where, TOKENS if tokens else DEFAULT)
    text = "".join(part + mark for part, mark in written)
    [pieces] = sanitizer.compare([text])
    expected = "".join(piece.after for piece in pieces)
    doc = nlp(text)
    assert doc.text == expected
    bounds = [(token.idx, token.idx + len(token)) for token in doc]
    for mask in MASKS.finditer(doc.text):
        assert sum(first <= mask.start() and mask.end() <= last for first, last in bounds) == 1
        assert tokens or mask.span() in bounds
    exchanged = (piece.before.translate(EXCHANGE) if piece.kind is Kind.UNIT else piece.before for piece in pieces)
    assert nlp("".join(exchanged)).to_bytes() == doc.to_bytes()


def choose_first_digit(doc: Doc) -> list[bool | float]:
    """Choose the token +49 at its own eps, and nothing else."""
    return [0.0 if token.text == "+49" else False for token in doc]


choose_first_digit.budgets = [0.0]  # type: ignore[attr-defined]
CHOICES: list[tuple[Any, list[str]]] = [  # what is sensitive, and the units that it touches
    (choose_first_digit, ["<phone>"]),
    ({"@misc": "custext.entities.v1", "labels": {"PART": 2.0, "WORD": 0.0}}, ["<date>"]),
    ({"@misc": "custext.entities.v1", "labels": ["WORD"]}, []),
    ({"@misc": "custext.entities.v1", "labels": ["WORD"], "others": 1.0}, EXPECTED),
    ({"@misc": "custext.parts_of_speech.v1", "tags": ["SYM"]}, ["<phone>", "<url>"]),
    ({"@misc": "custext.tags.v1", "tags": {"CD": 1.5}}, ["<date>"]),
    ({"@misc": "custext.words.v1", "words": ["john_doe", "zzyzxa"]}, ["<email>"]),
]


@pytest.mark.parametrize(
    ("sensitive", "expected", "carry"),
    [(*choice, None if place % 2 else TOKENS) for place, choice in enumerate(CHOICES)],
)
def test_a_unit_is_masked_if_one_of_its_tokens_is_chosen(
    few_template: Path, sensitive: Any, expected: list[str], carry: tuple[str, ...] | None
) -> None:
    choice = registry.resolve({"choice": sensitive})["choice"] if isinstance(sensitive, dict) else sensitive
    nlp = spacy.blank("en")
    doc = nlp(TEXT)
    doc.set_ents([Span(doc, 1, 2, label="WORD"), Span(doc, 12, 13, label="PART")])
    for token in doc:
        token.pos_, token.tag_ = ("SYM" if token.i in (3, 19) else "X"), ("CD" if token.i == 13 else "XX")
    component = CusText(database=str(few_template), sensitive=choice, nlp=nlp, **new_docs(carry))
    new = component(doc)
    assert MASKS.findall(new._.custext) == expected
    receipt = component.receipt
    assert receipt.units == len(expected) and receipt.replaced <= receipt.words - len(EXPECTED)
    for unit, mask in zip(UNITS, EXPECTED, strict=True):
        assert (unit in new._.custext) != (mask in expected)
    if carry is None:
        masked = "".join(unit for unit, mask in zip(UNITS, EXPECTED, strict=True) if mask in expected)
        tokens = "".join(token.text for token in doc if token._.custext_kind == "unit")
        assert tokens.replace("mail:", "") == masked.replace(" ", "")
    elif not expected:
        assert len(new) == len(doc)  # nothing is merged


def test_the_page_of_docs_shows_units_as_one(pipeline: Open) -> None:
    page = render(pipeline()(TEXT))
    assert '<mark class="mark-orange" title="unit masked">+49 (30) 1234567</mark>' in page
    assert '<mark class="mark-orange" title="unit masked">&lt;phone&gt;</mark>' in page
    assert page.count('<mark class="mark-orange"') == 2 * len(EXPECTED) and ", 5 units masked; 0 characters" in page
