"""Splits a new text into tokens with a tokenizer, so that they depend on that text alone."""

import re
from collections.abc import Callable

from spacy.attrs import LEMMA, LENGTH, MORPH, NORM, POS, SPACY, TAG
from spacy.tokens import Doc
from spacy.vocab import Vocab

from custext_sql import CusTextError, Policy

Tokenizer = Callable[[str], Doc]

# Tokenizers split masks at their brackets. A word and a number of the same length, put in their place, are split as the
# masked word and number would have been.
_STAND_INS = {Policy.UNKNOWN_MASK: "xunkx", Policy.NUMBER_MASK: "00000"}
_MASKS = re.compile("|".join(map(re.escape, _STAND_INS)))
_SET_BY_TOKENIZERS = (NORM, TAG, POS, LEMMA, MORPH)


def tokenize(text: str, tokenizer: Tokenizer, vocab: Vocab) -> Doc:
    """Return a Doc of the text in which no mask is split. Raise CusTextError if the tokenizer changes the text."""
    plain, masks = _MASKS.subn(lambda mask: _STAND_INS[mask[0]], text)
    doc = tokenizer(plain)
    if (doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0) != len(text):
        raise CusTextError(
            "the pipeline's tokenizer changes the text, so it cannot make a new Doc; use a tokenizer that keeps every "
            'character, or add "tokens" to "carry"'
        )
    if doc.vocab is not vocab:
        doc = Doc(vocab).from_dict(doc.to_dict())
    return _restore_masks(doc, plain, text) if masks else doc


def _restore_masks(doc: Doc, plain: str, text: str) -> Doc:
    """Return the Doc with masks instead of their stand-ins, each within one token; its other attributes are cleared."""
    values = doc.to_array([LENGTH, SPACY, *_SET_BY_TOKENIZERS])
    within_mask = {place for mask in _MASKS.finditer(text) for place in range(mask.start() + 1, mask.end())}
    words: list[str] = []
    rows: list[int] = []  # of the last token of each word
    start = 0
    for row, (length, space) in enumerate(values[:, :2].tolist()):
        word = text[start : start + length]
        if word != plain[start : start + length]:
            values[row, 2:] = 0
        if start in within_mask:  # the mask was split, as by tokenizers that split every character
            words[-1] += word
            rows[-1] = row
        else:
            words.append(word)
            rows.append(row)
        start += length + space
    values = values[rows]
    new = Doc(doc.vocab, words=words, spaces=(values[:, 1] != 0).tolist(), user_data=doc.user_data)
    for column, attribute in enumerate(_SET_BY_TOKENIZERS, start=2):
        if values[:, column].any():
            new.from_array([attribute], values[:, column])  # type: ignore[arg-type]
    return new
