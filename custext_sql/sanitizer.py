"""A batch of texts in, a batch of texts out, and a receipt."""

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
from custext_sql.store.ledger.table import Terms, describe_policy
from custext_sql.store.rows.mappings import find_mapping, read_mapping
from custext_sql.store.rows.stopwords import read_stopwords
from custext_sql.text.columns import TextColumn, open_column, slice_texts, split_column
from custext_sql.text.word_boundaries import RULES


class Sanitizer:
    """Replaces words by words of their group. Holds arrays only, no connection; threads may share it.

    eps is the privacy budget of a word, 0.001 to 100; plus keeps stopwords (CusText+). Without a key they are 1.0 and
    False where not given, and every draw is made anew from the operating system's secure source. With a key they are
    those that the key was made for, and a draw depends on the key, the record and the word alone.
    """

    def __init__(
        self, mapping: Mapping, stopwords: frozenset[str], settings: Settings | None = None, *, seed: int | None = None
    ) -> None:
        self.mapping = mapping
        self.settings = settings or Settings()
        if self.key is not None and seed is not None:
            raise SettingError("draws come from a key or from a seed, not from both")
        self._stopwords = stopwords
        self._sampler = Sampler(mapping, self.settings.calibration)
        self._vocabulary = Vocabulary(mapping, stopwords)
        self._guarantees = Guarantees(mapping, self._vocabulary, self._sampler)
        self._randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
        self.database: Path | None = None  # whose ledger releases are entered in
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
        """Return a sanitizer for a stored mapping (default: the database's default one).

        eps and plus: for calls that do not say. policy: "strict" unless given; calibration: "paper". language: of the
        stopwords that `plus` keeps. What is not given comes from the key file, if there is one. A seed makes draws
        repeatable, for tests and demos only.
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
        """Return this one without its key, and without what only keys of an older format still do."""
        return self._with(self.settings.without_key())

    def with_key(self, key: KeyFile) -> "Sanitizer":
        """Return this one with draws from a key that was made for its settings; the arrays are shared."""
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
        return self.settings.key

    @property
    def policy(self) -> Policy:
        return self.settings.policy

    @property
    def calibration(self) -> str:
        return self.settings.calibration

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for sanitizers that do the same, whatever their key."""
        info = self.mapping.info
        return info.name, info.fingerprint, self._stopwords, self.policy, self.calibration, self._replacer.rules

    @property
    def terms(self) -> Terms:
        """How words are drawn, for the ledger."""
        return Terms(
            mapping=self.mapping.info.name,
            fingerprint=self.mapping.info.fingerprint,
            policy=describe_policy(self.policy),
            calibration=self.calibration,
            draws=self.draws,
            key_id=None if self.key is None else self.key.key.name,
        )

    def open_entry(self, dataset: str | Dataset, **known: Any) -> LedgerEntry:
        """Return a new entry for the ledger, not yet written. known: what `LedgerEntry` takes of the release."""
        if self.database is None:
            raise SettingError("a release is entered in the database that the sanitizer is from: Sanitizer.load")
        return LedgerEntry(self.database, choose_dataset(dataset), self.terms, must_be_made=True, **known)

    @property
    def draws(self) -> str:
        """Where draws come from: fresh, keyed or seeded."""
        if self.key is not None:
            return "keyed"
        return "seeded" if isinstance(self._randomness, SeededRandomness) else "fresh"

    def sanitize(
        self, text: str, eps: float | None = None, plus: bool | None = None, *, record: str | None = None
    ) -> str:
        """Return a text, sanitized. record: the ID of the text; needed with a key, and refused without one."""
        if not isinstance(text, str):
            raise SettingError(f"the text must be a string; found {type(text).__name__}")
        [result] = self.sanitize_batch([text], eps, plus, records=None if record is None else [record])
        return str(result)

    def sanitize_batch(
        self, texts: Any, eps: Epsilon | None = None, plus: Plus | None = None, *, records: Any = None
    ) -> Any:
        """Return the texts of a list, NumPy array, pandas or polars Series or Arrow array, sanitized, as the same type.

        Missing texts stay missing. eps and plus may be given for each text. records: one for each text, with a key.
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
        """Return texts, sanitized, and the receipt of what was drawn, let through and spent.

        dataset: what the ledger calls the data. The release is then entered there before the texts are returned, and
        refused if the ledger does not allow it or cannot be written. Each text is a row. What a policy let through, and
        texts that seem to be in another language, are told in a PrivacyWarning.
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
        """Return a few texts as pieces before and after, for people to look at; missing ones have none. Not entered."""
        column = open_column(texts)[0]
        settings = self.settings.settle_rows(eps, plus, len(column))
        randomness = self._draw_for(self.settings.settle_records(records, len(column)))
        return self._replacer.replace_words(column.text, column.offsets, randomness, settings).compare()

    def distribution(self, word: str, eps: float | None = None) -> dict[str, float]:
        """Return the probability of each possible replacement of a word, most probable first."""
        epsilon = float(self.settings.settle_rows(eps, None, 1).epsilon)
        found = find_distribution(self._sampler, word, epsilon)
        return {replacement.output: replacement.probability for replacement in found.group}

    def receipt(self, tally: Tally, eps: float | None = None, plus: bool | None = None) -> Receipt:
        """Return the receipt of what was tallied at that eps, with stopwords kept or not."""
        settings = self.settings.settle_rows(eps, plus, 1)
        return tally.receipt(self.policy, self.guarantee({float(settings.epsilon)}, {bool(settings.plus)}))

    def guarantee(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee:
        """Return what is verified of the words that are drawn at these eps; see `Guarantees.find`."""
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
        """Return a column, sanitized, as a part of a run that `tally` counts."""
        settings = self.settings.settle_rows(eps, plus, len(column))
        known_by = self.settings.settle_records(records, len(column))
        texts, offsets = [np.zeros(0, dtype=np.uint8)], [np.zeros(1, dtype=np.int64)]
        size = 0
        for rows, block in split_column(column):
            randomness = self._draw_for(known_by[rows])
            replaced = self._replacer.replace_words(block.text, block.offsets, randomness, settings.at(rows))
            if tally is not None:
                tally.add(replaced.count(), missing=block.missing)
                if self.key is not None:
                    tally.add_sum(self.key.key.sum_rows(known_by[rows], block.text, block.offsets, block.missing))
            texts.append(replaced.text)
            offsets.append(replaced.offsets[1:] + size)
            size += len(replaced.text)
        return TextColumn(np.concatenate(texts), np.concatenate(offsets), column.missing)

    def sanitize_tokens(
        self,
        batch: TokenBatch,
        eps: Epsilon | None = None,
        plus: bool | None = None,
        *,
        sensitive: Flags | None = None,
        records: Any = None,
    ) -> SanitizedTokens:
        """Sanitize documents that are already tokenized, each token on its own.

        eps may be given for each token. sensitive: which tokens are replaced, the others staying as they are. records:
        one for each document, with a key; words that are words of the text as a whole then come out as they do there.
        """
        settings = self.settings.settle_rows(eps, plus, len(batch.offsets) - 1)
        known_by = self.settings.settle_records(records, len(batch.documents) - 1)
        find = find_words_in_tokens if self.key is None else find_words_as_texts
        done = []
        for documents in slice_texts(batch.document_offsets):
            block = batch[documents]
            tokens = slice(int(batch.documents[documents.start]), int(batch.documents[documents.stop]))
            epsilon = settings.at(tokens).epsilon
            text, offsets = self._replacer.open_text(block.text, block.offsets, block.document_offsets)
            block = TokenBatch(text.content, offsets, block.documents)
            words = find(block, text, self._replacer.vocabulary, plus=bool(settings.plus), rules=self._replacer.rules)
            randomness = self._draw_for(known_by[documents])
            chosen = None if sensitive is None else sensitive[tokens]
            replaced = self._replacer.replace_found(text, block.document_offsets, words, randomness, epsilon, chosen)
            done.append(SanitizedTokens.of(replaced))
        return SanitizedTokens.join(done)

    def spend(self, column: TextColumn, eps: Epsilon | None = None, plus: Plus | None = None) -> Floats:
        """Return what each text would spend: its number of sampled words times eps."""
        settings = self.settings.settle_rows(eps, plus, len(column))
        counts = [np.zeros(0, dtype=np.int64)]
        for rows, block in split_column(column):
            counts.append(self._replacer.count_sampled(block.text, block.offsets, plus=settings.at(rows).plus))
        spent: Floats = np.concatenate(counts).astype(np.float64) * settings.epsilon
        return spent

    def _draw_for(self, records: Sequence[str]) -> Randomness:
        """Return where the draws of some texts come from."""
        return self._randomness if self.key is None else KeyedRandomness(self.key.key, records)
