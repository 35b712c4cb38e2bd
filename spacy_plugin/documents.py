"""Turns Docs into columns of tokens, and back into one new text per Doc."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from spacy.attrs import ORTH, SPACY
from spacy.tokens import Doc

from custext_sql import KeyFile, KeyFileError, Kind, SanitizedTokens, TokenBatch
from spacy_plugin.new_text import Flags, NewText, Places


class DocBatch:
    """Docs that share a vocabulary, and their tokens end to end."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.docs = docs
        attributes = np.concatenate([doc.to_array([ORTH, SPACY]).reshape(-1, 2) for doc in docs])
        self.spaces: Flags = attributes[:, 1] != 0
        documents = np.cumsum([0, *(len(doc) for doc in docs)])
        distinct = pa.array(attributes[:, 0]).dictionary_encode()
        self._number_of = distinct.indices.to_numpy().astype(np.int64)
        self._orths = distinct.dictionary.to_pylist()
        strings = docs[0].vocab.strings
        self._texts = [strings[orth] for orth in self._orths]
        text, offsets = self._lay_out()
        self.batch = TokenBatch(text, offsets, documents)

    def find_punctuation(self) -> Flags:
        """Return which tokens are punctuation with an underscore, a character that can also be part of a word."""
        vocab = self.docs[0].vocab
        found = ["_" in text and vocab[orth].is_punct for orth, text in zip(self._orths, self._texts, strict=True)]
        flags: Flags = np.array(found, dtype=bool)[self._number_of]
        return flags

    def split(self, result: SanitizedTokens) -> Iterator[tuple[Doc, slice, NewText]]:
        """Yield each Doc, the slice of its tokens in the batch, and its new text."""
        within_units = np.append(result.joined, False)[1:]  # the space after these tokens, if any
        starts, ends = result.offsets[:-1], result.offsets[1:] - (self.spaces & ~within_units)
        masked = Kind.UNIT.find_in(result.kinds)
        for doc, (first, last) in zip(self.docs, pairwise(self.batch.documents.tolist()), strict=True):
            within = slice(first, last)
            start, end = result.offsets[first], result.offsets[last]
            yield (
                doc,
                within,
                NewText(
                    result.text[start:end],
                    starts[within] - start,
                    ends[within] - start,
                    result.begins[within] - start,
                    masked[within],
                ),
            )

    def _lay_out(self) -> tuple[npt.NDArray[np.uint8], Places]:
        """Return the tokens end to end, each with the space after it, and where they begin and end."""
        strings = pa.array([*self._texts, *(f"{text} " for text in self._texts)], pa.large_string())
        _, bounds, content = strings.take(pa.array(self._number_of + len(self._texts) * self.spaces)).buffers()
        offsets = np.frombuffer(bounds, dtype=np.int64)[: len(self._number_of) + 1]
        return np.frombuffer(content or b"", dtype=np.uint8)[: offsets[-1]], offsets


def find_records(key: KeyFile, docs: Sequence[Doc]) -> list[str]:
    """Return the record of each Doc, which keyed draws need. Raise KeyFileError if a Doc has none."""
    records = [doc._.custext_record for doc in docs]
    for record in records:
        if not isinstance(record, str):
            found = "none" if record is None else type(record).__name__
            raise KeyFileError(
                f"key_file: {key.path}: keyed draws need a record for every Doc: set doc._.custext_record to a string "
                f"before the Doc reaches custext; found {found}"
            )
    return records


def sum_docs(key: KeyFile, records: Sequence[str], tokens: DocBatch, chosen: Flags | None, masked: Flags | None) -> int:
    """Return a sum that is equal for equal keyed releases: same records, texts, token boundaries and chosen tokens.

    masked: tokens with a word that is masked because of a list. Draws depend on how a text is split into tokens, so the
    sum of a Doc differs from that of the same text in a file or a query.
    """
    marks = np.ones(len(tokens.spaces), dtype=np.uint8) if chosen is None else chosen.astype(np.uint8)
    marks += 2 * (np.uint8(0) if masked is None else masked.astype(np.uint8))
    batch = tokens.batch
    bounds, cuts = batch.document_offsets.tolist(), batch.documents.tolist()
    contents = []
    for number in range(len(records)):
        first, last = cuts[number], cuts[number + 1]
        places = (batch.offsets[first : last + 1] - bounds[number]).astype("<i8").tobytes()
        within = b"" if (marks[first:last] == 1).all() else marks[first:last].tobytes()
        contents.append(batch.text[bounds[number] : bounds[number + 1]].tobytes() + places + within)
    text = np.frombuffer(b"".join(contents), dtype=np.uint8)
    offsets = np.append(0, np.cumsum([len(content) for content in contents]))
    return key.key.sum_rows([f"\0spacy\0{record}" for record in records], text, offsets)
