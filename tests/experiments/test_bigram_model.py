"""The symbols of texts, and the bigram model of public texts, compared with what is counted by hand."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from custext_sql.experiments.attacks.context_model import Alphabet, BigramModel
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.kinds import Kind
from custext_sql.sanitizer.vocabulary import Vocabulary
from custext_sql.text.columns import open_column
from tests.experiments.test_context_attack import KEPT, PUBLIC, find_step, open_under_test


def make_alphabet(under_test: MappingUnderTest, plus: bool = False) -> Alphabet:
    replacer = under_test.open("custext+" if plus else "custext").replacer
    assert replacer is not None
    return Alphabet(under_test.mapping, replacer, plus=plus)


def spell(alphabet: Alphabet, texts: list[str]) -> str:
    """Return the symbols of texts: words of the mapping, and a letter for each other kind."""
    others = {
        symbol: sign
        for sign, text in {"N": "4711", "U": "zyzzyva", ".": "!", ",": ";", "(": "(", "-": "/"}.items()
        for symbol in alphabet.read(open_column([text])[0]).symbols.tolist()
    } | {alphabet.end: "|"}
    symbols = alphabet.read(open_column(texts)[0]).symbols.tolist()
    return " ".join(
        alphabet.mapping.words[symbol] if symbol < len(alphabet.mapping.words) else others.get(symbol, "?")
        for symbol in symbols
    )


def test_texts_become_words_punctuation_and_ends(mapped_db: Path) -> None:
    alphabet = make_alphabet(open_under_test(mapped_db))
    assert spell(alphabet, ["Alice met BOB."]) == "| alice U bob . |"
    assert spell(alphabet, ["", "alice", "", ""]) == "| | alice | | |"
    assert spell(alphabet, ["bob, (carol) ... 12-13!", ". ."]) == "| bob , carol . N - N . | . |"
    assert spell(alphabet, ["bob's ivan"]) == "| bob ? ivan |"  # an ending has a symbol of its own
    assert spell(alphabet, []) == "|"


def test_kept_words_have_symbols_and_words_alone_in_their_group_have_none(mapped_db: Path) -> None:
    under_test = open_under_test(mapped_db)
    group = list(under_test.mapping.words[:4])
    under_test.vocabulary = Vocabulary(under_test.mapping, {*group[1:], "and"})
    plain, plus = (make_alphabet(under_test, plus) for plus in (False, True))
    assert spell(plain, [" ".join(group)]) == f"| {' '.join(group)} |"
    assert spell(plus, [" ".join(group)]) == f"| U {' '.join(group[1:])} |"
    assert spell(plain, ["and"]) == "| U |" and spell(plus, ["and"]) == "| ? |"
    assert not plus.drawn[:4].any() and plus.drawn[4:16].all() and plain.drawn[:16].all()
    assert Kind.ALONE in plus.read(open_column([group[0]])[0]).words.kinds


@pytest.mark.parametrize("plus", [False, True])
def test_probabilities_are_those_of_kneser_and_ney(mapped_db: Path, plus: bool) -> None:
    alphabet = make_alphabet(open_under_test(mapped_db), plus)
    symbols = alphabet.read(open_column(PUBLIC)[0]).symbols
    model = BigramModel(alphabet, symbols)
    first, second, more = model.discounts
    sequence = symbols.tolist()
    pairs, before = Counter(pairwise(sequence)), Counter(sequence[:-1])
    variety = Counter(right for _, right in pairs)
    zipf = 1.0 / (alphabet.ranks + 100.0)
    zipf /= zipf.sum()
    share = model.novelty

    def take(count: int) -> float:
        return float((first, second, more)[min(count, 3) - 1]) if count else 0.0

    for left in sorted({*sequence[:-1], 11, 12}):
        spare = (
            sum(take(count) for (one, _), count in pairs.items() if one == left) / before[left] if before[left] else 1.0
        )
        for right in range(alphabet.size):
            novel = share * zipf[right] + (1.0 - share) * variety[right] / len(pairs)
            count = pairs[left, right]
            expected = spare * novel + ((count - take(count)) / before[left] if count else 0.0)
            assert find_step(model, left, right) == pytest.approx(expected, rel=1e-9)


def test_the_smoothing_is_fitted_on_texts_that_are_held_out(mapped_db: Path) -> None:
    """Texts that repeat need little smoothing, and texts of random words need much."""
    alphabet = make_alphabet(open_under_test(mapped_db))
    draw = np.random.default_rng(0)
    words = alphabet.mapping.words
    repeated = ["alice bob carol dave", "erin frank grace heidi"] * 30
    random = [" ".join(draw.choice(words, 6)) for _ in range(60)]
    few, many = (
        BigramModel(alphabet, alphabet.read(open_column(texts)[0]).symbols).discounts for texts in (repeated, random)
    )
    assert few[2] < many[2]
    one = BigramModel(alphabet, alphabet.read(open_column([" ".join(repeated)])[0]).symbols)
    assert one.discounts[2] < many[2]  # of one text, the last part is held out


def test_stopwords_of_the_tests_are_partly_words_of_the_mapping(mapped_db: Path) -> None:
    words = open_under_test(mapped_db).mapping.words
    assert 0 < len(KEPT.intersection(words)) < len(KEPT)
