"""How a new text is cut into tokens: by a tokenizer, so that they depend on that text alone."""

import re
from collections.abc import Callable

from spacy.attrs import LEMMA, LENGTH, MORPH, NORM, POS, SPACY, TAG
from spacy.tokens import Doc
from spacy.vocab import Vocab

from custext_sql import CusTextError, Policy

Tokenizer = Callable[[str], Doc]

# Tokenizers cut masks at their brackets. A word and a number of the same length are cut as the masked ones would be.
_STAND_INS = {Policy.UNKNOWN_MASK: "xunkx", Policy.NUMBER_MASK: "00000"}
_MASKS = re.compile("|".join(map(re.escape, _STAND_INS)))
_SET_BY_TOKENIZERS = (NORM, TAG, POS, LEMMA, MORPH)


def tokenize(text: str, tokenizer: Tokenizer, vocab: Vocab) -> Doc:
    """Return a Doc of the text, in which no mask is cut. Raise CusTextError if the tokenizer changes the text."""
    plain, masks = _MASKS.subn(lambda mask: _STAND_INS[mask[0]], text)
    doc = tokenizer(plain)
    if (doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0) != len(text):
        raise CusTextError(
            "the pipeline's tokenizer does not keep the text it is given, so a new Doc cannot be made with it; use "
            'another one, or name "tokens" in carry'
        )
    if doc.vocab is not vocab:
        doc = Doc(vocab).from_dict(doc.to_dict())
    return _restore_masks(doc, plain, text) if masks else doc


def _restore_masks(doc: Doc, plain: str, text: str) -> Doc:
    """Return the Doc with masks in place of their stand-ins, each in one token, which keeps no other attribute."""
    values = doc.to_array([LENGTH, SPACY, *_SET_BY_TOKENIZERS])
    within_mask = {place for mask in _MASKS.finditer(text) for place in range(mask.start() + 1, mask.end())}
    words: list[str] = []
    rows: list[int] = []  # of the tokens that end the words
    start = 0
    for row, (length, space) in enumerate(values[:, :2].tolist()):
        word = text[start : start + length]
        if word != plain[start : start + length]:
            values[row, 2:] = 0
        if start in within_mask:  # cut by characters, as some tokenizers do
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
