"""Privacy versus utility."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import build_mapping, load_embeddings
from custext_sql.errors import CusTextError
from custext_sql.experiments.attacks.best_guess import measure_success
from custext_sql.experiments.attacks.mask_attack import ChosenGuesser, choose_guesser, measure_masks
from custext_sql.experiments.evaluation.experiment import Experiment
from custext_sql.experiments.evaluation.tradeoff import measure_tradeoff, summarize
from custext_sql.experiments.evaluation.utility import measure_utility
from custext_sql.experiments.measurements import Measurement, Subject, read_measurements
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.trials import list_trials
from custext_sql.mechanism.certified_table import certify


@pytest.fixture
def guesser(experiment: Experiment) -> ChosenGuesser:
    clear = [text for row in experiment.train.texts for text in row]
    return choose_guesser("ngram", public=clear)


@pytest.mark.slow
def test_more_eps_is_more_useful_and_less_private(few_db: Path, experiment: Experiment, guesser: ChosenGuesser) -> None:
    trials = list_trials([MappingUnderTest(few_db)], ["custext", "random"], [0.5, 20.0], 2)
    points = {(one.mechanism, one.eps): one for one in measure_tradeoff(few_db, experiment, trials, guesser)}
    little, much = points["custext", 0.5], points["custext", 20.0]
    assert little.utility.mean < much.utility.mean
    assert little.success.mean < much.success.mean
    assert points["random", None].success.mean < much.success.mean
    assert much.attack == "mask (ngram)" and much.k == 20
    assert len(much.utility.measurement_ids) == len(much.success.measurement_ids) == 2


def test_points_are_means_of_rows(few_db: Path, experiment: Experiment, guesser: ChosenGuesser) -> None:
    trials = list_trials([MappingUnderTest(few_db)], ["custext"], [3.0], 3)
    [point] = measure_tradeoff(few_db, experiment, trials, guesser)
    rows = {one.measurement_id: one.value or 0.0 for one in read_measurements(few_db)}
    for figure in (point.utility, point.success):
        assert figure.mean == pytest.approx(sum(rows[one] for one in figure.measurement_ids) / 3)
    alone = measure_utility(few_db, experiment, trials)
    assert [one.measurement_id for one in alone] == list(point.utility.measurement_ids)


@pytest.mark.slow
def test_bayes_uses_groups_and_frequencies(few_db: Path, experiment: Experiment) -> None:
    build_mapping(few_db, embedding="starter", k=50)
    mappings = [MappingUnderTest(few_db), MappingUnderTest(few_db, mapping="starter-euclidean-k50")]
    trials = list_trials(mappings, ["custext", "custext+"], [2.0], 1)
    points = {(one.mechanism, one.k): one for one in measure_tradeoff(few_db, experiment, trials, None)}
    assert len(points) == 4
    words = [word for (text,) in experiment.test.texts for word in text.split()]
    for under_test in mappings:
        weights = certify(under_test.mapping.sizes, under_test.mapping.scores, 2.0).weights
        for name, kept in (("custext", frozenset()), ("custext+", under_test.stopwords)):
            drawn = np.zeros(len(under_test.mapping.words))
            in_clear = 0
            for word in words:
                if word in under_test.mapping.index and word not in kept:
                    drawn[under_test.mapping.index[word]] += 1.0
                elif not word.isdigit():
                    in_clear += 1
            expected = (in_clear + measure_success(under_test.mapping.sizes, weights, drawn)) / len(words)
            assert points[name, under_test.mapping.info.k].success.mean == pytest.approx(expected)
    with pytest.raises(CusTextError, match="--attack mask"):
        measure_tradeoff(few_db, experiment, list_trials(mappings, ["santext"], [2.0], 1), None)
    with pytest.raises(CusTextError, match="the mechanism original leaves all words in the clear"):
        measure_tradeoff(few_db, experiment, list_trials(mappings, ["original"], [2.0], 1), None)


@pytest.mark.slow
def test_vectors_of_two_embeddings_are_two_rows(few_db: Path, experiment: Experiment, guesser: ChosenGuesser) -> None:
    """This includes two embeddings from one file, of which more was loaded the second time."""
    load_embeddings(few_db, "starter", name="less", limit=1000)
    build_mapping(few_db, embedding="less", k=20)
    mappings = [MappingUnderTest(few_db), MappingUnderTest(few_db, mapping="less-euclidean-k20")]
    trials = list_trials(mappings, ["random", "santext"], [5.0], 1)
    assert len(trials) == 4
    points = measure_tradeoff(few_db, experiment, trials, guesser)
    assert {(one.mechanism, one.embedding) for one in points} == {
        (mechanism, embedding) for mechanism in ("random", "santext") for embedding in ("starter", "less")
    }


def test_masks_are_guessed_once_for_both_figures(few_db: Path, experiment: Experiment, guesser: ChosenGuesser) -> None:
    trials = list_trials([MappingUnderTest(few_db)], ["custext+"], [5.0], 1)
    texts = [text for row in experiment.test.texts for text in row]
    [(of_all, of_drawn)] = measure_masks(few_db, trials, texts, guesser, dataset="test")
    assert of_all.subject.metric == "r_mask" and of_drawn.subject.metric == "r_mask_sampled"
    assert of_all.value is not None and of_drawn.value is not None
    assert of_all.value > of_drawn.value  # kept stopwords are easy to guess
    assert of_all.standard_error == pytest.approx((of_all.value * (1 - of_all.value) / 500) ** 0.5, rel=0.1)


def test_the_built_in_attacker_needs_public_texts() -> None:
    with pytest.raises(CusTextError, match=r"learns from public texts; use --public FILE"):
        choose_guesser("ngram", public=None)


def test_a_figure_is_a_mean_and_a_spread() -> None:
    some = [Measurement(Subject("utility", "accuracy", seed=seed), value) for seed, value in enumerate((0.5, 0.7))]
    figure = summarize(some)
    assert figure.mean == pytest.approx(0.6)
    assert figure.spread == pytest.approx(0.1414, abs=1e-4)
    assert summarize(some[:1]).spread is None
