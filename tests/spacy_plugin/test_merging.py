"""With carried tokens, the tokens of a unit become one, and what is carried with them stays valid."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span, Token

from spacy_plugin.component import CusText
from tests.spacy_plugin.pipelines import tokens_of

VOCAB = spacy.blank("en").vocab
WORDS = ["Call", "+49", "30", "1234567", "now", ".", "Born", "1980", "-", "01", "-", "02"]
SPACES = [True, True, True, True, False, True, True, False, False, False, False, False]
PHONE, DATE = 1, 5  # their places in the new Doc


def make_doc(**parts: Any) -> Doc:
    return Doc(VOCAB, words=WORDS, spaces=SPACES, **parts)


def replace(database: Path, doc: Doc, *carry: str, **config: Any) -> Doc:
    return CusText(database=str(database), eps=0.0, output="replace", carry=carry, **config)(doc)


def test_a_unit_has_the_head_that_lies_outside(few_template: Path) -> None:
    heads = [0, 3, 1, 0, 3, 0, 6, 9, 7, 6, 9, 9]
    deps = ["ROOT", "a", "b", "obj", "advmod", "punct", "ROOT", "c", "d", "obl", "e", "f"]
    pos = ["VERB", "SYM", "NUM", "X", "ADV", "PUNCT", "VERB", "NUM", "PUNCT", "PROPN", "PUNCT", "NUM"]
    doc = replace(few_template, make_doc(heads=heads, deps=deps, pos=pos), "dep", "pos")
    assert [token.head.i for token in doc] == [0, 0, PHONE, 0, 4, 4]
    assert [token.dep_ for token in doc] == ["ROOT", "obj", "advmod", "punct", "ROOT", "obl"]
    assert [token.pos_ for token in doc] == ["VERB", "X", "ADV", "PUNCT", "VERB", "PROPN"]
    assert [sentence.start for sentence in doc.sents] == [0, 4]


@pytest.fixture(scope="module")
def replacer(few_template: Path) -> CusText:
    return CusText(database=str(few_template), eps=0.0, output="replace", carry=["dep"])


trees = st.permutations(range(12)).flatmap(
    lambda order: st.tuples(st.just(order), st.tuples(*(st.integers(0, place) for place in range(12))))
)


@settings(max_examples=40)
@given(trees)
def test_heads_stay_a_tree(replacer: CusText, tree: tuple[list[int], tuple[int, ...]]) -> None:
    """Whatever the parse, even if tokens of a unit have heads on both sides of it."""
    order, above = tree  # each token's head comes before it in the order, or is itself
    heads = [0] * 12
    for place, lower in enumerate(order):
        heads[lower] = order[above[place]]
    doc = replacer(make_doc(heads=heads, deps=["x"] * 12))
    groups = [0, 1, 1, 1, 2, 3, 4, 5, 5, 5, 5, 5]
    edges = {(groups[place], groups[head]) for place, head in enumerate(heads)}
    for token in doc:
        assert (token.i, token.head.i) in edges
        assert token.i == token.head.i or any(ancestor.head == ancestor for ancestor in token.ancestors)


ENTITIES: list[tuple[list[tuple[int, int, str]], list[tuple[int, int, str]]]] = [
    ([(1, 4, "A"), (7, 12, "B")], [(1, 2, "A"), (5, 6, "B")]),
    ([(3, 5, "A")], [(1, 3, "A")]),  # begins within the unit
    ([(0, 2, "A"), (2, 4, "B")], [(0, 2, "A")]),  # the first one gets the unit
    ([(4, 6, "A")], [(2, 4, "A")]),
]


@pytest.mark.parametrize("carry", [["entities"], ["entities", "tokens", "ent_id", "ent_kb_id"]])
@pytest.mark.parametrize(("before", "after"), ENTITIES)
def test_entities_cover_the_units_of_which_they_have_a_part(
    few_template: Path, before: list[tuple[int, int, str]], after: list[tuple[int, int, str]], carry: list[str]
) -> None:
    doc = make_doc()
    doc.set_ents([Span(doc, *entity, kb_id=f"k{entity[2]}", span_id=f"i{entity[2]}") for entity in before])
    new = replace(few_template, doc, *carry, nlp=spacy.blank("en"))
    assert [(entity.start, entity.end, entity.label_) for entity in new.ents] == after
    tags = [token.ent_iob_ for token in new]
    assert all(tags[place - 1] in "BI" for place, tag in enumerate(tags) if tag == "I")
    if "ent_id" in carry:
        assert [(entity.kb_id_, entity.id_) for entity in new.ents] == [
            (f"k{label}", f"i{label}") for *_, label in after
        ]
        assert {token.ent_kb_id_ for token in new if not token.ent_type_} == {""}


def test_spans_and_data_of_tokens_and_spans_move(few_template: Path) -> None:
    Token.set_extension("test_place", default=None, force=True)
    Span.set_extension("test_name", default=None, force=True)
    doc = make_doc()
    for token in doc:
        token._.test_place = token.i
    doc[0:2]._.test_name, doc[0:3]._.test_name, doc[6:12]._.test_name = "first", "second", "date"
    doc[8:10]._.test_name = "inside"
    doc.user_data["other"] = 1
    doc.spans["some"] = [doc[2:5], doc[8:9], doc[6:8], doc[12:12], Span(doc, 2, 2)]
    new = replace(few_template, doc, "spans", "user_data")
    assert [token._.test_place for token in new] == [0, 1, 4, 5, 6, 7]
    assert (new[0:2]._.test_name, new[4:6]._.test_name, new[5:6]._.test_name) == ("first", "date", "inside")
    assert [(span.start, span.end) for span in new.spans["some"]] == [(1, 3), (5, 6), (4, 6), (6, 6), (1, 1)]
    assert new.user_data["other"] == 1


def test_a_sentence_that_begins_within_a_unit_goes_on(few_template: Path) -> None:
    starts = [True, False, True, False, False, False, True, False, False, True, False, False]
    for carry in (["sentences"], ["sentences", "tokens"]):
        new = replace(few_template, make_doc(sent_starts=starts), *carry, nlp=spacy.blank("en"))
        assert [sentence.start for sentence in new.sents] == [0, 4]
    words, spaces = WORDS[4:6] + WORDS[7:], SPACES[4:6] + SPACES[7:]
    doc = Doc(VOCAB, words=words, spaces=spaces, heads=[0, 0] + [4] * 5, deps=["x"] * 7)
    assert [sentence.start for sentence in doc.sents] == [0, 2]
    assert [sentence.start for sentence in replace(few_template, doc, "sentences", "tokens").sents] == [0, 2]


@pytest.mark.parametrize("policy", [{"units": "keep"}, "paper"])
def test_units_that_are_not_masked_are_tokens_as_before(few_template: Path, policy: Any) -> None:
    new = replace(few_template, make_doc(heads=[0] * 12, deps=["x"] * 12, pos=["X"] * 12), "dep", "pos", policy=policy)
    assert len(new) == 12 and {token.pos_ for token in new} == {"X"}


def test_the_tokens_of_a_replaced_word_become_one(few_template: Path) -> None:
    """The new Doc is the same whether a word is one token or several."""
    words, spaces = ["peo", "ple", "people", "'s"], [False, True, False, False]
    doc = Doc(VOCAB, words=words, spaces=spaces, heads=[1, 2, 2, 2], deps=["a", "b", "ROOT", "c"])
    doc.set_ents([Span(doc, 1, 3, label="A")])
    new = replace(few_template, doc, "dep", "entities")
    assert tokens_of(new) == [tokens_of(new)[0], tokens_of(new)[0], "'s"]
    assert [(token.head.i, token.dep_) for token in new] == [(1, "b"), (1, "ROOT"), (1, "c")]
    assert [(entity.start, entity.end) for entity in new.ents] == [(0, 2)]
    kept = replace(few_template, doc, "tokens", policy={"keep_words": ["people"]})
    assert tokens_of(kept) == words
