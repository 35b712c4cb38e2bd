"""Splits a new text into tokens with a tokenizer, so that they depend on that text alone."""

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from spacy.attrs import LEMMA, LENGTH, MORPH, NORM, POS, SPACY, TAG
from spacy.tokens import Doc
from spacy.vocab import Vocab

from custext_sql import CusTextError, Policy

Tokenizer = Callable[[str], Doc]

# Tokenizers split masks at their brackets. A word and a number of the same length, put in their place, are split as the
# masked word and number would have been.
_STAND_INS = {f"<{name}>": f"x{name}x" for name in (mask[1:-1] for mask in (Policy.UNKNOWN_MASK, *Policy.UNIT_MASKS))}
_STAND_INS[Policy.NUMBER_MASK] = "00000"
_MASKS = re.compile("|".join(map(re.escape, _STAND_INS)))
_SET_BY_TOKENIZERS = (NORM, TAG, POS, LEMMA, MORPH)


def tokenize(text: str, tokenizer: Tokenizer, vocab: Vocab) -> Doc:
    """Return a Doc of the text in which no mask is split, and each mask of a unit is a token.

    Raise CusTextError if the tokenizer changes the text.
    """
    plain, masks = _MASKS.subn(lambda mask: _STAND_INS[mask[0]], text)
    doc = tokenizer(plain)
    if (doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0) != len(text):
        raise CusTextError(
            "the pipeline's tokenizer changes the text, so it cannot make a new Doc; use a tokenizer that keeps every "
            'character, or add "tokens" to "carry"'
        )
    if doc.vocab is not vocab:
        doc = Doc(vocab).from_dict(doc.to_dict())
    return _restore_masks(doc, text) if masks else doc


def _restore_masks(doc: Doc, text: str) -> Doc:
    """Return the Doc with masks instead of their stand-ins; the other attributes of tokens with masks are cleared."""
    values = doc.to_array([LENGTH, SPACY, *_SET_BY_TOKENIZERS])
    lengths, spaces = values[:, 0].astype(np.int64), values[:, 1] != 0
    stops = np.cumsum(lengths + spaces)
    row_of = {stop: row for row, stop in enumerate(stops.tolist())}  # the token that ends there, with its space
    ends, cuts = set((stops - spaces).tolist()), {0, *row_of}  # a space after an end is not a token
    plain = np.ones(len(values), dtype=bool)
    for mask in _MASKS.finditer(text):
        first, last = stops.searchsorted([mask.start(), mask.end() - 1], side="right").tolist()
        plain[first : last + 1] = False
        cuts.difference_update(range(mask.start() + 1, mask.end()))  # some tokenizers split every character
        if mask[0] in Policy.UNIT_MASKS:
            cuts.update({mask.start(), mask.end()} - ends)
    places = sorted(cuts)
    rows = [row_of.get(stop, -1) for stop in places[1:]]
    has_space = [row >= 0 and bool(spaces[row]) for row in rows]
    words = [text[start : stop - space] for (start, stop), space in zip(pairwise(places), has_space, strict=True)]
    new = Doc(doc.vocab, words=words, spaces=has_space, user_data=doc.user_data)
    kept = np.where([row >= 0 and bool(plain[row]) for row in rows], rows, -1)
    for column, attribute in enumerate(_SET_BY_TOKENIZERS, start=2):
        moved = np.append(values[:, column], np.uint64(0))[kept]
        if moved.any():
            new.from_array([attribute], moved)  # type: ignore[arg-type]
    return new
