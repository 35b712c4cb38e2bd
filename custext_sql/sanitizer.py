"""Sanitizes texts and counts what happened. Every interface draws through this module."""

import os
import warnings
from collections.abc import Collection, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from custext_sql.arrays import Flags, Floats
from custext_sql.errors import PrivacyWarning, SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.distribution import find_distribution
from custext_sql.mechanism.keyed_randomness import KeyedRandomness
from custext_sql.mechanism.randomness import Randomness, SecureRandomness, SeededRandomness
from custext_sql.mechanism.sampler import Sampler
from custext_sql.parameters import check_type
from custext_sql.replacing.guarantee import Guarantee, Guarantees
from custext_sql.replacing.policy import Policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.replacer import Piece, Replacer
from custext_sql.replacing.row_settings import Epsilon, Plus
from custext_sql.replacing.tally import Recorder, Tally
from custext_sql.replacing.token_batch import SanitizedTokens, TokenBatch, find_words_as_texts, find_words_in_tokens
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.settings import Settings
from custext_sql.store.database import Database, locate, reading
from custext_sql.store.key_files import KeyFile
from custext_sql.store.ledger.dataset import Dataset, choose_dataset
from custext_sql.store.ledger.entry import LedgerEntry
from custext_sql.store.ledger.table import Terms
from custext_sql.store.rows.mappings import find_mapping, read_mapping
from custext_sql.store.rows.stopwords import read_stopwords
from custext_sql.text.columns import TextColumn, join_blocks, open_column, slice_texts, split_column
from custext_sql.text.word_boundaries import RULES


class Sanitizer:
    """Replaces words by words of their group. Use `Sanitizer.load` for a stored mapping.

    It holds arrays but no connection, so threads may share it. eps, the budget per word, is 0 (generalize) or 0.001 to
    100; plus keeps stopwords (CusText+). Without a key, they default to 1.0 and False, and draws are fresh, from the
    operating system's secure source. With a key, they are those of the key, and a draw depends only on the key, the
    record and the word. Wrong arguments are a SettingError, or a KeyFileError with a key. database: of the ledger.
    """

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
        self.mapping, self._stopwords, self.settings = mapping, stopwords, settings or Settings()
        if self.key is not None and seed is not None:
            raise SettingError("give a key or a seed, not both")
        self._sampler = Sampler(mapping, self.settings.calibration)
        self._vocabulary = Vocabulary(mapping, stopwords)
        self._guarantees = Guarantees(mapping, self._vocabulary, self._sampler)
        self._randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
        self.database: Path | None = None
        self.settings.check_key(mapping, stopwords)

    @classmethod
    def load(
        cls,
        database: Database = None,
        *,
        mapping: str | None = None,
        eps: float | None = None,
        plus: bool | None = None,
        policy: str | Policy | None = None,
        calibration: str | None = None,
        language: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
        seed: int | None = None,
    ) -> "Sanitizer":
        """Return a sanitizer for a stored mapping, by default the database's default one.

        database: a path; by default the file that CUSTEXT_DB names, else the user's default database. For the other
        settings see `Settings`: what is not given comes from the key file, if there is one, else from the defaults.
        policy: "strict", "paper" or a Policy. seed: for repeatable draws in tests and demos; they protect nothing.
        MappingError if the mapping does not exist or was changed; DatabaseError if the database cannot be read.
        """
        settings = Settings.settle(
            mapping=mapping, eps=eps, plus=plus, policy=policy, calibration=calibration, language=language, key=key_file
        )
        with reading(database) as connection:
            loaded = read_mapping(connection, find_mapping(connection, settings.mapping))
            stopwords = read_stopwords(connection, settings.language)
        sanitizer = cls(loaded, stopwords, settings, seed=seed)
        sanitizer.database = locate(database).absolute()
        return sanitizer

    def with_fresh_draws(self) -> "Sanitizer":
        """Return this sanitizer without its key, and without the behavior of older key formats."""
        return self._with(self.settings.without_key())

    def with_key(self, key: KeyFile) -> "Sanitizer":
        """Return this sanitizer with a key that was made for its settings; the two share their arrays."""
        check_type(key, KeyFile, "key must be a KeyFile", "to use a key file: Sanitizer.load(key_file=PATH)")
        return self._with(self.settings.with_key(key))

    def _with(self, settings: Settings) -> "Sanitizer":
        other = copy(self)
        other.settings, other._randomness = settings, SecureRandomness()
        other.__dict__.pop("_replacer", None)
        settings.check_key(self.mapping, self._stopwords)
        return other

    @cached_property
    def _replacer(self) -> Replacer:
        rules = RULES if self.key is None else self.key.rules
        return Replacer(self._vocabulary, self._sampler, self.policy, rules)

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
    def identity(self) -> tuple[object, ...]:
        """A value that is equal for sanitizers that do the same, apart from their key."""
        info = self.mapping.info
        return info.name, info.fingerprint, self._stopwords, self.policy, self.calibration, self._replacer.rules

    @property
    def terms(self) -> Terms:
        """The settings that the ledger stores with a release."""
        key = None if self.key is None else self.key.key
        return Terms.of(self.mapping.info, self.policy, self.calibration, self.draws, key)

    def open_entry(self, dataset: str | Dataset, **known: Any) -> LedgerEntry:
        """Return a new ledger entry, not yet written. known: further arguments of `LedgerEntry`."""
        if self.database is None:
            raise SettingError("this sanitizer was not loaded from a database, so it has no ledger; use Sanitizer.load")
        return LedgerEntry(self.database, choose_dataset(dataset), self.terms, must_be_made=True, **known)

    def __repr__(self) -> str:
        return f"<Sanitizer: mapping {self.mapping.info.name}, eps {self.settings.eps:g}, {self.draws} draws>"

    @property
    def draws(self) -> str:
        """Where draws come from: "fresh", "keyed" or "seeded"."""
        if self.key is not None:
            return "keyed"
        return "seeded" if isinstance(self._randomness, SeededRandomness) else "fresh"

    def sanitize(
        self, text: str, eps: float | None = None, plus: bool | None = None, *, record: str | None = None
    ) -> str:
        """Return a sanitized text. record: the ID of the text, required with a key and refused without one."""
        check_type(text, str, "the text must be a string")
        [result] = self.sanitize_batch([text], eps, plus, records=None if record is None else [record])
        return str(result)

    def sanitize_batch(
        self, texts: Any, eps: Epsilon | None = None, plus: Plus | None = None, *, records: Any = None
    ) -> Any:
        """Return sanitized texts, in the same type: a list, NumPy array, pandas or polars Series, or Arrow array.

        Missing texts stay missing. eps, plus: one value, or one per text. records: with a key, one ID per text.
        """
        column, rebuild = open_column(texts)
        return rebuild(self.sanitize_column(column, eps, plus, records=records))

    def release(
        self,
        texts: Any,
        eps: float | None = None,
        plus: bool | None = None,
        *,
        records: Any = None,
        dataset: str | Dataset | None = None,
    ) -> tuple[Any, Receipt]:
        """Return sanitized texts as `sanitize_batch` does, and a receipt: what was drawn, kept and spent.

        dataset: the name of the data; the release is then entered in the ledger before the texts are returned. Each
        text counts as a row. PrivacyWarning if words stayed in the clear, or texts seem to be in another language.
        BudgetError or KeyFileError if the ledger does not allow the release; DatabaseError if it cannot be written.
        """
        column, rebuild = open_column(texts)
        settings = self.settings.settle_rows(eps, plus, 1)
        entry = None
        if dataset is not None:
            entry = self.open_entry(dataset, eps=float(settings.epsilon), plus=bool(settings.plus))
            entry.check()
        tally = Tally()
        result = self.sanitize_column(column, eps, plus, records=records, tally=tally)
        receipt = self.receipt(tally, eps, plus)
        if entry is not None:
            entry.publish(lambda: None, receipt, tally.keyed_sum)
        for warning in receipt.warnings:
            warnings.warn(warning, PrivacyWarning, stacklevel=2)
        return rebuild(result), receipt

    def compare(
        self, texts: Any, eps: float | None = None, plus: bool | None = None, *, records: Any = None
    ) -> list[list[Piece]]:
        """Return each text as pieces before and after, to look at; none for a missing text. The ledger is not used."""
        column = open_column(texts)[0]
        settings = self.settings.settle_rows(eps, plus, len(column))
        randomness = self._draw_for(self.settings.settle_records(records, len(column)))
        return self._replacer.replace_words(column.text, column.offsets, randomness, settings).compare()

    def distribution(self, word: str, eps: float | None = None) -> dict[str, float]:
        """Return the probability of each replacement of a word, highest first; MappingError for unknown words."""
        found = find_distribution(self._sampler, word, float(self.settings.settle_rows(eps, None, 1).epsilon))
        return {replacement.output: replacement.probability for replacement in found.group}

    def receipt(self, tally: Tally, eps: float | None = None, plus: bool | None = None) -> Receipt:
        """Return the receipt of a tally at that eps and plus."""
        settings = self.settings.settle_rows(eps, plus, 1)
        return tally.receipt(self.policy, self.guarantee({float(settings.epsilon)}, {bool(settings.plus)}))

    def guarantee(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee:
        """Return what was verified for words drawn at these eps; see `Guarantees.find`."""
        return self._guarantees.find(budgets, plus, listed)

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
            randomness = self._draw_for(known_by[rows])
            replaced = self._replacer.replace_words(block.text, block.offsets, randomness, settings.at(rows))
            if tally is not None:
                tally.add(replaced.count(), missing=block.missing)
                if self.key is not None:
                    tally.add_sum(self.key.key.sum_rows(known_by[rows], block.text, block.offsets, block.missing))
            done.append((replaced.text, replaced.offsets))
        return join_blocks(done, column.missing)

    def sanitize_tokens(
        self,
        batch: TokenBatch,
        eps: Epsilon | None = None,
        plus: bool | None = None,
        *,
        sensitive: Flags | None = None,
        records: Any = None,
    ) -> SanitizedTokens:
        """Return sanitized documents that were already tokenized; each token is replaced on its own.

        eps: one value, or one per token. sensitive: which tokens to replace; others stay unchanged. records: with a
        key, one ID per document; words of the whole text then get the same replacements as in that text.
        """
        settings = self.settings.settle_rows(eps, plus, len(batch.offsets) - 1)
        known_by = self.settings.settle_records(records, len(batch.documents) - 1)
        find = find_words_in_tokens if self.key is None else find_words_as_texts
        done = []
        for documents in slice_texts(batch.document_offsets):
            block = batch[documents]
            tokens = slice(int(batch.documents[documents.start]), int(batch.documents[documents.stop]))
            text, offsets = self._replacer.open_text(block.text, block.offsets, block.document_offsets)
            block = TokenBatch(text.content, offsets, block.documents)
            words = find(block, text, self._replacer.vocabulary, plus=bool(settings.plus), rules=self._replacer.rules)
            randomness, epsilon = self._draw_for(known_by[documents]), settings.at(tokens).epsilon
            chosen = None if sensitive is None else sensitive[tokens]
            replaced = self._replacer.replace_found(text, block.document_offsets, words, randomness, epsilon, chosen)
            done.append(SanitizedTokens.of(replaced))
        return SanitizedTokens.join(done)

    def spend(self, column: TextColumn, eps: Epsilon | None = None, plus: Plus | None = None) -> Floats:
        """Return the eps that each text would spend: eps times its number of words to be drawn."""
        settings = self.settings.settle_rows(eps, plus, len(column))
        counts = [np.zeros(0, dtype=np.int64)]
        for rows, block in split_column(column):
            counts.append(self._replacer.count_sampled(block.text, block.offsets, plus=settings.at(rows).plus))
        return np.asarray(np.concatenate(counts) * settings.epsilon, dtype=np.float64)

    def _draw_for(self, records: Sequence[str]) -> Randomness:
        return self._randomness if self.key is None else KeyedRandomness(self.key.key, records)
