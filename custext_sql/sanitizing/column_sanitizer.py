"""Sanitizes columns of texts, and counts what happened: arrays in, arrays out, without files or a ledger."""

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.randomness import KeyedRandomness, Randomness, SecureRandomness, SeededRandomness
from custext_sql.mechanism.sampler import Distribution, Sampler, find_distribution
from custext_sql.parameters import check_type
from custext_sql.replacing.guarantee import Guarantee
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.replacer import Piece, Replacer
from custext_sql.replacing.row_settings import Epsilon, Plus
from custext_sql.replacing.tally import Recorder, Tally
from custext_sql.replacing.token_batch import SanitizedTokens, TokenBatch, replace_tokens
from custext_sql.replacing.traced_text import TracedText, trace
from custext_sql.replacing.words import FoundWords
from custext_sql.sanitizing.settings import Settings
from custext_sql.sanitizing.vocabularies import SharedVocabulary, Vocabularies
from custext_sql.store.key_files import KeyFile
from custext_sql.text.columns import TextColumn, join_blocks, open_column, split_column
from custext_sql.text.encoded_text import EncodedText


class ColumnSanitizer:
    """Replaces the words of columns by words of their group. It holds arrays only, so threads may share it."""

    def __init__(
        self,
        mapping: Mapping,
        stopwords: frozenset[str] = frozenset(),
        settings: Settings | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        check_type(mapping, Mapping, "mapping must be a Mapping", "to use a stored one: Sanitizer.load(mapping=NAME)")
        check_type(stopwords, frozenset, "stopwords must be a frozenset of words")
        self.mapping, self.stopwords, self.settings = mapping, stopwords, settings or Settings()
        if self.key is not None and seed is not None:
            raise SettingError("give a key or a seed, not both")
        self._sampler = Sampler(mapping, self.settings.calibration)
        self._vocabularies = Vocabularies(mapping, stopwords, self._sampler)
        self._randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
        self.settings.check_key(mapping, stopwords)

    @property
    def _vocabulary(self) -> SharedVocabulary:
        return self._vocabularies.find(frozenset(self.policy.keep_words))

    @cached_property
    def replacer(self) -> Replacer:
        """Finds the words of texts and replaces them, with what the key and the policy say."""
        return Replacer(self._vocabulary.words, self._sampler, self.policy)

    @property
    def key(self) -> KeyFile | None:
        """The key that draws come from, if any."""
        return self.settings.key

    @property
    def policy(self) -> Policy:
        """What happens to words that are not drawn."""
        return self.settings.policy

    @property
    def calibration(self) -> str:
        """How eps scales the scores: "paper" or "tight"."""
        return self.settings.calibration

    @property
    def draws(self) -> str:
        """Where draws come from: "fresh", "keyed" or "seeded"."""
        if self.key is not None:
            return "keyed"
        return "seeded" if isinstance(self._randomness, SeededRandomness) else "fresh"

    @property
    def identity(self) -> tuple[object, ...]:
        """A value that is equal for sanitizers that do the same, apart from their key."""
        info = self.mapping.info
        return info.name, info.fingerprint, self.stopwords, self.policy, self.calibration

    def sanitize_column(
        self,
        column: TextColumn,
        eps: Epsilon | None = None,
        plus: Plus | None = None,
        *,
        records: Any = None,
        tally: Recorder | None = None,
    ) -> TextColumn:
        """Return a sanitized column. tally: counts what happened."""
        settings = self.settings.settle_rows(eps, plus, len(column))
        known_by = self.settings.settle_records(records, len(column))
        done = []
        for rows, block in split_column(column):
            randomness = self._draw_for(known_by, rows, block)
            replaced = self.replacer.replace_words(block.text, block.offsets, randomness, settings.at(rows))
            if tally is not None:
                counts = replaced.count()
                if isinstance(randomness, KeyedRandomness):
                    counts = counts.with_digests(*randomness.digest())
                tally.add(counts, missing=block.missing)
            done.append((replaced.text, replaced.offsets))
        return join_blocks(done, column.missing)

    def sanitize_tokens(
        self,
        batch: TokenBatch,
        eps: Floats,
        *,
        listed: frozenset[str] | None = None,
        records: Any = None,
    ) -> SanitizedTokens:
        """Return documents that were already tokenized, sanitized as `sanitize_column` sanitizes their texts.

        eps: of each token, NaN if it stays unchanged; see `replace_tokens`. listed: the only words that make a token
        sensitive, if there is a list; see `guarantee`. records: with a key, one ID per document.
        """
        stays = np.isnan(eps)
        settings = self.settings.settle_rows(eps[~stays], None, len(eps) - int(stays.sum()))
        known_by = self.settings.settle_records(records, len(batch.documents) - 1)
        return replace_tokens(
            self.replacer,
            batch,
            eps if stays.any() else settings.epsilon,
            lambda documents, texts: self._draw_for(known_by, documents, texts),
            plus=bool(settings.plus),
            listed=listed,
        )

    def compare(
        self, texts: Any, eps: float | None = None, plus: bool | None = None, *, records: Any = None
    ) -> list[list[Piece]]:
        """Return each text as pieces before and after; no pieces for a missing text. The ledger is not used."""
        column = open_column(texts)[0]
        settings = self.settings.settle_rows(eps, plus, len(column))
        known_by = self.settings.settle_records(records, len(column))
        randomness = self._draw_for(known_by, slice(0, len(column)), column)
        return self.replacer.replace_words(column.text, column.offsets, randomness, settings).compare()

    def trace(
        self, text: str, eps: float | None = None, plus: bool | None = None, *, record: str | None = None
    ) -> TracedText:
        """Return a text before and after, with the place and the kind of each word. The ledger is not used."""
        check_type(text, str, "the text must be a string")
        column = open_column([text])[0]
        settings = self.settings.settle_rows(eps, plus, 1)
        known_by = self.settings.settle_records(None if record is None else [record], 1)
        randomness = self._draw_for(known_by, slice(0, len(column)), column)
        return trace(self.replacer.replace_words(column.text, column.offsets, randomness, settings))

    def find_words(self, column: TextColumn, plus: bool | None = None) -> Iterator[tuple[EncodedText, FoundWords]]:
        """Yield the words of a column with their kinds, and the texts in which they are, block by block."""
        settings = self.settings.settle_rows(None, plus, len(column))
        for rows, block in split_column(column):
            text, offsets = self.replacer.open_text(block.text, block.offsets)
            yield text, self.replacer.find_words(text, offsets, plus=settings.at(rows).plus)

    def spend(self, column: TextColumn, eps: Epsilon | None = None, plus: Plus | None = None) -> Floats:
        """Return the eps that each text would spend: eps times the number of its words that would be replaced."""
        settings = self.settings.settle_rows(eps, plus, len(column))
        counts = [np.zeros(0, dtype=np.int64)]
        for rows, block in split_column(column):
            counts.append(self.replacer.count_sampled(block.text, block.offsets, plus=settings.at(rows).plus))
        return np.asarray(np.concatenate(counts) * settings.epsilon, dtype=np.float64)

    def distribution(self, word: str, eps: float | None = None) -> dict[str, float]:
        """Return the probability of each replacement of a word, highest first; MappingError for unknown words."""
        return {replacement.output: replacement.probability for replacement in self.inspect(word, eps).group}

    def inspect(self, word: str, eps: float | None = None, plus: bool | None = None) -> Distribution:
        """Return what a word becomes where it is replaced, with scores and probabilities, most probable first.

        word: in any spelling that is replaced in a text. A word that is kept or masked in texts is inspected as if it
        were replaced. plus matters at eps = 0, where no word becomes a stopword that is kept. MappingError if the
        mapping does not have the word.
        """
        check_type(word, str, "the word must be a string")
        settings = self.settings.settle_rows(eps, plus, 1)
        number = self.replacer.find_number(word)
        known = word if number is None else self.mapping.words[number]
        representatives = self._vocabulary.words.representatives(bool(settings.plus))
        return find_distribution(self._sampler, known, float(settings.epsilon), representatives)

    def receipt(self, tally: Tally, eps: float | None = None, plus: bool | None = None) -> Receipt:
        """Return the receipt of a tally at that eps and plus."""
        settings = self.settings.settle_rows(eps, plus, 1)
        return tally.receipt(self.policy, self.guarantee({float(settings.epsilon)}, {bool(settings.plus)}))

    def guarantee(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee:
        """Return what was verified for words drawn at these eps; see `Guarantees.find`."""
        return self._vocabulary.guarantees.find(budgets, plus, listed)

    def _draw_for(self, records: TextColumn | None, rows: slice, texts: TextColumn) -> Randomness:
        """Return the source of draws for some rows. records: of all rows."""
        if self.key is None or records is None:
            return self._randomness
        return KeyedRandomness(self.key.key, records[rows], texts)
