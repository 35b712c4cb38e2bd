"""Trials of the utility table."""

from pathlib import Path

import pytest

from custext_sql import build_mapping, drop_embedding, evaluate_utility
from custext_sql.errors import CusTextError
from custext_sql.experiments.evaluation.datasets import LabeledTexts, read_sentence_polarity
from custext_sql.experiments.evaluation.evaluations import measure_in_clear, measure_utility
from custext_sql.experiments.evaluation.experiment import Experiment
from custext_sql.experiments.mechanisms import MappingUnderTest, MechanismUnderTest, list_trials


@pytest.mark.slow
def test_a_table_has_one_trial_per_eps_and_seed(few_db: Path) -> None:
    build_mapping(few_db, embedding="starter", k=10)
    mappings = [MappingUnderTest(few_db), MappingUnderTest(few_db, mapping="starter-euclidean-k10")]
    trials = list_trials(mappings, ["original", "random", "custext", "santext"], [1.0, 2.0], 3)
    count = {
        name: sum(trial.mechanism == name for trial in trials) for name in ("original", "random", "custext", "santext")
    }
    assert count == {"original": 1, "random": 3, "custext": 12, "santext": 6}  # SANTEXT does not depend on groups


def test_a_model_uses_what_the_words_retain(own_db: Path, experiment: Experiment) -> None:
    under_test = MappingUnderTest(own_db)
    trials = list_trials([under_test], ["original", "custext", "random"], [20.0], 1)
    found = dict(zip([trial.mechanism for trial in trials], measure_utility(experiment, trials), strict=True))
    assert found["original"] > 0.95
    assert found["custext"] > 0.9  # at eps = 20, words hardly change
    assert found["random"] < 0.7


def test_the_accuracy_is_that_of_a_model_trained_by_hand(own_db: Path, experiment: Experiment) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    trials = list_trials([MappingUnderTest(own_db)], ["custext"], [4.0], 2)
    texts = [text for part in (experiment.train, experiment.test) for (text,) in part.texts]
    new, count = MappingUnderTest(own_db).open("custext").sanitize(texts, 4.0, 1), len(experiment.train.texts)
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    model = make_pipeline(words, LogisticRegression(max_iter=1000)).fit(new[:count], experiment.train.labels)
    expected = model.score(new[count:], experiment.test.labels)
    assert measure_utility(experiment, trials)[1] == pytest.approx(expected, abs=1e-12)


def test_words_in_the_clear_are_counted_once_per_mechanism(
    own_db: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    count = MechanismUnderTest.find_share_in_clear

    def watch(mechanism: MechanismUnderTest, texts: list[str], seed: int) -> float:
        counted.append(mechanism.name)
        return count(mechanism, texts, seed)

    monkeypatch.setattr(MechanismUnderTest, "find_share_in_clear", watch)
    trials = list_trials([MappingUnderTest(own_db)], ["custext+", "custext"], [1.0, 2.0], 2)
    found = measure_in_clear(experiment, trials)
    assert len(found) == 8 and len(set(found)) == 2 and counted == ["custext+", "custext"]


def test_missing_vectors_are_an_error_before_anything_is_trained(
    own_db: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custext_sql.experiments.evaluation.evaluations.predict_by_tfidf", None)
    drop_embedding(own_db, name="starter")
    for more in ({"mechanisms": ["custext", "santext"]}, {"mechanisms": "custext", "model": "embedding"}):
        with pytest.raises(CusTextError, match="this needs the vectors"):
            evaluate_utility(
                own_db, train=experiment.train, test=experiment.test, mappings="starter-euclidean-k20", **more
            )


def test_settings_of_fine_tuning_are_for_fine_tuning(experiment: Experiment) -> None:
    with pytest.raises(CusTextError, match="epochs: only for fine-tuning"):
        Experiment(experiment.train, experiment.test, options={"epochs": 5})


def test_training_and_test_rows_have_equally_many_texts(experiment: Experiment) -> None:
    with pytest.raises(CusTextError, match="pairs: expected as many texts per row as in train, 1"):
        Experiment(experiment.train, LabeledTexts("pairs", [("one", "two")], ["1"]))


@pytest.mark.slow
def test_on_sentence_polarity_mechanisms_rank_as_in_the_paper(shared_data: Path, own_db: Path) -> None:
    """With one seed; the benchmark `evaluation` measures the whole table."""
    experiment = Experiment(*read_sentence_polarity(str(shared_data / "sentence_polarity.zip")))
    under_test = MappingUnderTest(own_db, mapping="starter-euclidean-k20")  # a third of the words, for SANTEXT's sake
    trials = list_trials([under_test], ["original", "custext+", "custext", "santext", "random"], [1.0], 1)
    found = dict(zip([trial.mechanism for trial in trials], measure_utility(experiment, trials), strict=True))
    assert found["original"] > found["custext+"] > found["custext"] > found["santext"] + 0.07
    assert abs(found["random"] - 0.5) < 0.06
