"""Sanitizes documents that were split into tokens elsewhere, such as by spaCy, and finds the output of each token.

A document is sanitized as a text: words, units and draws are those of the text, however it is split. The tokens only
say which words to replace, at what eps, and where the output of each token begins and ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Bytes, Flags, Floats, Kinds, Places
from custext_sql.kinds import KINDS, Kind
from custext_sql.mechanism.randomness import KeyedRandomness, Randomness
from custext_sql.sanitizer.replacer import Replaced, Replacer
from custext_sql.sanitizer.tally import Counts, join_counts
from custext_sql.text.columns import TextColumn, join_blocks, slice_texts
from custext_sql.text.encoded_text import spread_out


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Documents end to end in UTF-8, cut into tokens.

    offsets: where each token begins and ends, including the space after it. documents: the index of the first token of
    each document, and at the end the number of all tokens.
    """

    text: Bytes
    offsets: Places
    documents: Places

    @property
    def document_offsets(self) -> Places:
        """Where each document begins and ends in the text."""
        return self.offsets.take(self.documents)


@dataclass(frozen=True, eq=False)
class SanitizedTokens:
    """New documents end to end. offsets: of each token, including the space after it. kinds: of each token.

    The kind of a token with several words, or parts of words, is the heaviest that occurs: the first of unit,
    unknown, alone, number, replaced, stopword and ending. The kind of a token without words is kept.

    The output of a word or unit that spans several tokens is in the first of them. The others, and the spaces
    between them, are empty, apart from what follows the word in the last one. begins: where each token begins, which
    for these others is the start of that output.

    With a key, the digests in the counts depend on the words that stay, and on those masked because of a list. If there
    are none, they are those of the texts in a file or a query, because the output is too.
    """

    text: Bytes
    offsets: Places
    begins: Places
    kinds: Kinds
    counts: Counts

    @classmethod
    def of(cls, replaced: Replaced, first: Places, last: Places, counts: Counts) -> "SanitizedTokens":
        """Return the tokens of some new documents. first, last: the tokens in which each word begins and ends."""
        kinds = np.full(len(replaced.offsets) - 1, Kind.KEPT, dtype=np.uint8)
        lengths = last - first
        for kind in sorted(Kind, key=lambda one: KINDS[one].weight):
            some = replaced.words.at(kind)
            kinds[first[some]] = kind
            some = some[lengths[some] > 0]
            kinds[spread_out(first[some] + 1, lengths[some])] = kind
        begins = replaced.offsets[:-1].copy()
        over = ((lengths > 0) & ~replaced.kept).nonzero()[0]
        begins[spread_out(first[over] + 1, lengths[over])] = np.repeat(replaced.cuts[2 * over + 1], lengths[over])
        return cls(replaced.text, replaced.offsets, begins, kinds, counts)

    @property
    def joined(self) -> Flags:
        """Which tokens begin within a replaced word or unit that began in an earlier token."""
        joined: Flags = self.begins < self.offsets[:-1]
        return joined

    @classmethod
    def join(cls, parts: Sequence["SanitizedTokens"]) -> "SanitizedTokens":
        """Return the documents of all parts, one after the other."""
        joined = join_blocks([(part.text, part.offsets) for part in parts], None)
        sizes = np.cumsum([0, *(len(part.text) for part in parts)])
        begins = [part.begins + size for part, size in zip(parts, sizes, strict=False)]
        begin = np.concatenate([np.zeros(0, dtype=np.int64), *begins])
        kinds = np.concatenate([np.zeros(0, dtype=np.uint8), *(part.kinds for part in parts)])
        return cls(joined.text, joined.offsets, begin, kinds, join_counts([part.counts for part in parts]))


def replace_tokens(
    replacer: Replacer,
    batch: TokenBatch,
    epsilon: float | Floats,
    draw_for: Callable[[slice, TextColumn], Randomness],
    *,
    plus: bool,
    listed: frozenset[str] | None = None,
) -> SanitizedTokens:
    """Return new documents.

    epsilon: one, or one per token, NaN if it stays. A word or unit that spans several tokens is replaced if one of
    them is, at the smallest eps of these. draw_for: returns the source of draws for some consecutive documents and
    their texts. listed: the words that make a token sensitive, if a list does; a word is masked if it is the only
    listed one of its group.
    """
    alone = None if listed is None else replacer.vocabulary.find_alone(plus, listed)
    done = []
    for documents in slice_texts(batch.document_offsets):
        tokens = slice(int(batch.documents[documents.start]), int(batch.documents[documents.stop]) + 1)
        offsets, firsts = batch.offsets[tokens], batch.documents[documents.start : documents.stop + 1] - tokens.start
        content, offsets = batch.text[offsets[0] : offsets[-1]], offsets - offsets[0]
        randomness = draw_for(documents, TextColumn(content, offsets.take(firsts)))
        text, offsets = replacer.open_text(content, offsets, offsets.take(firsts))
        words = replacer.find_words(text, offsets.take(firsts), plus=plus)
        kinds = words.kinds.copy()
        if alone is not None:
            words.kinds[Kind.REPLACED.find_in(words.kinds) & alone.take(words.numbers)] = Kind.ALONE
        first = offsets.searchsorted(words.starts, "right") - 1
        last = offsets.searchsorted(words.ends) - 1
        per_word = epsilon
        if isinstance(epsilon, np.ndarray):
            per_word = _find_smallest(epsilon[tokens.start : tokens.stop - 1], first, last)
        replaced = replacer.replace_found(text, words, randomness, per_word, offsets)
        counts = replaced.count()
        if isinstance(randomness, KeyedRandomness):  # marks words that a text without tokens would treat otherwise
            marks = np.where(replaced.words.kinds == kinds, np.uint8(0), replaced.words.kinds)
            counts = counts.with_digests(*randomness.digest((words.rows, marks)))
        done.append(SanitizedTokens.of(replaced, first, last, counts))
    return SanitizedTokens.join(done)


def _find_smallest(epsilon: Floats, first: Places, last: Places) -> Floats:
    """Return the smallest eps of the tokens from first to last, for each word; NaN if all of them are."""
    found = epsilon.take(first)
    over = (last > first).nonzero()[0]
    if len(over):
        spans = np.stack([first[over], last[over] + 1], axis=1).ravel()
        found[over] = np.fmin.reduceat(np.append(epsilon, np.nan), spans)[::2]
    return found
