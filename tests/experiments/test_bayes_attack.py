"""The best single guess, compared with all possible guesses."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from custext_sql import Policy, Sanitizer, attack_bayes, load_mapping
from custext_sql.cli import main
from custext_sql.experiments.attacks.bayes_attack import (
    Prior,
    measure_bayes,
    measure_floor,
    measure_success,
    uniform_prior,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.mechanism.certified_table import CertifiedTable, certify


def naive_success(groups: list[list[str]], rows: dict[str, dict[str, float]], prior: dict[str, float]) -> float:
    """Return the success of an attacker who guesses the best input for each output of each group."""
    total = Fraction(0)
    for group in groups:
        for output in group:
            total += max(Fraction(prior[word]) * Fraction(rows[word][output]) for word in group)
    return float(total)


@pytest.fixture
def skewed(mapped_db: Path) -> Prior:
    count = len(load_mapping(mapped_db).words)
    chances = 1.0 / np.arange(1, count + 1)
    return Prior("skewed", chances / chances.sum(), count)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_success_is_that_of_the_best_guess_for_each_output(
    mapped_db: Path, skewed: Prior, epsilon: float, calibration: str
) -> None:
    mapping, sanitizer = load_mapping(mapped_db), Sanitizer.load(mapped_db, calibration=calibration)
    rows = {word: sanitizer.distribution(word, epsilon) for word in mapping.words}
    groups = [list(part) for part in np.split(np.array(mapping.words), mapping.word_starts[1:])]
    for prior in (skewed, uniform_prior(len(mapping.words))):
        chances = dict(zip(mapping.words, prior.chances.tolist(), strict=True))
        [found] = measure_bayes(MappingUnderTest(mapped_db), [prior], [epsilon], calibration=calibration)
        assert found.success == pytest.approx(naive_success(groups, rows, chances), rel=1e-12)
        assert found.floor == pytest.approx(sum(max(chances[word] for word in group) for group in groups))


def test_success_grows_from_the_floor_to_certainty(mapped_db: Path, skewed: Prior) -> None:
    mapping = load_mapping(mapped_db)
    epsilons = [0.001, 0.5, 2.0, 8.0, 30.0, 100.0]
    found = [one.success for one in measure_bayes(MappingUnderTest(mapped_db), [skewed], epsilons)]
    floor = measure_floor(mapping.sizes, skewed.chances)
    assert found == sorted(found)
    assert found[0] == pytest.approx(floor, rel=1e-3) and floor <= found[0]
    assert found[-1] > 0.99


def test_no_attacker_in_a_simulation_does_better(mapped_db: Path, skewed: Prior) -> None:
    """Draw words from the prior, sanitize them, and apply the table of best guesses to the outputs."""
    mapping = load_mapping(mapped_db)
    weights = certify(mapping.sizes, mapping.scores, 3.0).weights
    expected = measure_success(mapping.sizes, weights, skewed.chances)
    sanitizer = Sanitizer.load(mapped_db)
    rows = {word: sanitizer.distribution(word, 3.0) for word in mapping.words}
    best = {
        output: max(
            (word for word in mapping.words if output in rows[word]),
            key=lambda word, output=output: skewed.chances[mapping.index[word]] * rows[word][output],  # type: ignore[misc]
        )
        for output in mapping.words
    }
    words = np.random.default_rng(0).choice(mapping.words, 200_000, p=skewed.chances)
    outputs = sanitizer.sanitize(" ".join(words), 3.0).split(" ")
    right = np.mean([best[output] == word for word, output in zip(words, outputs, strict=True)])
    assert abs(right - expected) < 5 * np.sqrt(expected * (1 - expected) / len(words))


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


def test_the_words_of_public_texts_are_counted_by_the_policy(mapped_db: Path, tmp_path: Path) -> None:
    (tmp_path / "public.txt").write_text("alice@bob.org al\u00adice bob", encoding="utf-8")
    for options, words in (((), 6), (("--policy", "strict"), 3), (("--units", "mask"), 4)):
        command = ["--db", str(mapped_db), "attack", "bayes", "--public", str(tmp_path / "public.txt"), *options]
        assert f"({words} words, " in CliRunner().invoke(main, command).output


def test_tables_are_made_once_per_eps(mapped_db: Path, skewed: Prior, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def watch(sizes: object, scores: object, epsilon: float, calibration: str) -> CertifiedTable:
        made.append(epsilon)
        return certify(sizes, scores, epsilon, calibration)  # type: ignore[arg-type]

    monkeypatch.setattr("custext_sql.experiments.mechanisms.certify", watch)
    under_test = MappingUnderTest(mapped_db)
    found = measure_bayes(under_test, [skewed, uniform_prior(len(under_test.mapping.words))], [0.0, 1.0, 2.0])
    assert len(found) == 6 and made == [1.0, 2.0]
    assert measure_bayes(under_test, [skewed], [2.0]) == found[4:5] and made == [1.0, 2.0]
