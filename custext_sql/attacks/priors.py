"""How frequent an attacker takes words to be."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from custext_sql.encoded_text import EncodedText
from custext_sql.errors import SettingError, SourceError
from custext_sql.mapping import Mapping
from custext_sql.similarity import Floats
from custext_sql.text_columns import TextColumn
from custext_sql.tokenizer import fold_word
from custext_sql.tokens import find_tokens
from custext_sql.vector_files import open_stream
from custext_sql.vocabulary import SAMPLED, Vocabulary


@dataclass(frozen=True, eq=False)
class Prior:
    """The probability of each word of a mapping, in its order. words: how many words it was counted from."""

    name: str
    chances: Floats
    words: int

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.chances.astype("<f8").tobytes()).hexdigest()

    def without(self, kept: npt.NDArray[np.bool_]) -> "Prior":
        """The same among words that are drawn, if some are kept."""
        return replace(self, chances=_normalize(np.where(kept, 0.0, self.chances), self.name))


def uniform_prior(size: int) -> Prior:
    """All words are equally frequent."""
    return Prior("uniform", np.full(size, 1.0 / size), size)


def count_words(texts: Iterable[TextColumn], vocabulary: Vocabulary, name: str) -> Prior:
    """As frequent as in some texts."""
    counts = np.zeros(vocabulary.size, dtype=np.int64)
    for column in texts:
        tokens = find_tokens(EncodedText(column.text), column.offsets, vocabulary, plus=False)
        counts += np.bincount(tokens.words[tokens.at(SAMPLED)], minlength=vocabulary.size)
    return Prior(name, _normalize(counts.astype(np.float64), name), int(counts.sum()))


def read_frequencies(path: str | os.PathLike[str], mapping: Mapping) -> Prior:
    """As frequent as a file says: a word and a number on each line, between them a tab, a comma or spaces."""
    name = Path(path).name
    counts = np.zeros(len(mapping.words))
    for number, line in enumerate(_read_lines(Path(path)), start=1):
        if line.strip():
            word, count = _parse(line, name, number)
            index = mapping.index.get(fold_word(word))
            if index is not None:
                counts[index] += count
    return Prior(name, _normalize(counts, name), round(counts.sum()))


def _read_lines(path: Path) -> Sequence[str]:
    stream = open_stream(path)
    try:
        content = b"".join(iter(lambda: stream.read(1 << 24), b""))
    finally:
        stream.close()
    try:
        return content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise SourceError(f"{path.name}: expected words in UTF-8, found other bytes") from None


def _parse(line: str, name: str, number: int) -> tuple[str, float]:
    for separator in ("\t", ",", None):
        parts = line.strip().rsplit(separator, 1)
        if len(parts) == 2:
            try:
                count = float(parts[1])
            except ValueError:
                continue
            if 0.0 <= count < float("inf"):
                return parts[0].strip(), count
    raise SourceError(f"{name}, line {number}: expected a word and how often it occurs, such as: the,1000")


def _normalize(counts: Floats, name: str) -> Floats:
    total = counts.sum()
    if not total > 0.0:
        raise SettingError(f"{name}: no word of the mapping's vocabulary occurs there")
    chances: Floats = counts / total
    return chances
