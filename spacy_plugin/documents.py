"""Docs to columns of tokens, and back to new Docs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from spacy.attrs import DEP, ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE, HEAD, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.tokens import Doc, Span

from custext_sql.encoded_text import join_texts
from custext_sql.token_batch import TokenBatch

Flags = npt.NDArray[np.bool_]

# What a sanitized Doc may carry over from the original besides sentence starts and entity labels, and what it tells.
CARRIED = {
    "pos": "part of speech of the original word",
    "tag": "fine-grained tag of the original word",
    "morph": "number, tense and other features of the original word",
    "dep": "the parse of the original sentence, heads and labels",
    "lemma": "the lemma of the original word: the word itself in all but its inflection",
    "ent_id": "the id of an entity's pattern or cluster",
    "ent_kb_id": "the id of the very entity in a knowledge base",
    "cats": "categories predicted from the original text",
    "spans": "span groups with their labels and ids",
    "tensor": "vectors computed from the original words, from which these can be found again",
    "user_data": "all other extension attributes and whatever else components left in doc.user_data",
}
_TOKEN_ATTRIBUTES = {
    "pos": (POS,),
    "tag": (TAG,),
    "morph": (MORPH,),
    "dep": (HEAD, DEP),
    "lemma": (LEMMA,),
    "ent_id": (ENT_ID,),
    "ent_kb_id": (ENT_KB_ID,),
}


class DocBatch:
    """Docs of one vocabulary, and their tokens end to end."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.docs = docs
        attributes = np.concatenate([doc.to_array([ORTH, SPACY]).reshape(-1, 2) for doc in docs])
        self.spaces: Flags = attributes[:, 1] != 0
        documents = np.cumsum([0, *(len(doc) for doc in docs)])
        kinds = pa.array(attributes[:, 0]).dictionary_encode()
        self._kind_of = kinds.indices.to_numpy().astype(np.int64)
        self._orths = kinds.dictionary.to_pylist()
        strings = docs[0].vocab.strings
        self._texts = [strings[orth] for orth in self._orths]
        text, offsets = self._lay_out()
        self.batch = TokenBatch(text, offsets, documents)

    def find_punctuation(self) -> Flags:
        """For each token whether it is punctuation and yet has characters of words, which underscores are."""
        vocab = self.docs[0].vocab
        found = ["_" in text and vocab[orth].is_punct for orth, text in zip(self._orths, self._texts, strict=True)]
        flags: Flags = np.array(found, dtype=bool)[self._kind_of]
        return flags

    def _lay_out(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """The tokens, each with the space behind it."""
        text, offsets = join_texts([*self._texts, *(f"{text} " for text in self._texts)])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        strings = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
        _, bounds, content = strings.take(pa.array(self._kind_of + len(self._texts) * self.spaces)).buffers()
        ends = np.frombuffer(bounds, dtype=np.int64)
        return np.frombuffer(content or b"", dtype=np.uint8)[: ends[-1]], ends


def write_doc(doc: Doc, words: Sequence[str], spaces: Flags, carry: Sequence[str]) -> Doc:
    """A new Doc with these words in place of the original ones, sentence starts, entity labels, and what is carried."""
    new = Doc(doc.vocab, words=list(words), spaces=spaces.tolist())
    has_parse = "dep" in carry and doc.has_annotation("DEP")
    attributes = [ENT_IOB, ENT_TYPE, *(() if has_parse else (SENT_START,))]  # a parse has its own sentences
    for name in carry:
        attributes += _TOKEN_ATTRIBUTES.get(name, ()) if name != "dep" or has_parse else ()
    if len(doc):
        new.from_array(attributes, doc.to_array(attributes))  # type: ignore[arg-type]
    if "cats" in carry:
        new.cats = dict(doc.cats)
    if "spans" in carry:
        for key, group in doc.spans.items():
            new.spans[key] = [
                Span(new, span.start, span.end, span.label, span.kb_id, span_id=span.id) for span in group
            ]
    if "tensor" in carry:
        new.tensor = doc.tensor
    if "user_data" in carry:
        new.user_data.update(_move_user_data(doc, new))
    new._context = doc._context  # what `nlp.pipe(..., as_tuples=True)` hands on
    return new


def _move_user_data(doc: Doc, new: Doc) -> dict[Any, Any]:
    """User data for a Doc with as many tokens; spaCy keys those of tokens and spans by where these begin and end."""
    starts = {token.idx: new[token.i].idx for token in doc}
    ends = {token.idx + len(token): new[token.i].idx + len(new[token.i]) for token in doc}
    moved: dict[Any, Any] = {}
    for key, value in doc.user_data.items():
        if not (isinstance(key, tuple) and len(key) == 4 and key[0] == "._."):
            moved[key] = value
            continue
        kind, name, start, end = key
        if (start is None or start in starts) and (end is None or end in ends):
            at = None if start is None else starts[start]
            moved[kind, name, at, None if end is None else ends[end]] = value
    return moved
