"""Makes one token of the tokens of a replaced word, for new Docs that have the token boundaries of the original."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.attrs import ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE, HEAD, SENT_START
from spacy.tokens import Doc

from spacy_plugin.alignment import Alignment
from spacy_plugin.new_text import Flags, NewText, Places

_OF_ENTITIES = (ENT_ID, ENT_KB_ID)


def merge_tokens(doc: Doc, text: NewText, spaces: Flags) -> Doc:
    """Return a Doc with the new text and the token boundaries of the original, except within replaced words.

    spaces: which original tokens are followed by a space.
    """
    first = np.flatnonzero(~text.joined)
    last = np.append(first[1:], len(text.starts))[: len(first)] - 1
    words = text.cut(text.starts[first], text.ends[last])
    words = [word or " " for word in words]  # spaCy allows no empty tokens; dropped characters may leave one
    return Doc(doc.vocab, words=words, spaces=spaces[last].tolist())


def merge_attributes(doc: Doc, attributes: Sequence[int], alignment: Alignment) -> Any:
    """Return attributes for the tokens of a new Doc, one row per token, ready for `Doc.from_array`.

    A word of several tokens has the attributes of the one that is highest in the parse, or else the first, with its
    head; but it begins a sentence if its first token does, and it is in the first entity that has a part of it.
    """
    values = doc.to_array(list(attributes)).reshape(len(doc), -1)
    if not alignment.joined.any():
        return values
    heads = np.arange(len(doc)) + doc.to_array(HEAD).astype(np.int64)
    highest = _find_highest(heads, alignment)
    merged = values[highest]
    tags, labels = doc.to_array([ENT_IOB, ENT_TYPE]).astype(np.int64).reshape(-1, 2).T
    tags, labels, sources = alignment.move_entities(tags, labels)
    for column, attribute in enumerate(attributes):
        before, after = values[:, column], merged[:, column]
        if attribute == HEAD:
            after[:] = (alignment.firsts[heads[highest]] - np.arange(len(highest))).astype(np.uint64)
        elif attribute == SENT_START:
            after[:] = before[alignment.origins]
        elif attribute in (ENT_IOB, ENT_TYPE):
            after[:] = (tags if attribute == ENT_IOB else labels).astype(np.uint64)
        elif attribute in _OF_ENTITIES:
            after[:] = before[sources]
    return merged


def _find_highest(heads: Places, alignment: Alignment) -> Places:
    """Return for each new token the original one that is nearest to the root of its sentence, the first if several are.

    The new tokens are then a tree too: the head of each is nearer to a root than the token itself.
    """
    above, depth = heads, (heads != np.arange(len(heads))).astype(np.int64)
    for _ in range(len(heads).bit_length()):  # each step doubles the distance to `above`
        above, depth = above[above], depth + depth[above]
    in_order: Places = np.lexsort((depth, alignment.firsts))
    return in_order[alignment.origins]
