"""The Sanitizer: texts of any type in, sanitized texts and a receipt out. Every interface draws through it."""

import os
import warnings
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from custext_sql.errors import PrivacyWarning, SettingError
from custext_sql.ledger.dataset import Dataset, choose_dataset
from custext_sql.ledger.entries import Terms
from custext_sql.ledger.places import LedgerFile, LedgerPlace
from custext_sql.ledger.release import Release
from custext_sql.mechanism.randomness import Randomness, SecureRandomness
from custext_sql.parameters import check_type
from custext_sql.replacing.policy import Policy, choose_policy
from custext_sql.replacing.receipt import Receipt
from custext_sql.replacing.row_settings import Epsilon, Plus
from custext_sql.replacing.tally import Recorder
from custext_sql.sanitizing.column_sanitizer import ColumnSanitizer
from custext_sql.sanitizing.sanitizer_files import read_sanitizer_file, write_sanitizer_file
from custext_sql.sanitizing.settings import Settings
from custext_sql.store.database import Database, locate, reading
from custext_sql.store.key_files import KeyFile
from custext_sql.store.mappings import find_mapping, read_mapping
from custext_sql.store.stopwords import read_stopwords
from custext_sql.text.columns import TextColumn, open_column

_ARROW = (pa.Array, pa.ChunkedArray)


class Sanitizer(ColumnSanitizer):
    """Replaces words by words of their group. Use `Sanitizer.load` for a stored mapping.

    It holds arrays but no connection, so threads may share it. eps, the budget per word, is 0 (generalize) or 0.001 to
    100; plus keeps stopwords (CusText+). Without a key, they default to 1.0 and False, and draws are fresh, from the
    operating system's secure source. With a key, they are those of the key, and a draw depends only on the key, the
    record and the word. Wrong arguments are a SettingError, or a KeyFileError with a key.

    database, ledger: where it was loaded from, and where its releases are entered.
    """

    database: Path | None = None
    ledger: LedgerFile | None = None

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

    @property
    def terms(self) -> Terms:
        """The settings that the ledger stores with a release."""
        key = None if self.key is None else self.key.key
        return Terms.of(self.mapping.info, self.policy, self.calibration, self.draws, key)

    def open_release(
        self, dataset: Dataset | None, *, eps: float | None = None, plus: bool | None = None, **known: Any
    ) -> "Release[Sanitizer]":
        """Return a release of what this sanitizer draws at that eps and plus. known: further arguments of `Release`."""
        settings = self.settings.settle_rows(eps, plus, 1)
        return Release(self, dataset, budgets={float(settings.epsilon)}, plus={bool(settings.plus)}, **known)

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
        texts: pa.Array | pa.ChunkedArray,
        eps: Epsilon | pa.Array | pa.ChunkedArray | None = None,
        plus: Plus | pa.Array | pa.ChunkedArray | None = None,
        *,
        records: pa.Array | pa.ChunkedArray | None = None,
        tally: Recorder | None = None,
    ) -> pa.Array | pa.ChunkedArray:
        """Return a sanitized Arrow array with the same type and chunks; a dictionary becomes plain strings.

        Missing texts stay missing. eps: one number, or a column of any numeric type. plus: one boolean, or a column.
        records: with a key, a column of IDs, as strings. tally: counts what happened.
        """
        check_type(texts, _ARROW, "texts must be an Arrow array")
        if records is not None:
            check_type(records, _ARROW, "records must be an Arrow array")
            if records.null_count:
                raise SettingError("record must not be NULL: it identifies the text")
        column, rebuild = open_column(texts)
        return rebuild(self.sanitize_column(column, eps, plus, records=records, tally=tally))

    def spend_arrow(
        self,
        texts: pa.Array | pa.ChunkedArray,
        eps: Epsilon | pa.Array | pa.ChunkedArray | None = None,
        plus: Plus | pa.Array | pa.ChunkedArray | None = None,
    ) -> pa.Array:
        """Return the eps that sanitizing would spend on each text of an Arrow array; missing for a missing text."""
        check_type(texts, _ARROW, "texts must be an Arrow array")
        column = TextColumn.from_arrow(texts)
        return pa.array(self.spend(column, eps, plus), mask=column.missing)

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
