"""Priors: how frequent an attacker assumes words to be, uniformly, from a file, or as counted in texts."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from custext_sql.arrays import Flags, Floats
from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.mechanisms import CUSTEXT, MappingUnderTest
from custext_sql.experiments.public_texts import check_column_use, stream_public
from custext_sql.mapping.mapping import Mapping
from custext_sql.release.inputs.texts import Texts, name_texts, stream_texts
from custext_sql.replacing.kinds import Kind
from custext_sql.text.columns import TextColumn
from custext_sql.text.word_boundaries import fold_word
from custext_sql.vectors.streams import read_all_lines

_UNIFORM = "uniform"


@dataclass(frozen=True, eq=False)
class Prior:
    """How frequent an attacker assumes the words of a mapping to be.

    name: "uniform", the name of a file, or "texts".
    chances: the probability of each word, in the order of the mapping's words; the sum is 1.
    words: the number of words that were counted; of the uniform prior, the size of the vocabulary.
    drawn: the share of the counted words, 0 to 1, that are replaced by a draw. The prior covers only these.
    """

    name: str
    chances: Floats
    words: int
    drawn: float = 1.0

    def without(self, kept: Flags) -> "Prior":
        """Return the prior of the remaining words, if some words are kept. kept: flags in the order of the words."""
        rest = np.where(kept, 0.0, self.chances)
        return replace(self, chances=_normalize(rest, self.name), drawn=self.drawn * float(rest.sum()))

    def of_drawn(self, under_test: MappingUnderTest, *, plus: bool) -> "Prior":
        """Return the prior of the words that are replaced by a draw, with the policy of a mapping under test."""
        undrawn = under_test.find_undrawn(plus=plus)
        return self.without(undrawn) if undrawn.any() else self


def find_prior(
    under_test: MappingUnderTest,
    frequencies: str | os.PathLike[str] | None,
    texts: Texts | None,
    column: str | None,
    *,
    public: bool = False,
) -> Prior | None:
    """Return the prior from a file of frequencies, or as counted in texts; None if neither is given.

    column: the column of the texts. public: whether the texts are public. SettingError if both are given, or a column
    without texts.
    """
    check_column_use(texts, column, public=public)
    if frequencies is not None and texts is not None:
        raise SettingError("use either --prior or --public (in Python: prior or public), not both")
    if frequencies is not None:
        return read_frequencies(frequencies, under_test.mapping).of_drawn(under_test, plus=False)
    if texts is not None:
        return count_words((stream_public if public else stream_texts)(texts, column), under_test, name_texts(texts))
    return None


def uniform_prior(size: int) -> Prior:
    """Return the prior under which all words are equally frequent. size: the number of words."""
    return Prior(_UNIFORM, np.full(size, 1.0 / size), size)


def count_words(texts: Iterable[TextColumn], under_test: MappingUnderTest, name: str) -> Prior:
    """Return how frequent the words of a mapping are in some texts, read as its policy says."""
    replacer, vocabulary = under_test.open(CUSTEXT).replacer, under_test.vocabulary
    assert replacer is not None
    counts, words = np.zeros(vocabulary.size), 0
    for column in texts:
        found = replacer.find_words(*replacer.open_text(column.text, column.offsets), plus=False)
        counts += np.bincount(found.numbers[found.at(Kind.SAMPLED)], minlength=vocabulary.size)
        words += len(found.numbers)
    return _make_prior(name, counts, words)


def read_frequencies(path: str | os.PathLike[str], mapping: Mapping) -> Prior:
    """Return the prior in a file that has a word and a number per line, separated by a tab, a comma or spaces."""
    name = Path(path).name
    counts, words = np.zeros(len(mapping.words)), 0.0
    for number, line in enumerate(read_all_lines(Path(path))[1], start=1):
        if line.strip():
            word, count = _parse(line.strip(), name, number)
            index = mapping.index.get(fold_word(word))
            words += count
            if index is not None:
                counts[index] += count
    return _make_prior(name, counts, words)


def _make_prior(name: str, counts: Floats, words: float) -> Prior:
    known = f"{name} (a file)" if name == _UNIFORM else name
    return Prior(known, _normalize(counts, name), round(words), float(counts.sum() / max(words, 1e-300)))


def _parse(line: str, name: str, number: int) -> tuple[str, float]:
    separator = "\t" if "\t" in line else "," if "," in line else None
    word, *rest = line.rsplit(separator, 1)
    try:
        count = float(*rest)
    except (TypeError, ValueError):
        count = -1.0
    if not 0.0 <= count < float("inf") or len(word.split()) != 1 or not rest:
        raise SourceError(f"{name}, line {number}: expected a word and a number, such as: the,1000")
    return word.strip(), count


def _normalize(counts: Floats, name: str) -> Floats:
    total = counts.sum()
    if not total > 0.0:
        raise SettingError(f"{name}: found no words that the mapping would replace")
    chances: Floats = counts / total
    return chances
