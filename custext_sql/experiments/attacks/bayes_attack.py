"""The Bayes attack: the best single guess from one output, computed exactly from the tables of a mapping."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.best_guess import measure_floor, measure_success
from custext_sql.experiments.attacks.priors import Prior, find_prior, uniform_prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.trials import list_epsilons
from custext_sql.mechanism.weights import CALIBRATIONS
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
    """

    mapping: str
    k: int
    eps: float
    calibration: str
    plus: bool
    prior: str
    success: float
    floor: float


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

    Returns a BayesAttack.

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
    grids = dict.fromkeys(calibrations, epsilons)
    found = measure_curves(under_test, priors, grids, plus=plus, progress=progress, parts=len(grids))
    results = sorted(found, key=lambda one: [prior.name for prior in priors].index(one.prior))
    info = under_test.mapping.info
    return BayesAttack(info.name, info.k, plus, name_policy(under_test.policy), tuple(priors), tuple(results))


def measure_curves(
    under_test: MappingUnderTest,
    priors: Sequence[Prior],
    grids: dict[str, list[float]],
    *,
    plus: bool,
    progress: ShareDone | None,
    parts: int,
) -> list[BayesResult]:
    """Return the success of the best guess at the eps of each calibration. parts: of the work, one per calibration."""
    return [
        result
        for number, (calibration, epsilons) in enumerate(grids.items())
        for result in measure_bayes(
            under_test, priors, epsilons, calibration=calibration, plus=plus, progress=part_of(progress, number, parts)
        )
    ]


def measure_bayes(
    under_test: MappingUnderTest,
    priors: Sequence[Prior],
    epsilons: Sequence[float],
    *,
    calibration: str | None = None,
    plus: bool = False,
    progress: ShareDone | None = None,
) -> list[BayesResult]:
    """Return the success of the best guess at each eps, under each prior.

    calibration: by default that under test. plus: the priors are without stopwords.
    """
    info, calibration = under_test.mapping.info, calibration or under_test.calibration
    floors = [measure_floor(under_test.mapping.sizes, prior.chances) for prior in priors]
    results = []
    for number, epsilon in enumerate(epsilons):
        part_of(progress, number, len(epsilons))(0.0)
        for prior, floor in zip(priors, floors, strict=True):
            success = measure_guess(under_test, prior.chances, epsilon, calibration)
            results.append(BayesResult(info.name, info.k, epsilon, calibration, plus, prior.name, success, floor))
    return results


def measure_guess(
    under_test: MappingUnderTest, chances: Floats, epsilon: float, calibration: str | None = None
) -> float:
    """Return how often the best guess is right, if words occur with these chances.

    At eps = 0, an output reveals its group and nothing else.
    """
    sizes = under_test.mapping.sizes
    if epsilon == 0.0:
        return measure_floor(sizes, chances)
    return measure_success(sizes, under_test.certify(epsilon, calibration).weights, chances)
