"""Annotations move correctly between two ways of splitting the same text into tokens."""

from collections.abc import Sequence

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span

from spacy_plugin.new_docs import Alignment, NewText, check_carry, write_doc

VOCAB = spacy.blank("en").vocab


def cut(text: str, places: Sequence[int]) -> Doc:
    """Return a Doc of the text, split at spaces and at the given places."""
    words, spaces = [], []
    start = 0
    for end in sorted({*places, *(place for place in range(len(text)) if text[place] == " "), len(text)}):
        if start < end <= len(text):
            followed = text[end : end + 1] == " "
            words.append(text[start:end])
            spaces.append(followed)
            start = end + followed
    return Doc(VOCAB, words=words, spaces=spaces)


def lay_out(doc: Doc) -> NewText:
    """Return where the tokens are in the text, as the component finds them."""
    starts = np.array([len(doc.text[: token.idx].encode()) for token in doc])
    ends = np.array([len(doc.text[: token.idx + len(token)].encode()) for token in doc])
    return NewText(doc.text.encode(), starts, ends, starts, np.zeros(len(doc), dtype=np.uint8))


def move(doc: Doc, new: Doc, carry: list[str] | None) -> Doc:
    """Return the new Doc for one whose text does not change; the pipeline's tokenizer gives the tokens of `new`."""
    carried = check_carry(carry)
    tokenizer = None if "tokens" in carried else lambda text: new
    return write_doc(doc, lay_out(doc), carried, tokenizer, finds_sentences=True)


texts = st.text(alphabet="ab é漢", min_size=1).map(lambda text: " ".join(text.split())).filter(bool)
places = st.sets(st.integers(1, 20)).map(sorted)


@settings(max_examples=60)
@given(texts, places, places, st.data())
def test_spans_sentences_and_entities_move_with_their_characters(
    text: str, before: list[int], after: list[int], data: st.DataObject
) -> None:
    """Spans go where spaCy would expand them; a token that shares a character with an entity is in an entity."""
    doc, new = cut(text, before), cut(text, after)
    start = data.draw(st.integers(0, len(doc) - 1))
    end = data.draw(st.integers(start + 1, len(doc)))
    span = doc[start:end]
    expected = new.char_span(span.start_char, span.end_char, alignment_mode="expand")
    assert expected is not None
    assert Alignment.by_characters(lay_out(doc), new).find_span(start, end) == (expected.start, expected.end)

    for token in doc[1:]:
        token.is_sent_start = data.draw(st.booleans())
    bounds = sorted(data.draw(st.sets(st.integers(0, len(doc)))))
    entities = [Span(doc, a, b, label=f"L{a}") for a, b in zip(bounds[::2], bounds[1::2], strict=False)]
    doc.set_ents(entities)
    made = move(doc, new, ["sentences", "entities"])
    begins = {token.idx for token in doc if token.is_sent_start}
    covered = {place for entity in entities for place in range(entity.start_char, entity.end_char)}
    for token in made:
        own = set(range(token.idx, token.idx + len(token)))
        assert (token.is_sent_start, token.ent_iob_ in "BI") == (bool(begins & own), bool(covered & own))
    found = [entity.label_ for entity in made.ents]
    assert found == [entity.label_ for entity in entities if entity.label_ in found]
    if before == after:
        assert [(e.start, e.end, e.label_) for e in made.ents] == [(e.start, e.end, e.label_) for e in entities]


def test_missing_annotation_stays_missing() -> None:
    doc, new = cut("ab cd ef", [1]), cut("ab cd ef", [4])
    plain = move(doc, cut("ab cd ef", [4]), None)
    assert not plain.has_annotation("SENT_START") and not plain.has_annotation("ENT_IOB")
    doc[2].is_sent_start = True  # the others stay unknown
    doc.set_ents([Span(doc, 0, 1, label="A")], blocked=[doc[2:3]], default="missing")
    moved = move(doc, new, None)
    assert [token.text for token in moved] == ["ab", "c", "d", "ef"]
    assert [token.is_sent_start for token in moved] == [True, True, None, None]
    assert [(token.ent_iob_, token.ent_type_) for token in moved] == [("B", "A"), ("B", ""), ("B", ""), ("", "")]


def test_spaces_that_were_tokens_may_disappear() -> None:
    doc = Doc(VOCAB, words=["ab", " ", "cd", " "], spaces=[False] * 4, sent_starts=[True] * 4)
    doc.set_ents([Span(doc, place, place + 1, label=f"L{place}") for place in range(4)])
    doc.spans["key"] = [doc[1:2], doc[3:4]]
    moved = move(doc, cut("ab cd ", []), ["sentences", "entities", "spans"])
    assert [token.text_with_ws for token in moved] == ["ab ", "cd "]
    assert [token.is_sent_start for token in moved] == [True, True]
    assert [entity.label_ for entity in moved.ents] == ["L0", "L2"]
    assert [(span.start, span.end) for span in moved.spans["key"]] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("carry", [["spans"], ["spans", "tokens"]])
def test_span_groups_move_with_their_tokens(carry: list[str]) -> None:
    doc = cut("ab cd ef", [1])
    doc.spans["key"] = [Span(doc, 1, 3, label="x", kb_id="k", span_id="i"), Span(doc, 0, 2), Span(doc, 4, 4)]
    moved = move(doc, cut("ab cd ef", [4]), carry)
    whole, pair, empty = moved.spans["key"]
    assert whole.text == ("b cd" if "tokens" in carry else "ab cd")
    assert (whole.label_, whole.kb_id_, whole.id_) == ("x", "k", "i")
    assert pair.text == "ab" and (empty.start, empty.end) == (len(moved), len(moved))
