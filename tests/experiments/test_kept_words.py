"""Where groups mix kept and replaced words, a drawn word can pass for a kept one, so eps = 0 may reveal more than 1."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import build_mapping
from custext_sql.experiments import attack_context, choose
from custext_sql.experiments.choosing import mixes_kept
from custext_sql.experiments.mechanisms import MappingUnderTest

MIXED, APART = "starter-euclidean-k20", "apart"


@pytest.fixture
def texts(few_db: Path) -> tuple[list[str], list[str]]:
    """Return private and public texts on words of groups in which at least 8 of 20 words are stopwords.

    Private texts have a word of each group that is replaced, public ones also have its stopwords. The mapping "apart"
    has stopwords in groups of their own.
    """
    build_mapping(few_db, embedding="starter", k=20, separate_stopwords=True, name=APART)
    mixed, apart = (MappingUnderTest(few_db, mapping=name) for name in (MIXED, APART))
    assert mixes_kept(mixed, plus=True)
    assert not mixes_kept(mixed, plus=False) and not mixes_kept(apart, plus=True)
    sizes, kept, words = mixed.mapping.sizes, mixed.find_undrawn(plus=True), mixed.mapping.words
    drawn, stopwords = [], []
    for start, size in zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True):
        flags = kept[start : start + size]
        if 8 <= flags.sum() < size:
            drawn.append(words[start + int(np.argmin(flags))])
            stopwords.append([words[start + place] for place in flags.nonzero()[0].tolist()])
    assert len(drawn) >= 3
    public = [" ".join(some[number % len(some)] for some in stopwords) for number in range(40)]
    return [" ".join(drawn)] * 40, [*public, " ".join([*drawn, "film"])]


def test_a_drawn_stopword_hides_among_kept_ones(few_db: Path, texts: tuple[list[str], list[str]]) -> None:
    private, public = texts
    at_0, at_1 = attack(few_db, private, public, MIXED)
    assert at_0 == 1.0 and at_1 < 0.8  # at least 8 of 20 words of a group look like kept ones
    assert attack(few_db, private, public, APART) == (1.0, 1.0)
    choice = choose(
        few_db, data=private, public=public, attack="context", mappings=MIXED, plus=True, max_attack=0.9, max_eps=1.0
    )
    [candidate] = choice.candidates
    assert candidate.success_at_0 == 1.0 and candidate.least < 0.8
    assert choice.chosen is candidate and candidate.eps == 1.0 and (candidate.success or 1.0) < 0.8


def attack(database: Path, private: list[str], public: list[str], mapping: str) -> tuple[float, float]:
    found = attack_context(database, data=private, public=public, eps=(0.0, 1.0), plus=True, mapping=mapping)
    first, second = found.results
    assert first.success_at_0 == second.success_at_0 == first.success
    return first.success, second.success
