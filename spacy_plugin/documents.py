"""Turns Docs into columns of tokens, and back into one new text per Doc."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from spacy.attrs import ORTH, SPACY
from spacy.tokens import Doc

from custext_sql import KeyFile, KeyFileError, SanitizedTokens, TokenBatch
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
        strings = docs[0].vocab.strings
        self._texts = [strings[orth] for orth in distinct.dictionary.to_pylist()]
        text, offsets = self._lay_out()
        self.batch = TokenBatch(text, offsets, documents)

    def split(self, result: SanitizedTokens) -> Iterator[tuple[Doc, slice, NewText]]:
        """Yield each Doc, the slice of its tokens in the batch, and its new text."""
        goes_on = np.append(result.joined, False)[1:]  # the space after these tokens, if any, is within a unit
        starts, ends = result.offsets[:-1], result.offsets[1:] - (self.spaces & ~goes_on)
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
