"""The Sanitizer: texts of any type in, sanitized texts and a receipt out. Every interface draws through it."""

import os
import warnings
from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from custext_sql.arrays import Floats
from custext_sql.errors import KeyFileError, PrivacyWarning, SettingError
from custext_sql.ledger.dataset import Dataset, choose_dataset
from custext_sql.ledger.entries import Terms
from custext_sql.ledger.places import LedgerFile, LedgerPlace
from custext_sql.ledger.release import Release
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.randomness import KeyedRandomness, Randomness, SecureRandomness, SeededRandomness
from custext_sql.mechanism.sampler import Distribution, Sampler, find_distribution
from custext_sql.parameters import check_type
from custext_sql.sanitizer.policy import Policy, choose_policy
from custext_sql.sanitizer.receipt import Guarantee, Guarantees, Receipt
from custext_sql.sanitizer.replacer import Arrow, Epsilon, Plus, Replaced, Replacer, RowSettings, check_count
from custext_sql.sanitizer.sanitizer_files import read_sanitizer_file, write_sanitizer_file
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.tally import Recorder, Tally
from custext_sql.sanitizer.token_batch import SanitizedTokens, TokenBatch, replace_tokens
from custext_sql.sanitizer.traced_text import Piece, TracedText, list_pieces, trace
from custext_sql.sanitizer.words import FoundWords, Vocabulary
from custext_sql.store.database import Database, locate, reading
from custext_sql.store.key_files import KeyFile
from custext_sql.store.mappings import find_mapping, read_mapping
from custext_sql.store.stopwords import read_stopwords
from custext_sql.text.columns import TextColumn, join_blocks, open_column, split_column
from custext_sql.text.encoded_text import EncodedText

_REMEMBERED = 4  # lists of words to keep, whose vocabularies are kept ready


class Sanitizer:
    """Replaces words by words of their group. Use `Sanitizer.load` for a stored mapping.

    It holds arrays but no connection, so threads may share it. eps, the budget per word, is 0 (generalize) or 0.001 to
    100; plus keeps stopwords (CusText+). Without a key, they default to 1.0 and False, and draws are fresh, from the
    operating system's secure source. With a key, they are those of the key, and a draw depends only on the key, the
    record and the word. Wrong arguments are a SettingError, or a KeyFileError with a key.

    database, ledger: where it was loaded from, and where its releases are entered.
    """

    database: Path | None = None
    ledger: LedgerFile | None = None

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
        self._guarantees: dict[frozenset[str], Guarantees] = {}  # by the words to keep; copies share it
        self._randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
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
        ledger: LedgerPlace = None,
    ) -> "Sanitizer":
        """Return a sanitizer for a stored mapping, by default the database's default one.

        database: a path; by default the file that CUSTEXT_DB names, else the user's default database. For the other
        settings see `Settings`: what is not given comes from the key file, if there is one, else from the defaults.
        policy: "strict", "paper" or a Policy. seed: for repeatable draws in tests and demos; they protect nothing.
        ledger: a path, or the URL of a PostgreSQL database; by default what CUSTEXT_LEDGER names, else the file beside
        the database. MappingError if the mapping does not exist or was changed; DatabaseError if the database cannot be
        read.
        """
        settings = Settings.settle(
            mapping=mapping, eps=eps, plus=plus, policy=policy, calibration=calibration, language=language, key=key_file
        )
        with reading(database) as connection:
            loaded = read_mapping(connection, find_mapping(connection, settings.mapping))
            stopwords = read_stopwords(connection, settings.language)
        sanitizer = cls(loaded, stopwords, settings, seed=seed)
        sanitizer.database = locate(database).absolute()
        sanitizer.ledger = LedgerFile.locate(ledger, database)
        return sanitizer

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Write this sanitizer to one file, for machines without the database, and return the file's SHA-256.

        The file contains the mapping, the stopwords and the settings, but no key and no seed. force: replace an
        existing file. OutputError if it cannot be written.
        """
        return write_sanitizer_file(path, self.mapping, self.stopwords, self.settings, force=force)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, sha256: str | None = None) -> "Sanitizer":
        """Return the sanitizer in a file that `save` wrote. Its draws are fresh; it has no ledger.

        sha256: what `save` returned, so that any other file is refused. MappingError if the file was changed or cannot
        be read.
        """
        return cls(*read_sanitizer_file(path, sha256))

    def with_fresh_draws(self) -> "Sanitizer":
        """Return this sanitizer without its key."""
        return self._with(self.settings.without_key(), SecureRandomness())

    def with_key(self, key: KeyFile) -> "Sanitizer":
        """Return this sanitizer with a key that was made for its mapping and settings; the two share their arrays."""
        check_type(key, KeyFile, "key must be a KeyFile", "to use a key file: with_key(read_key_file(PATH))")
        return self._with(self.settings.with_key(key), SecureRandomness())

    def with_policy(self, policy: str | Policy) -> "Sanitizer":
        """Return this sanitizer with another policy; the two share their arrays. policy: as in `load`.

        KeyFileError if this sanitizer has a key that was made for another policy.
        """
        chosen = choose_policy(policy) if self.key is None else self.key.choose_policy(policy)
        return self._with(replace(self.settings, policy=chosen), self._randomness)

    def _with(self, settings: Settings, randomness: Randomness) -> "Sanitizer":
        settings.check_key(self.mapping, self.stopwords)
        other = copy(self)
        other.settings, other._randomness = settings, randomness
        other.__dict__.pop("replacer", None)
        return other

    def __repr__(self) -> str:
        return f"<Sanitizer: mapping {self.mapping.info.name}, eps {self.settings.eps:g}, {self.draws} draws>"

    @cached_property
    def replacer(self) -> Replacer:
        """Finds the words of texts and replaces them, with what the key and the policy say."""
        return Replacer(self._verified.vocabulary, self._sampler, self.policy)

    @property
    def key(self) -> KeyFile | None:
        """The key that draws come from, if any."""
        return self.settings.key

    @property
    def policy(self) -> Policy:
        """What happens to words that are not drawn."""
        return self.settings.policy

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
        return info.name, info.fingerprint, self.stopwords, self.policy, self.settings.calibration

    @property
    def _verified(self) -> Guarantees:
        """The vocabulary with the words that the policy keeps, and what was verified for it."""
        keep_words = frozenset(self.policy.keep_words)
        found = self._guarantees.get(keep_words)
        if found is None:
            vocabulary = Vocabulary(self.mapping, self.stopwords, keep_words)
            if len(self._guarantees) >= _REMEMBERED:
                self._guarantees.clear()
            found = self._guarantees[keep_words] = Guarantees(self.mapping, vocabulary, self._sampler)
        return found

    @property
    def terms(self) -> Terms:
        """The settings that the ledger stores with a release."""
        info, key_id = self.mapping.info, None if self.key is None else self.key.key.name
        settings = self.policy.describe(), self.settings.calibration, self.draws
        return Terms(info.name, info.fingerprint, *settings, key_id)

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

    def sanitize_arrow(
        self,
        texts: Arrow,
        eps: Epsilon | Arrow | None = None,
        plus: Plus | Arrow | None = None,
        *,
        records: Arrow | None = None,
        tally: Recorder | None = None,
    ) -> Arrow:
        """Return a sanitized Arrow array with the same type and chunks; a dictionary becomes plain strings.

        Missing texts stay missing. eps: one number, or a column of any numeric type. plus: one boolean, or a column.
        records: with a key, a column of IDs, as strings. tally: counts what happened.
        """
        check_type(texts, Arrow, "texts must be an Arrow array")
        if records is not None:
            check_type(records, Arrow, "records must be an Arrow array")
            if records.null_count:
                raise SettingError("record must not be NULL: it identifies the text")
        column, rebuild = open_column(texts)
        return rebuild(self.sanitize_column(column, eps, plus, records=records, tally=tally))

    def spend_arrow(
        self, texts: Arrow, eps: Epsilon | Arrow | None = None, plus: Plus | Arrow | None = None
    ) -> pa.Array:
        """Return the eps that sanitizing would spend on each text of an Arrow array; missing for a missing text."""
        check_type(texts, Arrow, "texts must be an Arrow array")
        column = TextColumn.from_arrow(texts)
        settings = self.settle_rows(eps, plus, len(column))
        counts = [np.zeros(0, dtype=np.int64)]
        for rows, block in split_column(column):
            counts.append(self.replacer.count_replaced(block.text, block.offsets, plus=settings.at(rows).plus))
        return pa.array(np.concatenate(counts) * np.float64(settings.epsilon), mask=column.missing)

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
        text counts as a row. PrivacyWarning if unknown words stayed in the clear, texts came out unchanged, or texts
        seem to be in another language. BudgetError or KeyFileError if the ledger does not allow the release;
        DatabaseError if it cannot be written.
        """
        column, rebuild = open_column(texts)
        known = None if dataset is None else choose_dataset(dataset)
        release = self.open_release(known, eps=eps, plus=plus)
        release.check()
        result = self.sanitize_column(column, eps, plus, records=records, tally=release.tally)
        receipt = release.publish()
        for warning in receipt.warnings:
            warnings.warn(warning, PrivacyWarning, stacklevel=2)
        return rebuild(result), receipt

    def sanitize_column(
        self,
        column: TextColumn,
        eps: Epsilon | None = None,
        plus: Plus | None = None,
        *,
        records: Any = None,
        named: bool = False,
        tally: Recorder | None = None,
    ) -> TextColumn:
        """Return a sanitized column. named: whether each record is COLUMN:ID. tally: counts what happened."""
        settings = self.settle_rows(eps, plus, len(column))
        known_by = self._settle_records(records, len(column))
        done = []
        for rows, block in split_column(column):
            randomness = self._draw_for(known_by, rows, block)
            replaced = self.replacer.replace_words(block.text, block.offsets, randomness, settings.at(rows))
            if tally is not None:
                counts = replaced.count()
                if isinstance(randomness, KeyedRandomness):
                    counts = counts.with_digests(*randomness.digest(named=named))
                tally.add(counts, missing=block.missing)
            done.append((replaced.text, replaced.offsets))
        return join_blocks(done, column.missing)

    def sanitize_tokens(
        self, batch: TokenBatch, eps: Floats, *, listed: frozenset[str] | None = None, records: Any = None
    ) -> SanitizedTokens:
        """Return documents that were already tokenized, sanitized as `sanitize_column` sanitizes their texts.

        eps: of each token, NaN if it stays unchanged; see `replace_tokens`. listed: the only words that make a token
        sensitive, if there is a list; see `guarantee`. records: with a key, one ID per document.
        """
        stays = np.isnan(eps)
        settings = self.settle_rows(eps[~stays], None, len(eps) - int(stays.sum()))
        known_by = self._settle_records(records, len(batch.documents) - 1)
        return replace_tokens(
            self.replacer,
            batch,
            eps if stays.any() else settings.epsilon,
            lambda documents, texts: self._draw_for(known_by, documents, texts),
            plus=bool(settings.plus),
            listed=listed,
        )

    def settle_rows(self, eps: Epsilon | None, plus: Plus | None, rows: int) -> RowSettings:
        """Return eps and plus of a number of rows: as given, for all or per row, else from the settings.

        SettingError if they are invalid; KeyFileError if they differ from what the key was made for.
        """
        usual = self.settings
        given = RowSettings.of(usual.eps if eps is None else eps, usual.plus if plus is None else plus, rows)
        if self.key is not None:
            for epsilon in np.unique(given.epsilon).tolist():
                self.key.check_setting("eps", epsilon)
            for keep in np.unique(given.plus).tolist():
                self.key.check_setting("plus", keep)
        return given

    def _settle_records(self, records: Any, rows: int) -> TextColumn | None:
        """Return the records of a number of texts; None without a key.

        SettingError if records are given without a key, or are not one string per text; KeyFileError if there is a key
        but no records.
        """
        if self.key is None:
            if records is not None:
                raise SettingError("records are only for keyed draws; load the sanitizer with key_file")
            return None
        if records is None:
            raise KeyFileError(f"{self.key.path}: keyed draws need a record for each text")
        try:
            known_by = open_column(records)[0]
        except SettingError as error:
            raise SettingError(f"records{str(error).removeprefix('texts')}") from None
        check_count("records", len(known_by), rows)
        if known_by.missing is not None:
            raise SettingError(
                f"a record must be a string; the record at index {int(np.argmax(known_by.missing))} is missing"
            )
        return known_by

    def compare(
        self, texts: Any, eps: float | None = None, plus: bool | None = None, *, records: Any = None
    ) -> list[list[Piece]]:
        """Return each text as pieces before and after; no pieces for a missing text. The ledger is not used."""
        return list_pieces(self._replace(texts, eps, plus, records))

    def trace(
        self, text: str, eps: float | None = None, plus: bool | None = None, *, record: str | None = None
    ) -> TracedText:
        """Return a text before and after, with the place and the kind of each word. The ledger is not used."""
        check_type(text, str, "the text must be a string")
        return trace(self._replace([text], eps, plus, None if record is None else [record]))

    def _replace(self, texts: Any, eps: float | None, plus: bool | None, records: Any) -> Replaced:
        """Return some texts as one block, replaced."""
        column = open_column(texts)[0]
        settings, known_by = self.settle_rows(eps, plus, len(column)), self._settle_records(records, len(column))
        randomness = self._draw_for(known_by, slice(0, len(column)), column)
        return self.replacer.replace_words(column.text, column.offsets, randomness, settings)

    def find_words(self, column: TextColumn, plus: bool | None = None) -> Iterator[tuple[EncodedText, FoundWords]]:
        """Yield the words of a column with their kinds, and the texts in which they are, block by block."""
        settings = self.settle_rows(None, plus, len(column))
        for rows, block in split_column(column):
            text, offsets = self.replacer.open_text(block.text, block.offsets)
            yield text, self.replacer.find_words(text, offsets, plus=settings.at(rows).plus)

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
        settings = self.settle_rows(eps, plus, 1)
        number = self.replacer.find_number(word)
        known = word if number is None else self.mapping.words[number]
        representatives = self.replacer.vocabulary.representatives(bool(settings.plus))
        return find_distribution(self._sampler, known, float(settings.epsilon), representatives)

    def receipt(self, tally: Tally, eps: float | None = None, plus: bool | None = None) -> Receipt:
        """Return the receipt of a tally at that eps and plus."""
        return tally.receipt(self.policy, self.guarantee(*self._settle_one(eps, plus)))

    def guarantee(
        self, budgets: Collection[float], plus: Collection[bool], listed: frozenset[str] | None = None
    ) -> Guarantee:
        """Return what was verified for words drawn at these eps; see `Guarantees.find`."""
        return self._verified.find(budgets, plus, listed)

    def _draw_for(self, records: TextColumn | None, rows: slice, texts: TextColumn) -> Randomness:
        """Return the source of draws for some rows. records: of all rows."""
        if self.key is None or records is None:
            return self._randomness
        return KeyedRandomness(self.key.key, records[rows], texts)

    def open_release(
        self, dataset: Dataset | None, *, eps: float | None = None, plus: bool | None = None, **known: Any
    ) -> "Release[Sanitizer]":
        """Return a release of what this sanitizer draws at that eps and plus. known: further arguments of `Release`."""
        budgets, both = self._settle_one(eps, plus)
        return Release(self, dataset, budgets=budgets, plus=both, **known)

    def _settle_one(self, eps: float | None, plus: bool | None) -> tuple[set[float], set[bool]]:
        settings = self.settle_rows(eps, plus, 1)
        return {float(settings.epsilon)}, {bool(settings.plus)}
