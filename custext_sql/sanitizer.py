"""A batch of texts in, a batch of texts out, and a receipt."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from custext_sql.certified_table import CertifiedTable, certify
from custext_sql.database import Database, reading
from custext_sql.errors import SettingError
from custext_sql.mapping import Mapping
from custext_sql.mapping_store import find_mapping, read_mapping
from custext_sql.mechanism import check_calibration, check_epsilon
from custext_sql.policy import Policy, choose_policy
from custext_sql.randomness import Randomness, SecureRandomness, SeededRandomness
from custext_sql.receipt import Receipt, Tally
from custext_sql.replacement import replace_words
from custext_sql.stopwords import SHIPPED_LANGUAGE, read_stopwords
from custext_sql.tokenizer import join_texts
from custext_sql.vocabulary import Vocabulary

_BLOCK = 1 << 18  # bytes handled at a time, so that what is in work stays in the cache
_TABLES = 16  # compiled tables kept; the least recently used goes


class Sanitizer:
    """Replaces words by words of their group. Holds arrays only, no connection; threads may share it."""

    def __init__(
        self,
        mapping: Mapping,
        stopwords: frozenset[str],
        *,
        policy: str | Policy = "paper",
        calibration: str = "paper",
        seed: int | None = None,
    ) -> None:
        self.mapping = mapping
        self.policy = choose_policy(policy)
        self.calibration = check_calibration(calibration)
        self._vocabulary = Vocabulary(mapping, stopwords)
        self._randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
        self._tables: OrderedDict[float, CertifiedTable] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls,
        database: Database = None,
        *,
        mapping: str | None = None,
        policy: str | Policy = "paper",
        calibration: str = "paper",
        language: str = SHIPPED_LANGUAGE,
        seed: int | None = None,
    ) -> "Sanitizer":
        """A sanitizer for a stored mapping (default: the database's default one).

        language: of the stopwords that `plus` keeps. Draws come from the operating system's secure source; a seed makes
        them repeatable, for tests and demonstrations only.
        """
        with reading(database) as connection:
            loaded = read_mapping(connection, find_mapping(connection, mapping))
            stopwords = read_stopwords(connection, language)
        return cls(loaded, stopwords, policy=policy, calibration=calibration, seed=seed)

    def sanitize(self, text: str, eps: float = 1.0, plus: bool = False) -> str:
        """One text, sanitized. plus: keep stopwords (CusText+)."""
        [result] = self.release([text], eps, plus)[0]
        assert result is not None
        return result

    def sanitize_batch(self, texts: Sequence[str | None], eps: float = 1.0, plus: bool = False) -> list[str | None]:
        """Texts, sanitized; None stays None."""
        return self.release(texts, eps, plus)[0]

    def release(
        self, texts: Sequence[str | None], eps: float = 1.0, plus: bool = False
    ) -> tuple[list[str | None], Receipt]:
        """Texts, sanitized, and the receipt of what was drawn, let through and spent."""
        tally = Tally()
        return self.sanitize_into(tally, texts, eps, plus), self.receipt(tally, eps)

    def sanitize_into(
        self, tally: Tally, texts: Sequence[str | None], eps: float = 1.0, plus: bool = False
    ) -> list[str | None]:
        """Texts, sanitized, as a part of a run that `tally` counts."""
        results: list[str | None] = []
        for block in _blocks(texts):
            results += self._sanitize_block(block, eps, plus, tally)
        return results

    def receipt(self, tally: Tally, eps: float) -> Receipt:
        """The receipt of what was tallied at that eps."""
        table = self._table(eps)
        return tally.receipt(
            policy=self.policy,
            eps=table.epsilon,
            mapping=self.mapping.info.name,
            fingerprint=self.mapping.info.fingerprint,
            worst_log_ratio=float(table.log_ratios.max()),
        )

    def _sanitize_block(self, texts: Sequence[str | None], eps: float, plus: bool, tally: Tally) -> list[str | None]:
        present = [text for text in texts if text is not None]
        _check_texts(present)
        replaced = replace_words(
            *join_texts(present), self._vocabulary, self._table(eps), self.policy, self._randomness, plus=plus
        )
        tally.add(replaced)
        content = replaced.text.tobytes()
        bounds = replaced.offsets.tolist()
        new = iter([content[start:end].decode() for start, end in pairwise(bounds)])
        return [None if text is None else next(new) for text in texts]

    def _table(self, eps: float) -> CertifiedTable:
        """The verified table for that eps, from the cache if it was used lately."""
        epsilon = check_epsilon(eps)
        with self._lock:
            if epsilon not in self._tables:
                self._tables[epsilon] = certify(self.mapping.sizes, self.mapping.scores, epsilon, self.calibration)
                if len(self._tables) > _TABLES:
                    self._tables.popitem(last=False)
            self._tables.move_to_end(epsilon)
            return self._tables[epsilon]

    def __getstate__(self) -> dict[str, Any]:
        """Without tables: what another process samples from, it verifies itself."""
        return {**self.__dict__, "_tables": OrderedDict(), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _blocks(texts: Sequence[str | None]) -> Iterator[Sequence[str | None]]:
    """Consecutive texts of about _BLOCK characters together."""
    lengths = np.cumsum([len(text) if isinstance(text, str) else 0 for text in texts])
    start = 0
    while start < len(texts):
        before = int(lengths[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(lengths, before + _BLOCK, side="right")))
        yield texts[start:end]
        start = end


def _check_texts(texts: Sequence[object]) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise SettingError(f"texts must be strings or None; found {type(text).__name__}")
