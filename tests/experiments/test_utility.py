"""Trials of the utility table: each is measured once and can be traced."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from custext_sql import build_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments.evaluation.datasets import read_sentence_polarity
from custext_sql.experiments.evaluation.experiment import Experiment
from custext_sql.experiments.evaluation.utility import describe_trial, measure_utility
from custext_sql.experiments.measurements import read_measurements
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.trials import Rows, Trial, list_trials
from custext_sql.store.database import writing
from tests.experiments.test_linear_models import make_sentences
from tests.processes import start, wait_for


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
    found = {one.subject.mechanism: one.value or 0.0 for one in measure_utility(own_db, experiment, trials)}
    assert found["original"] > 0.95
    assert found["custext"] > 0.9  # at eps = 20, words hardly change
    assert found["random"] < 0.7


def test_a_trial_is_measured_once(own_db: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = list_trials([MappingUnderTest(own_db)], ["custext"], [1.0, 2.0], 2)
    first = measure_utility(own_db, experiment, trials[:3])
    asked: list[Trial] = []
    sanitize = Trial.sanitize

    def watch(trial: Trial, parts: Sequence[Rows]) -> list[Rows]:
        asked.append(trial)
        return sanitize(trial, parts)

    monkeypatch.setattr(Trial, "sanitize", watch)
    again = measure_utility(own_db, experiment, trials)
    assert [one.value for one in again[:3]] == [one.value for one in first]
    assert asked == trials[3:]


@pytest.mark.slow
def test_a_trial_is_measured_again_if_what_it_depends_on_changes(own_db: Path, experiment: Experiment) -> None:
    trial = Trial(MappingUnderTest(own_db), "custext", 1.0, 0)
    other_data = Experiment(experiment.train, experiment.train)
    other_model = Experiment(experiment.train, experiment.test, model="embedding")
    subjects = [
        describe_trial(experiment, trial),
        describe_trial(other_data, trial),
        describe_trial(other_model, trial),
        describe_trial(experiment, Trial(MappingUnderTest(own_db, policy="strict"), "custext", 1.0, 0)),
        describe_trial(experiment, Trial(MappingUnderTest(own_db, calibration="tight"), "custext", 1.0, 0)),
        describe_trial(experiment, Trial(trial.under_test, "custext+", 1.0, 0)),
        describe_trial(experiment, Trial(trial.under_test, "custext", 1.5, 0)),
        describe_trial(experiment, Trial(trial.under_test, "custext", 1.0, 1)),
    ]
    assert len({subject.measurement_id for subject in subjects}) == len(subjects)


def test_other_kept_stopwords_are_another_experiment(own_db: Path, experiment: Experiment) -> None:
    before = MappingUnderTest(own_db)
    with writing(own_db) as connection:
        connection.execute("DELETE FROM stopwords WHERE word = 'the'")
    after = MappingUnderTest(own_db)
    for name, same in (("custext+", False), ("custext", True)):
        ids = {
            describe_trial(experiment, Trial(under_test, name, 1.0, 0)).measurement_id for under_test in (before, after)
        }
        assert (len(ids) == 1) == same


@pytest.mark.models
def test_another_model_in_the_same_folder_is_another_experiment(
    own_db: Path, experiment: Experiment, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs the extra models")
    pytest.importorskip("transformers", reason="needs the extra models")
    folder = tmp_path / "model"
    folder.mkdir()
    trial, found = Trial(MappingUnderTest(own_db), "custext", 1.0, 0), set()
    for weights in (b"one", b"other"):
        (folder / "model.safetensors").write_bytes(weights)
        other = Experiment(experiment.train, experiment.test, model=str(folder))
        found.add(describe_trial(other, trial).measurement_id)
    assert len(found) == 2


def test_no_text_is_saved(own_db: Path, experiment: Experiment) -> None:
    measure_utility(own_db, experiment, list_trials([MappingUnderTest(own_db)], ["custext", "original"], [1.0], 1))
    [first, _] = read_measurements(own_db, kind="utility")
    assert "wonderful" not in repr(first)
    assert b"film number 17" not in own_db.read_bytes()


def test_settings_of_fine_tuning_are_for_fine_tuning(experiment: Experiment) -> None:
    with pytest.raises(CusTextError, match="epochs: only for fine-tuning"):
        Experiment(experiment.train, experiment.test, options={"epochs": 5})


@pytest.mark.slow
def test_a_killed_run_resumes_where_it_stopped(own_db: Path, tmp_path: Path) -> None:
    """This kills a real process as soon as it has saved something."""
    rows, labels = make_sentences(300, 0)
    lines = "".join(f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True))
    (tmp_path / "data.tsv").write_text("sentence\tlabel\n" + lines)
    data = ["--train", str(tmp_path / "data.tsv"), "--test", str(tmp_path / "data.tsv"), "--text", "sentence"]
    command = [sys.executable, "-m", "custext_sql", "--db", str(own_db), "evaluate", "utility", *data]
    command += ["--mechanisms", "custext", "--eps", "1,2,3,4,5,6,7,8", "--seeds", "500"]

    def has_kept_two() -> bool:
        try:
            return len(read_measurements(own_db, kind="utility")) >= 2
        except CusTextError:  # it is being written
            return False

    with start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        wait_for(has_kept_two)
    found = read_measurements(own_db, kind="utility")
    assert 2 <= len(found) < 4000
    before = {one.measurement_id: (one.value, one.measured_at) for one in found}
    shorter = [*command[:-4], "--eps", "1", "--seeds", "20", "--json"]
    subprocess.run(shorter, check=True, capture_output=True)
    after = {one.measurement_id: (one.value, one.measured_at) for one in read_measurements(own_db, kind="utility")}
    assert {key: after[key] for key in before} == before


@pytest.mark.slow
def test_on_sentence_polarity_mechanisms_rank_as_in_the_paper(shared_data: Path, own_db: Path) -> None:
    """With one seed; the benchmark `evaluation` measures the whole table."""
    experiment = Experiment(*read_sentence_polarity(str(shared_data / "sentence_polarity.zip")))
    under_test = MappingUnderTest(own_db, mapping="starter-euclidean-k20")  # a third of the words, for SANTEXT's sake
    trials = list_trials([under_test], ["original", "custext+", "custext", "santext", "random"], [1.0], 1)
    found = {one.subject.mechanism: one.value or 0.0 for one in measure_utility(own_db, experiment, trials)}
    assert found["original"] > found["custext+"] > found["custext"] > found["santext"] + 0.07
    assert abs(found["random"] - 0.5) < 0.06
