"""Makes new Docs for output="replace": the new text and, from the original, only what `carry` names."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from spacy.attrs import DEP, ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE, HEAD, MORPH, POS, SENT_START, TAG
from spacy.tokens import Doc, Span

from custext_sql import SettingError, suggest
from spacy_plugin.alignment import Alignment
from spacy_plugin.attributes import RECORD_KEY, mark_replaced
from spacy_plugin.merging import merge_attributes, merge_tokens
from spacy_plugin.new_text import Flags, NewText, Places
from spacy_plugin.surroundings import Surroundings
from spacy_plugin.tokenizing import tokenize

# What a new Doc may take over from the original, and what each entry reveals about it.
CARRIED = {
    "sentences": "where sentences begin in the original: a sentencizer sees one in 'Mr. Li' and two in 'Sir. Li'",
    "entities": "where entities are in the original, and their labels",
    "tokens": "where tokens begin and end, except in units and replaced words: 'Mr.' is one token, but 'Sir.' is two",
    "pos": "the part of speech of the original word",
    "tag": "the fine-grained tag of the original word",
    "morph": "number, tense and other features of the original word",
    "dep": "the parse of the original sentences: heads, labels, and where sentences begin",
    "ent_id": "the ID of an entity's pattern or cluster",
    "ent_kb_id": "the ID of the entity itself in a knowledge base",
    "cats": "categories predicted from the original text",
    "spans": "span groups with their labels and IDs",
    "user_data": "extension attributes, and whatever else components left in doc.user_data",
}
DEFAULT = ("sentences", "entities")
_ATTRIBUTES = {
    "sentences": (SENT_START,),
    "entities": (ENT_IOB, ENT_TYPE),
    "pos": (POS,),
    "tag": (TAG,),
    "morph": (MORPH,),
    "dep": (HEAD, DEP),
    "ent_id": (ENT_ID,),
    "ent_kb_id": (ENT_KB_ID,),
}
_OF_TOKENS = {"pos", "tag", "morph", "dep", "ent_id", "ent_kb_id", "user_data"}


def check_carry(carry: Iterable[str] | None) -> frozenset[str]:
    """Return what to carry: the default for None; "tokens" is added if an entry belongs to tokens."""
    if isinstance(carry, str):
        raise SettingError(f'carry must be a list, as in ["{carry}"]; found str')
    if not isinstance(carry, Iterable | None):
        raise SettingError(f'carry must be a list, as in ["pos"]; found {type(carry).__name__}')
    chosen = list(DEFAULT if carry is None else carry)
    for name in chosen:
        if not isinstance(name, str):
            raise SettingError(f"carry must be a list of names; found {type(name).__name__}")
        if name not in CARRIED:
            raise SettingError(f"carry: {name!r} cannot be carried; {suggest(name, CARRIED, 'possible entries')}")
    return frozenset(chosen) | ({"tokens"} if _OF_TOKENS.intersection(chosen) else set())


def write_doc(doc: Doc, text: NewText, spaces: Flags, carry: frozenset[str], surroundings: Surroundings | None) -> Doc:
    """Return a Doc with the new text and, from the original Doc, what is carried and nothing else.

    Every mask is within one token. spaces: which original tokens are followed by a space. surroundings: may be None if
    tokens are carried.
    """
    if "tokens" in carry:
        new, alignment = merge_tokens(doc, text, spaces), Alignment.by_words(text)
        _copy_attributes(doc, new, carry, alignment)
    else:
        assert surroundings is not None
        new = tokenize(text.decode(), surroundings.tokenizer, doc.vocab)
        alignment = Alignment.by_characters(text, new)
        _move_attributes(doc, new, carry, alignment, surroundings)
    if "cats" in carry:
        new.cats = dict(doc.cats)
    if "spans" in carry:
        _move_spans(doc, new, alignment)
    if "user_data" in carry:
        new.user_data.update(_move_user_data(doc, new, alignment))
    mark_replaced(new)
    new._context = doc._context  # passed on by `nlp.pipe(..., as_tuples=True)`; it belongs to the caller
    return new


def _copy_attributes(doc: Doc, new: Doc, carry: frozenset[str], alignment: Alignment) -> None:
    """Copy the carried attributes from each original token to the token that replaces it."""
    names = carry & _ATTRIBUTES.keys()
    if "dep" in names:  # a parse includes sentence boundaries
        names -= {"sentences"} if doc.has_annotation("DEP") else {"dep"}
    attributes = [attribute for name in _ATTRIBUTES if name in names for attribute in _ATTRIBUTES[name]]
    if attributes and len(doc):
        new.from_array(attributes, merge_attributes(doc, attributes, alignment))


def _move_attributes(
    doc: Doc, new: Doc, carry: frozenset[str], alignment: Alignment, surroundings: Surroundings
) -> None:
    """Move sentences and entities to new tokens whose boundaries differ from those of the original."""
    starts, tags, labels = doc.to_array([SENT_START, ENT_IOB, ENT_TYPE]).reshape(-1, 3).astype(np.int64).T
    # SpaCy always marks the first token, so a Doc of one token does not show whether a component looked for sentences.
    # A new Doc without sentences would then reveal that the original had only one token.
    has_sentences = starts[1:].any() if len(doc) > 1 else surroundings.finds_sentences
    moves_sentences, moves_entities = "sentences" in carry and has_sentences, "entities" in carry and tags.any()
    if not len(new) or not (moves_sentences or moves_entities):
        return
    moved: dict[int, Places] = {}
    if moves_sentences:
        moved[SENT_START] = alignment.move_sentences(starts)
    if moves_entities:
        moved[ENT_IOB], moved[ENT_TYPE], _ = alignment.move_entities(tags, labels)
    new.from_array(list(moved), np.stack(list(moved.values()), axis=1).astype(np.uint64))  # type: ignore[arg-type]


def _move_spans(doc: Doc, new: Doc, alignment: Alignment) -> None:
    for key, group in doc.spans.items():
        moved = []
        for span in group:
            start, end = alignment.find_span(span.start, span.end)
            moved.append(Span(new, start, end, span.label, kb_id=span.kb_id, span_id=span.id))
        new.spans[key] = moved


def _move_user_data(doc: Doc, new: Doc, alignment: Alignment) -> dict[Any, Any]:
    """Return the user data for a new Doc with the same tokens, except in units and replaced words.

    The keys of spaCy contain the character offsets of tokens and spans, which differ in the new Doc. Where several
    tokens or spans become the same one, it has the data that were stored first.
    """
    tokens = [new[place] for place in alignment.firsts.tolist()]
    starts = {token.idx: tokens[token.i].idx for token in doc}
    ends = {token.idx + len(token): tokens[token.i].idx + len(tokens[token.i]) for token in doc}
    moved: dict[Any, Any] = {}
    data: dict[Any, Any] = doc.user_data
    for key, value in data.items():
        if key == RECORD_KEY:  # keyed draws depend on it, and readers do not need it
            continue
        if not (isinstance(key, tuple) and len(key) == 4 and key[0] == "._."):
            moved[key] = value
            continue
        kind, name, start, end = key
        if (start is None or start in starts) and (end is None or end in ends):
            at = None if start is None else starts[start]
            moved.setdefault((kind, name, at, None if end is None else ends[end]), value)
    return moved
