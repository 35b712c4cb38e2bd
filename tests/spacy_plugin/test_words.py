"""The words of a Doc are those of its text, however spaCy splits it into tokens."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language

from custext_sql import Sanitizer, make_key
from tests.spacy_plugin.pipelines import CUTS, give_records, make_pipeline

SPLIT = ["cannot", "im", "wont", "wed", "id", "hell", "gonna", "dont", "ill", "well", "lets"]  # mostly, by blank("en")
TOKENIZERS = ["en", "de", "fr", "xx", *CUTS]
Open = Callable[..., Language]


@pytest.fixture(scope="module")
def pipeline() -> Open:
    @cache
    def open_pipeline(tokenizer: str, database: Path, **config: Any) -> Language:
        code, cut = ("xx", tokenizer) if tokenizer in CUTS else (tokenizer, None)
        return make_pipeline(database, code=code, cut=cut, language="english", **config)

    return open_pipeline


NAMES = ["I", "don't", "It's", "that's", "O'Brien", "y'all've", "doctor", "people", "zzyzxa", "1980", "7"]
ODD = ["john@x.com", "+49 30 1234567", "1980-01-02", "e\u0301", "ﬁn", "İd", "a\u200bb", "\U0001f600", "٣"]
words = st.sampled_from([*SPLIT, *NAMES, *ODD])
marks = st.sampled_from([*" .,:;-/()_'’\"\n\t\u200b\ufe0f", "  ", "", "...", "''", " '"])
texts = st.lists(st.tuples(words | st.text(max_size=5), marks), max_size=10).map(
    lambda pieces: "".join(word + mark for word, mark in pieces)
)


@settings(max_examples=200)
@given(texts, st.sampled_from(TOKENIZERS), st.booleans())
def test_a_doc_comes_out_like_its_text(
    pipeline: Open, few_template: Path, text: str, tokenizer: str, plus: bool
) -> None:
    """Byte for byte, because it is sanitized as one; the tokens add up to it."""
    text = text.encode(errors="replace").decode()
    doc = pipeline(tokenizer, few_template, eps=0.0, plus=plus)(text)
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


@settings(max_examples=100)
@given(st.lists(texts, max_size=3), st.sampled_from(TOKENIZERS))
def test_a_keyed_doc_comes_out_like_its_text(
    pipeline: Open, few_template: Path, key: Path, written: list[str], tokenizer: str
) -> None:
    nlp = pipeline(tokenizer, few_template, key_file=str(key))
    docs = give_records(nlp, *(text.encode(errors="replace").decode() for text in written))
    found, records = [doc._.custext for doc in nlp.pipe(docs)], [str(number) for number in range(len(docs))]
    assert found == load(few_template, key).sanitize_batch([doc.text for doc in docs], records=records)


PLACES = ["I {} you.", "{}", "{}'s", "O'{}", "({})-{}", "{}'ve", "d'{}'s {}", "the {}, {}."]


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_words_of_a_group_cannot_be_told_apart_in_a_doc(
    pipeline: Open, starter_db: Path, tokenizer: str, plus: bool
) -> None:
    """At eps = 0, every word of a group that is replaced gives the same text, also if the tokenizer splits it."""
    mapping, stopwords = load(starter_db).mapping, load(starter_db).stopwords if plus else frozenset()
    group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
    number_of = {word: number for number, word in enumerate(mapping.words)}
    nlp = pipeline(tokenizer, starter_db, eps=0.0, plus=plus)
    rules = getattr(nlp.tokenizer, "rules", None) or {}
    split = [word for word, pieces in rules.items() if len(pieces) > 1 and word in number_of]
    assert tokenizer != "en" or len(split) > 15
    groups = {int(group_of[number_of[word]]) for word in split}
    groups |= set(np.random.default_rng(1).choice(len(mapping.sizes), 6).tolist())
    for number, group in enumerate(sorted(groups)):
        members = [mapping.words[place] for place in np.flatnonzero(group_of == group)]
        drawn = [word for word in members if word not in stopwords]
        for place in {PLACES[0], PLACES[number % len(PLACES)]}:
            docs = nlp.pipe([place.replace("{}", word) for word in drawn])
            assert len({doc._.custext for doc in docs}) == (1 if drawn else 0), place
