"""Replaces words within the tokens of documents that were tokenized elsewhere, such as by spaCy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from custext_sql.arrays import Bytes, Flags, Kinds, Places
from custext_sql.mechanism.randomness import DIGIT, UNKNOWN_WORD, Randomness, count_earlier
from custext_sql.replacing.counts import Counts, join_counts
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Replaced, Replacer
from custext_sql.replacing.row_settings import RowSettings
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.replacing.words import FoundWords, join_units
from custext_sql.text.columns import slice_texts
from custext_sql.text.encoded_text import EncodedText, find_rows, spread_out
from custext_sql.text.word_boundaries import OTHER_APOSTROPHE

_APOSTROPHES = (b"'", chr(OTHER_APOSTROPHE).encode())


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

    def __getitem__(self, documents: slice) -> "TokenBatch":
        """Return some consecutive documents."""
        first, last = self.documents[documents.start], self.documents[documents.stop]
        start, end = self.offsets[first], self.offsets[last]
        return TokenBatch(
            self.text[start:end],
            self.offsets[first : last + 1] - start,
            self.documents[documents.start : documents.stop + 1] - first,
        )


@dataclass(frozen=True, eq=False)
class SanitizedTokens:
    """New documents end to end. offsets: of each token, including the space after it. kinds: of each token.

    The kind of a token with several words is the first of unit, unknown, alone, number, sampled, stopword and ending
    that occurs. The kind of a token without words is kept.

    The mask of a unit is in the first token of the unit. The others, and the spaces between them, are empty, apart from
    what follows the unit in the last one. begins: where each token begins, which for these others is the start of the
    mask.
    """

    text: Bytes
    offsets: Places
    begins: Places
    kinds: Kinds
    counts: Counts

    @classmethod
    def of(cls, replaced: Replaced) -> "SanitizedTokens":
        """Return the tokens of a block whose rows are tokens."""
        words = replaced.words
        kinds = np.full(len(words.offsets) - 1, Kind.KEPT, dtype=np.uint8)
        for kind in (Kind.ENDING, Kind.STOPWORD, Kind.SAMPLED, Kind.NUMBER, Kind.ALONE, Kind.UNKNOWN):
            kinds[words.rows[words.at(kind)]] = kind
        begins = replaced.offsets[:-1].copy()
        first, last = words.find_unit_rows()
        masks = replaced.cuts[2 * words.at(Kind.UNIT) + 1]
        begins[spread_out(first + 1, last - first)] = np.repeat(masks, last - first)
        kinds[spread_out(first, last - first + 1)] = Kind.UNIT
        return cls(replaced.text, replaced.offsets, begins, kinds, replaced.count())

    @property
    def joined(self) -> Flags:
        """Which tokens begin within a unit that began in an earlier token."""
        joined: Flags = self.begins < self.offsets[:-1]
        return joined

    @classmethod
    def join(cls, parts: Sequence["SanitizedTokens"]) -> "SanitizedTokens":
        """Return the documents of all parts, one after the other."""
        sizes = np.cumsum([0, *(len(part.text) for part in parts)])
        offsets = [part.offsets[1:] + size for part, size in zip(parts, sizes, strict=False)]
        begins = [part.begins + size for part, size in zip(parts, sizes, strict=False)]
        return cls(
            np.concatenate([np.zeros(0, dtype=np.uint8), *(part.text for part in parts)]),
            np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
            np.concatenate([np.zeros(0, dtype=np.int64), *begins]),
            np.concatenate([np.zeros(0, dtype=np.uint8), *(part.kinds for part in parts)]),
            join_counts([part.counts for part in parts]),
        )


def replace_tokens(
    replacer: Replacer,
    batch: TokenBatch,
    settings: RowSettings,
    draw_for: Callable[[slice], Randomness],
    *,
    keyed: bool,
    sensitive: Flags | None = None,
    listed: frozenset[str] | None = None,
) -> SanitizedTokens:
    """Return new documents, each token of which is replaced on its own, except for units.

    settings: one per token, or one for all. draw_for: returns the source of draws for some consecutive documents, which
    is a key if `keyed`. sensitive: which tokens to replace; others stay unchanged, apart from the units that they share
    with sensitive tokens. listed: the words that make a token sensitive, if a list does; a word is masked if it is the
    only listed one of its group.
    """
    alone = None if listed is None else replacer.vocabulary.find_alone(bool(settings.plus), listed)
    done = []
    for documents in slice_texts(batch.document_offsets):
        block = batch[documents]
        tokens = slice(int(batch.documents[documents.start]), int(batch.documents[documents.stop]))
        text, offsets = replacer.open_text(block.text, block.offsets, block.document_offsets)
        block = TokenBatch(text.content, offsets, block.documents)
        words = find_words_in_tokens(block, text, replacer, plus=bool(settings.plus), keyed=keyed)
        if alone is not None:
            words.kinds[Kind.SAMPLED.find_in(words.kinds) & alone.take(words.numbers)] = Kind.ALONE
        epsilon, chosen = settings.at(tokens).epsilon, None if sensitive is None else sensitive[tokens]
        replaced = replacer.replace_found(text, block.document_offsets, words, draw_for(documents), epsilon, chosen)
        done.append(SanitizedTokens.of(replaced))
    return SanitizedTokens.join(done)


def find_words_in_tokens(
    batch: TokenBatch, text: EncodedText, replacer: Replacer, *, plus: bool, keyed: bool
) -> FoundWords:
    """Return the words within the tokens of a batch, each token considered alone. The rows of the result are tokens.

    Units are those of the documents, however they are cut into tokens. An English ending that is a token of its own
    directly after a word is still an ending: Alice 's.

    keyed: a word that is also found in the document as a single text draws as it would there. Other words draw after
    these.
    """
    words = replacer.find_words(text, batch.offsets, plus=plus, units=False)
    if not keyed and replacer.policy.units == "keep":
        return _mark_endings(batch, text, words, replacer.vocabulary)
    whole = replacer.find_words(text, batch.document_offsets, plus=plus)
    words = _mark_endings(batch, text, join_units(words, whole.units), replacer.vocabulary)
    return replace(words, earlier=_count_earlier(batch, text, words, whole)) if keyed else words


def _count_earlier(batch: TokenBatch, text: EncodedText, words: FoundWords, whole: FoundWords) -> Places:
    """Return how many draws of the same number come before each word. whole: the words of the documents as texts."""
    place = whole.starts.searchsorted(words.starts)
    shared = place < len(whole.starts)
    place[~shared] = 0
    for ours, theirs in ((words.starts, whole.starts), (words.ends, whole.ends), (words.kinds, whole.kinds)):
        shared[shared] = (ours == theirs[place])[shared] if len(theirs) else False
    documents = find_rows(words.starts, batch.document_offsets)
    late = np.flatnonzero(~shared)
    symbols, draws = _find_symbols(text, words)
    all_symbols, all_draws = _find_symbols(text, whole)
    earlier = count_earlier(
        np.concatenate([whole.rows, documents[late]]),
        np.concatenate([all_symbols, symbols[late]]),
        np.concatenate([all_draws, draws[late]]),
    )
    place[late] = len(whole.starts) + np.arange(len(late))
    return earlier[place]


def _find_symbols(text: EncodedText, words: FoundWords) -> tuple[Places, Places]:
    """Return the number under which each word draws, and how many draws it takes."""
    symbols = np.where(Kind.SAMPLED.find_in(words.kinds), words.numbers, 0).astype(np.int64)
    draws = Kind.SAMPLED.find_in(words.kinds).astype(np.int64)
    unknown, numbers = words.at(Kind.UNKNOWN), words.at(Kind.NUMBER)
    symbols[unknown], draws[unknown] = UNKNOWN_WORD, 1
    symbols[numbers], draws[numbers] = DIGIT, text.count_characters(words.starts[numbers], words.ends[numbers])
    return symbols, draws


def _mark_endings(batch: TokenBatch, text: EncodedText, words: FoundWords, vocabulary: Vocabulary) -> FoundWords:
    """Return the words, where each that forms a token that is an ending of the token before, such as 's, is one."""
    words.kinds[_find_endings(batch, text, words, vocabulary)] = Kind.ENDING
    return words


def _find_endings(batch: TokenBatch, text: EncodedText, words: FoundWords, vocabulary: Vocabulary) -> Places:
    """Return the words that form a token that is an ending of the token before, such as 's, or n't if unknown."""
    after_apostrophe = np.flatnonzero(vocabulary.is_ending[words.numbers])
    after_apostrophe = after_apostrophe[_starts_with_apostrophe(batch, text, words, after_apostrophe)]
    behind_n = np.flatnonzero(Kind.ENDING.find_in(words.kinds))  # within one token
    before = behind_n - 1
    starts = words.starts[before]
    is_n = (words.ends[before] - starts == 1) & (text.lowered[starts] == ord("n"))
    behind_n = behind_n[is_n & (starts == batch.offsets[words.rows[behind_n]])]
    behind_n = behind_n[_ends_token(batch, text, words, behind_n)]
    return np.concatenate(
        [
            after_apostrophe[_is_attached(batch, words, after_apostrophe)],
            behind_n[_is_attached(batch, words, behind_n - 1)] - 1,
        ]
    )


def _starts_with_apostrophe(batch: TokenBatch, text: EncodedText, words: FoundWords, some: Places) -> Flags:
    """Return which of some words follow an apostrophe at the start of their token and end the token."""
    starts = batch.offsets[words.rows[some]]
    found = np.zeros(len(some), dtype=bool)
    for apostrophe in _APOSTROPHES:
        alike = words.starts[some] - starts == len(apostrophe)
        for step, byte in enumerate(apostrophe):
            alike &= text.content.take(starts + step, mode="clip") == byte
        found |= alike
    return found & _ends_token(batch, text, words, some)


def _ends_token(batch: TokenBatch, text: EncodedText, words: FoundWords, some: Places) -> Flags:
    """Return which of some words end their token, apart from the space after it."""
    ends = batch.offsets[words.rows[some] + 1]
    whole: Flags = words.ends[some] == ends - (text.content.take(ends - 1, mode="clip") == ord(" "))
    return whole


def _is_attached(batch: TokenBatch, words: FoundWords, some: Places) -> Flags:
    """Return for some words whether their token directly follows a word of the same document."""
    rows = words.rows[some]
    document_of = find_rows(batch.offsets[:-1], batch.document_offsets)
    attached: Flags = (some > 0) & (words.ends[some - 1] == batch.offsets[rows])
    attached &= document_of[rows] == document_of[rows - 1]
    return attached
