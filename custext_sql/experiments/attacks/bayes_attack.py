"""The Bayes attack: the best single guess from one output, computed exactly from the tables of a mapping."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.best_guess import measure_floor, measure_success
from custext_sql.experiments.attacks.priors import Prior, find_prior, uniform_prior
from custext_sql.experiments.measurements import (
    Measurement,
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.trials import list_epsilons
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import CertifiedTable, certify
from custext_sql.mechanism.weights import CALIBRATIONS, check_epsilon
from custext_sql.release.inputs.texts import Texts
from custext_sql.replacing.policy import Policy, name_policy
from custext_sql.store.database import Database

_BOTH = "both"  # calibrations


@dataclass(frozen=True)
class BayesResult:
    """The success of the best single guess under one prior, at one eps and calibration.

    mapping, k: the name of the mapping and its group size K.
    eps: the budget per word. calibration: how eps sets the temperature, "paper" or "tight".
    plus: whether stopwords are kept. prior: the name of the prior.
    success: the probability that the best guess from one output is right, 0 to 1.
    floor: the probability that the best guess is right if only the group of the word is known, 0 to 1. No eps goes
        lower, since this attacker is told which words were replaced, even where kept words could hide them.
    measurement_ids: the rows of the table `measurements` that hold success and floor, in this order.
    """

    mapping: str
    k: int
    eps: float
    calibration: str
    plus: bool
    prior: str
    success: float
    floor: float
    measurement_ids: tuple[str, str]


@dataclass(frozen=True)
class BayesAttack:
    """The success of the best single guess against a mapping.

    mapping, k: the name of the mapping and its group size K. plus: whether stopwords are kept. policy: its name.
    priors: the uniform prior, then the given one, if any.
    results: one per prior, calibration and eps, in this order.
    """

    mapping: str
    k: int
    plus: bool
    policy: str
    priors: tuple[Prior, ...]
    results: tuple[BayesResult, ...]


def attack_bayes(
    database: Database = None,
    *,
    eps: float | Sequence[float] = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0),
    prior: str | os.PathLike[str] | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    plus: bool = False,
    policy: str | Policy = "paper",
    calibration: str = "both",
    mapping: str | None = None,
    progress: ShareDone | None = None,
) -> BayesAttack:
    """Compute exactly how often the best guess from a single output is right.

    The attacker knows the tables, how frequent words are, and that the word was replaced. No attacker who sees one word
    at a time does better. The first prior is uniform: all words are equally frequent. The second one, if given, comes
    from `prior` or `public`.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    eps: one budget per word or several, 0, or 0.001 to 100.
    prior: the path of a file of word frequencies, with a word and a number per line.
    public: texts in which words are counted instead: the path of a file, a DataTable, or a sequence of texts.
    public_column: the column of these texts; None for lines of text and for a sequence.
    plus: whether stopwords are kept. The priors then cover all other words.
    policy: which words are kept, and how the words of `public` are counted: "paper", "strict" or a Policy.
    calibration: "paper", "tight" or "both".
    mapping: its name; by default the database's default mapping.
    progress: called with the share of the work done, 0 to 1.

    Returns a BayesAttack. Results are saved in the table `measurements` and reused.

    SettingError if a setting is invalid or both prior and public are given; SourceError if a file cannot be read;
    MappingError if the mapping does not exist.
    """
    epsilons = list_epsilons(eps)
    if calibration not in (*CALIBRATIONS, _BOTH):
        raise SettingError(f"calibration must be one of {', '.join(CALIBRATIONS)}, {_BOTH}; found {calibration!r}")
    calibrations = CALIBRATIONS if calibration == _BOTH else (calibration,)
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy)
    given = find_prior(under_test, prior, public, public_column, public=True)
    every = [uniform_prior(len(under_test.mapping.words)), *([] if given is None else [given])]
    priors = [one.of_drawn(under_test, plus=plus) for one in every]
    results = [
        result
        for known in priors
        for one in calibrations
        for result in measure_bayes(
            database, under_test.mapping, [known], epsilons, calibration=one, plus=plus, progress=progress
        )
    ]
    info = under_test.mapping.info
    return BayesAttack(info.name, info.k, plus, name_policy(under_test.policy), tuple(priors), tuple(results))


def measure_bayes(
    database: Database,
    mapping: Mapping,
    priors: Sequence[Prior],
    epsilons: Sequence[float],
    *,
    calibration: str = "paper",
    plus: bool = False,
    progress: ShareDone | None = None,
) -> list[BayesResult]:
    """Return the success of the best guess at each eps, under each prior. plus: the priors are without stopwords."""
    by_digest = {prior.digest: prior for prior in priors}
    made: dict[float, CertifiedTable] = {}

    def make_table(epsilon: float) -> CertifiedTable:
        if epsilon not in made:
            made.clear()  # one table is enough, since subjects are ordered by eps
            made[epsilon] = certify(mapping.sizes, mapping.scores, epsilon, calibration)
        return made[epsilon]

    def measure(subject: Subject, tell: ShareDone) -> tuple[float | None, float | None]:
        chances = by_digest[str(subject.digest)].chances
        if not subject.eps:  # at eps = 0, an output reveals its group and nothing else
            return measure_floor(mapping.sizes, chances), None
        return measure_success(mapping.sizes, make_table(subject.eps).weights, chances), None

    def describe(prior: Prior, metric: str, epsilon: float | None) -> Subject:
        subject = describe_mapping(mapping, "bayes", metric, epsilon, None if epsilon is None else calibration)
        return replace(subject, dataset=prior.name, digest=prior.digest, settings=write_settings(plus=plus))

    pairs = [(epsilon, prior) for epsilon in map(check_epsilon, epsilons) for prior in priors]
    floors = [describe(prior, "floor", None) for _, prior in pairs]
    successes = [describe(prior, "success", epsilon) for epsilon, prior in pairs]
    measured = measure_or_reuse(database, [*floors, *successes], measure, progress=progress)
    return [
        _as_bayes_result(floor, success, plus)
        for floor, success in zip(measured[: len(pairs)], measured[len(pairs) :], strict=True)
    ]


def measure_bayes_in_texts(
    database: Database,
    mapping: Mapping,
    drawn: Floats,
    in_clear: float,
    epsilon: float,
    *,
    about: Subject,
    calibration: str = "paper",
) -> Measurement:
    """Return the success of the best guess over all words of some texts.

    drawn: for each word of the mapping, the share of all words that are this word and are replaced by a draw.
    in_clear: the share of words that stay in the clear; the attacker knows them. about: a subject with the mechanism,
    the dataset and the settings.
    """

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        if epsilon == 0.0:
            return in_clear + measure_floor(mapping.sizes, drawn), None
        weights = certify(mapping.sizes, mapping.scores, epsilon, calibration).weights
        return in_clear + measure_success(mapping.sizes, weights, drawn), None

    subject = describe_mapping(mapping, "bayes", "success_of_all", epsilon, calibration)
    subject = replace(
        subject, mechanism=about.mechanism, dataset=about.dataset, digest=about.digest, settings=about.settings
    )
    return measure_or_reuse(database, [subject], measure)[0]


def _as_bayes_result(floor: Measurement, success: Measurement, plus: bool) -> BayesResult:
    subject = success.subject
    assert subject.eps is not None and subject.k is not None
    assert floor.value is not None and success.value is not None
    return BayesResult(
        mapping=str(subject.mapping),
        k=subject.k,
        eps=subject.eps,
        calibration=str(subject.calibration),
        plus=plus,
        prior=str(subject.dataset),
        success=success.value,
        floor=floor.value,
        measurement_ids=(success.measurement_id, floor.measurement_id),
    )
