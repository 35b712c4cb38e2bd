"""The words of a Doc are those of its text, however spaCy splits it into tokens."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from custext_sql import Sanitizer, make_key
from spacy_plugin.component import CusText
from tests.spacy_plugin.pipelines import CUTS, make_cutter

SPLIT = ["cannot", "im", "wont", "wed", "id", "hell", "gonna", "dont", "ill", "well", "lets"]  # mostly, by blank("en")
TOKENIZERS = ["en", "de", *CUTS]


@cache
def find_tokenizer(name: str) -> Callable[[str], Doc]:
    """Return a tokenizer by the code of a language, or one of CUTS. All Docs share a vocabulary."""
    nlp = spacy.blank("xx" if name in CUTS else name)
    return make_cutter(nlp.vocab, name) if name in CUTS else nlp.tokenizer


@cache
def open_component(database: Path, **config: Any) -> CusText:
    return CusText(database=str(database), **config)


NAMES = ["I", "don't", "It's", "that's", "O'Brien", "y'all've", "doctor", "people", "zzyzxa", "1980", "7"]
ODD = ["john@x.com", "+49 30 1234567", "1980-01-02", "e\u0301", "ﬁn", "İd", "a\u200bb", "\U0001f600", "٣"]
words = st.sampled_from([*SPLIT, *NAMES, *ODD])
marks = st.sampled_from([*" .,:;-/()_'’\"\n\t\u200b\ufe0f", "  ", "", "...", "''", " '"])
texts = st.lists(st.tuples(words | st.text(max_size=5), marks), max_size=10).map(
    lambda pieces: "".join(word + mark for word, mark in pieces)
)


@settings(max_examples=60)
@given(texts, st.sampled_from(TOKENIZERS), st.booleans())
def test_a_doc_comes_out_like_its_text(few_template: Path, text: str, tokenizer: str, plus: bool) -> None:
    """Byte for byte, because it is sanitized as one; the tokens add up to it."""
    text = text.encode(errors="replace").decode()
    doc = open_component(few_template, eps=0.0, plus=plus)(find_tokenizer(tokenizer)(text))
    assert doc._.custext == load(few_template).sanitize(doc.text, 0.0, plus)
    joined = "".join(token._.custext + token.whitespace_ for token in doc)
    assert joined.replace(" ", "") == doc._.custext.replace(" ", "")  # spaces within units are gone


@cache
def load(database: Path, key: Path | None = None) -> Sanitizer:
    return Sanitizer.load(database, key_file=key)


@pytest.fixture(scope="module", params=["paper", "strict"])
def key(request: pytest.FixtureRequest, few_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "key"
    make_key(path, few_template, eps=2.0, plus=True, policy=request.param)
    return path


@settings(max_examples=30)
@given(st.lists(texts, max_size=3), st.sampled_from(TOKENIZERS))
def test_a_keyed_doc_comes_out_like_its_text(few_template: Path, key: Path, written: list[str], tokenizer: str) -> None:
    docs = [find_tokenizer(tokenizer)(text.encode(errors="replace").decode()) for text in written]
    for number, doc in enumerate(docs):
        doc._.custext_record = str(number)
    found = [doc._.custext for doc in open_component(few_template, key_file=str(key)).pipe(docs)]
    records = [str(number) for number in range(len(docs))]
    assert found == load(few_template, key).sanitize_batch([doc.text for doc in docs], records=records)


PLACES = ["I {} you.", "{}", "{}'s", "O'{}", "({})-{}", "{}'ve", "d'{}'s {}", "the {}, {}."]


@pytest.mark.parametrize("tokenizer", ["en", "everywhere"])
def test_words_of_a_group_cannot_be_told_apart_in_a_doc(english_db: Path, tokenizer: str) -> None:
    """At eps = 0, every word of a group that is replaced gives the same text, also if the tokenizer splits it."""
    mapping, stopwords = load(english_db).mapping, load(english_db).stopwords
    group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
    component, tokenize = open_component(english_db, eps=0.0, plus=True), find_tokenizer(tokenizer)
    split = [place for place, word in enumerate(mapping.words) if word in SPLIT and len(tokenize(word)) > 1]
    assert len(split) > 3
    groups = {*group_of[split].tolist(), *np.random.default_rng(1).choice(len(mapping.sizes), 6).tolist()}
    for number, group in enumerate(sorted(groups)):
        drawn = [mapping.words[place] for place in np.flatnonzero(group_of == group)]
        drawn = [word for word in drawn if word not in stopwords]
        for place in {PLACES[0], PLACES[number % len(PLACES)]}:
            docs = component.pipe(tokenize(place.replace("{}", word)) for word in drawn)
            assert len({doc._.custext for doc in docs}) == (1 if drawn else 0), place
