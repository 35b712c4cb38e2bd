"""The share of words that each mechanism leaves in the clear: utility without it makes a mechanism look too good."""

from collections.abc import Sequence
from dataclasses import replace

from custext_sql.experiments.evaluation.experiment import Experiment
from custext_sql.experiments.measurements import Measurement, ShareDone, Subject, measure_or_reuse, write_settings
from custext_sql.experiments.trials import Trial
from custext_sql.store.database import Database

_BY_CHANCE = "santext+"  # the mechanism that keeps words by chance


def measure_in_clear(database: Database, experiment: Experiment, trials: Sequence[Trial]) -> list[Measurement]:
    """Return for each trial the share of the words of the test texts that stay in the clear, measured now or before.

    These are words that the policy and the mechanism keep: stopwords, unknown words, and those that SANTEXT+ does not
    replace. A word that draws itself is not among them. The share depends on neither eps nor the seed, except that
    SANTEXT+ chooses by chance; it is measured with the first seed.
    """
    texts = [text for row in experiment.test.texts for text in row]
    subjects = [_describe(experiment, trial) for trial in trials]
    by_subject = dict(zip(subjects, trials, strict=True))

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        trial = by_subject[subject]
        return trial.under_test.open(trial.mechanism).find_share_in_clear(texts, subject.seed or 0), None

    return measure_or_reuse(database, subjects, measure)


def _describe(experiment: Experiment, trial: Trial) -> Subject:
    return replace(
        trial.describe("policy", "in_clear"),
        eps=None,
        calibration=None,
        seed=0 if trial.mechanism == _BY_CHANCE else None,
        dataset=experiment.test.name,
        digest=experiment.test_digest,
        settings=write_settings(**trial.handling),
    )
