"""Turns Docs into columns of tokens, and back into one new text per Doc."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from spacy.attrs import ORTH, SPACY
from spacy.tokens import Doc

from custext_sql import KeyFile, KeyFileError, SanitizedTokens, TokenBatch

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NewText:
    """The new text of a Doc in UTF-8, with the kind of each original token and, in bytes, where its replacement is.

    If a word or unit spans several tokens, its output is the replacement of the first. begins: the start of each
    replacement, or of that output, for tokens that begin within such a word.
    """

    content: bytes
    starts: Places
    ends: Places
    begins: Places
    kinds: npt.NDArray[np.uint8]

    @property
    def joined(self) -> Flags:
        """Which tokens begin within a replaced word or unit that began in an earlier token."""
        joined: Flags = self.begins < self.starts
        return joined


class DocBatch:
    """Docs that share a vocabulary, and their tokens end to end, each with the space after it."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.docs = docs
        attributes = np.concatenate([doc.to_array([ORTH, SPACY]).reshape(-1, 2) for doc in docs])
        self._spaces: Flags = attributes[:, 1] != 0
        distinct = pa.array(attributes[:, 0]).dictionary_encode()
        words = [docs[0].vocab.strings[orth] for orth in distinct.dictionary.to_pylist()]
        choices = pa.array([*words, *(f"{word} " for word in words)], pa.large_string())
        chosen = distinct.indices.to_numpy().astype(np.int64) + len(words) * self._spaces
        _, bounds, content = choices.take(pa.array(chosen)).buffers()
        offsets = np.frombuffer(bounds, dtype=np.int64)[: len(chosen) + 1]
        text = np.frombuffer(content or b"", dtype=np.uint8)[: offsets[-1]]
        self.batch = TokenBatch(text, offsets, np.cumsum([0, *(len(doc) for doc in docs)]))

    def split(self, result: SanitizedTokens) -> Iterator[tuple[Doc, NewText]]:
        """Yield each Doc and its new text."""
        goes_on = np.append(result.joined, False)[1:]  # the space after these tokens, if any, is within a unit
        starts, ends = result.offsets[:-1], result.offsets[1:] - (self._spaces & ~goes_on)
        begins, kinds = result.begins, result.kinds
        for doc, (first, last) in zip(self.docs, pairwise(self.batch.documents.tolist()), strict=True):
            start, here = result.offsets[first], slice(first, last)
            content = result.text[start : result.offsets[last]].tobytes()
            yield doc, NewText(content, starts[here] - start, ends[here] - start, begins[here] - start, kinds[here])


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
