"""The best single guess, compared with all possible guesses, and the frequencies of words that it uses."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from custext_sql import Policy, Sanitizer, load_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments import attack_bayes
from custext_sql.experiments.bayes_attack import Prior, count_words, measure_bayes, read_frequencies, uniform_prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.mapping.mapping import Mapping
from custext_sql.text.columns import open_column


def naive_success(groups: list[list[str]], rows: dict[str, dict[str, float]], prior: dict[str, float]) -> float:
    """Return the success of an attacker who guesses the best input for each output of each group."""
    total = Fraction(0)
    for group in groups:
        for output in group:
            total += max(Fraction(prior[word]) * Fraction(rows[word][output]) for word in group)
    return float(total)


@pytest.fixture
def mapping(mapped_db: Path) -> Mapping:
    return load_mapping(mapped_db)


@pytest.fixture
def skewed(mapping: Mapping) -> Prior:
    chances = 1.0 / np.arange(1, len(mapping.words) + 1)
    return Prior("skewed", chances / chances.sum(), len(mapping.words))


@pytest.mark.parametrize("epsilon", [0.01, 8.0])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_success_is_that_of_the_best_guess_for_each_output(
    mapped_db: Path, mapping: Mapping, skewed: Prior, epsilon: float, calibration: str
) -> None:
    sanitizer = Sanitizer.load(mapped_db, calibration=calibration)
    rows = {word: sanitizer.distribution(word, epsilon) for word in mapping.words}
    groups = [list(part) for part in np.split(np.array(mapping.words), mapping.word_starts[1:])]
    for prior in (skewed, uniform_prior(len(mapping.words))):
        chances = dict(zip(mapping.words, prior.chances.tolist(), strict=True))
        [found] = measure_bayes(MappingUnderTest(mapped_db), [prior], [epsilon], calibration=calibration)
        assert found.success == pytest.approx(naive_success(groups, rows, chances), rel=1e-12)
        assert found.floor == pytest.approx(sum(max(chances[word] for word in group) for group in groups))


def test_words_that_are_kept_are_not_guessed(mapped_db: Path, tmp_path: Path) -> None:
    words = load_mapping(mapped_db).words  # in groups of four
    text, kept = " ".join(words), Policy(keep_words=words[1:3])
    (tmp_path / "words.txt").write_text("".join(f"{word} 1\n" for word in words))
    for given in ({"public": [text]}, {"prior": tmp_path / "words.txt"}):
        usual, attack = (attack_bayes(mapped_db, eps=0, policy=one, **given) for one in ("strict", kept))
        assert [one.drawn for one in usual.priors] == [1.0, 1.0]
        assert [one.floor for one in usual.results] == [pytest.approx(4 / 16)] * 4
        assert [one.drawn for one in attack.priors] == [pytest.approx(14 / 16)] * 2
        assert [one.floor for one in attack.results] == [pytest.approx(4 / 14)] * 4
    assert attack.policy == "strict, except 2 kept words"
    alone = attack_bayes(mapped_db, eps=0, policy=Policy(keep_words=words[:3]))  # the fourth is masked
    assert alone.priors[0].drawn == pytest.approx(12 / 16) and alone.results[0].floor == pytest.approx(3 / 12)


def by_word(prior: Prior, mapping: Mapping) -> dict[str, float]:
    return {word: chance for word, chance in zip(mapping.words, prior.chances.tolist(), strict=True) if chance}


def test_words_of_texts_are_counted_as_they_are_looked_up(mapping: Mapping, mapped_db: Path) -> None:
    texts = [open_column(["Alice, ALICE and bob", None])[0], open_column(["nobody's bob"])[0]]
    prior = count_words(texts, MappingUnderTest(mapped_db), "texts")
    assert by_word(prior, mapping) == {"alice": 0.5, "bob": 0.5}
    assert (prior.words, prior.drawn) == (7, 4 / 7)  # "nobody", "and" and the ending are not in the vocabulary


@pytest.mark.parametrize("text", ["alice\t3\nbob\t1\n", "Alice,3\nbob,1", "alice 2\r\nalice 1\nbob 1.0\nother 9\n\n"])
def test_a_file_of_frequencies_is_read(mapping: Mapping, tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text)
    prior = read_frequencies(file, mapping)
    assert by_word(prior, mapping) == {"alice": 0.75, "bob": 0.25}
    assert prior.name == "words.txt"
    assert prior.drawn == (4 / 13 if "other" in text else 1.0)


def test_a_file_is_not_mistaken_for_the_uniform_prior(mapping: Mapping, tmp_path: Path) -> None:
    (tmp_path / "uniform").write_text("alice 1\n")
    assert read_frequencies(tmp_path / "uniform", mapping).name == "uniform (a file)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alice 3\nsecret\n", r"words.txt, line 2: expected a word and a number, such as: the,1000$"),
        ("alice 3\nsecret minus\n", r"words.txt, line 2: expected a word and a number"),
        ("alice -3\n", "line 1"),
        ("alice nan\n", "line 1"),
        ("the\t1,000\nalice\t12\n", "line 1"),
        ("the 1,000\nalice 12\n", "line 1"),
        ("two words,3\n", "line 1"),
        ("other 3\n", "words.txt: found no words that the mapping would replace"),
        ("alice 1\ncaf\udce9 3\n", "words.txt, line 2: not UTF-8"),
    ],
)
def test_errors_name_the_line_of_a_bad_file(mapping: Mapping, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CusTextError, match=message) as caught:
        read_frequencies(file, mapping)
    assert "secret" not in str(caught.value)
