"""The choice of a mapping and of the largest eps at which the best single guess stays within a bound."""

import math
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import BayesResult, measure_bayes
from custext_sql.experiments.attacks.best_guess import measure_success
from custext_sql.experiments.attacks.priors import Prior, find_prior
from custext_sql.experiments.measurements import ShareDone
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.text_files import Texts
from custext_sql.experiments.trials import list_once
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.weights import LARGEST_EPSILON, SMALLEST_EPSILON, check_calibration, matrices_by_size
from custext_sql.store.database import Database
from custext_sql.store.mappings import list_mappings

CURVE = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
_FEWER = 0.01  # the share of words that a chosen mapping may replace less than another
_BOUND = "--max-attack (in Python: max_attack)"
_STEPS = 8  # bisection steps: precise to half a percent, since eps is given to two digits


@dataclass(frozen=True)
class Candidate:
    """A mapping, and the largest eps at which the attack stays within the bound.

    mapping, k, embedding: the name of the mapping, its group size K, and the name of the embedding it was built from.
    floor: the probability that a guess from the group alone is right. No eps goes below it.
    eps: the largest eps within the bound, rounded down to two digits; None if there is none from 0.001 up.
    success: the probability that the best single guess is right at that eps; None if eps is None.
    distance: the mean distance of a word from its replacement at that eps, where 1 is the typical (root mean square)
        distance of two random words; None if eps is None or the vectors are no longer stored.
    drawn: the share of all words, 0 to 1, that are replaced by a draw. The bound applies to these words only.
    curve: the attack at several eps, in ascending order.
    """

    mapping: str
    k: int
    embedding: str
    floor: float
    eps: float | None
    success: float | None
    distance: float | None
    drawn: float
    curve: tuple[BayesResult, ...]


@dataclass(frozen=True)
class Choice:
    """The mappings that `choose` considered, and the one that it suggests.

    bound: the largest acceptable probability that the best guess is right, as passed in `max_attack`.
    prior, prior_words: the name of the word frequencies, and the number of words that they were counted from.
    plus: whether stopwords are kept. calibration: how eps sets the temperature, "paper" or "tight".
    candidates: one per mapping.
    chosen: the suggested candidate; None if no mapping meets the bound at any eps.
    """

    bound: float
    prior: str
    prior_words: int
    plus: bool
    calibration: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None


def choose(
    database: Database = None,
    *,
    max_attack: float,
    data: Texts | None = None,
    column: str | None = None,
    prior: str | os.PathLike[str] | None = None,
    plus: bool = False,
    calibration: str = "paper",
    mappings: str | Sequence[str] = (),
    progress: ShareDone | None = None,
) -> Choice:
    """Suggest a mapping and the largest eps at which the best single guess is right at most as often as you allow.

    The attack is that of `attack_bayes`: computed exactly from the tables, for an attacker who knows how frequent words
    are. If several mappings meet the bound, the suggestion is the one with the replacements closest to the original
    words, unless it replaces fewer words.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    max_attack: the largest acceptable probability that the best guess is right, above 0 and below 1.
    data: your texts, in which words are counted: the path of a file, or a sequence of texts.
    column: the column of that file; None for lines of text and for a sequence.
    prior: the path of a file of word frequencies, with a word and a number per line. It takes precedence over data.
    plus: whether stopwords are kept. calibration: "paper" or "tight".
    mappings: a name, or several; by default all mappings in the database.
    progress: called with the share of the work done, 0 to 1.

    Returns a Choice; its `chosen` is None if no mapping meets the bound. The values, which are also saved in the table
    `measurements`, are computed from your texts and are not protected.

    SettingError if a setting is invalid or neither data nor prior is given; SourceError if a file cannot be read;
    MappingError if a mapping does not exist.
    """
    check_bound(max_attack)
    check_calibration(calibration)
    names: Sequence[str | None] = (
        list_once(mappings, "mappings") or [info.name for info in list_mappings(database)[0]] or [None]
    )
    candidates = []
    for name in names:
        under_test = MappingUnderTest(database, mapping=name)
        known = find_prior(under_test, prior, *((data, column) if prior is None else (None, None)))
        if known is None:
            raise SettingError(
                "word frequencies are missing; use --data FILE or --prior FILE (in Python: data=... or prior=...)"
            )
        candidates.append((under_test, known))
    return choose_setting(database, candidates, max_attack, calibration=calibration, plus=plus, progress=progress)


def check_bound(bound: float) -> float:
    """Return the bound on an attack; SettingError if it is not a number above 0 and below 1."""
    if isinstance(bound, bool) or not isinstance(bound, numbers.Real):
        raise SettingError(f"{_BOUND} must be a number between 0 and 1; found {type(bound).__name__}")
    if not 0.0 < bound < 1.0:
        raise SettingError(f"{_BOUND} must be above 0 and below 1; found {float(bound):g}")
    return bound


def choose_setting(
    database: Database,
    candidates: Sequence[tuple[MappingUnderTest, Prior]],
    bound: float,
    *,
    calibration: str = "paper",
    plus: bool = False,
    progress: ShareDone | None = None,
) -> Choice:
    """Return the choice among some mappings, each given with the prior of its words.

    The chosen one has the replacements closest to the original words, each at the largest eps within the bound. A
    mapping that replaces fewer words than another is not chosen.
    """
    check_bound(bound)
    found = []
    for number, (under_test, prior) in enumerate(candidates):
        known = prior.without(under_test.is_stopword) if plus else prior
        found.append(_find_candidate(database, under_test, known, bound, calibration, plus))
        if progress is not None:
            progress((number + 1) / len(candidates))
    most = max(candidate.drawn for candidate in found)
    fitting = [one for one in found if one.eps is not None and one.drawn >= most - _FEWER]
    prior = candidates[0][1]
    return Choice(
        bound, prior.name, prior.words, plus, calibration, tuple(found), min(fitting, key=_rank, default=None)
    )


def _rank(candidate: Candidate) -> tuple[float, float]:
    """Return a sort key: the smallest distance first, then the largest eps; unknown distances last."""
    assert candidate.eps is not None
    return (math.inf if candidate.distance is None else candidate.distance, -candidate.eps)


def _find_candidate(
    database: Database, under_test: MappingUnderTest, prior: Prior, bound: float, calibration: str, plus: bool
) -> Candidate:
    """Return a mapping with the largest eps within the bound, found by bisection between the eps of the curve."""
    mapping = under_test.mapping
    attack = partial(measure_bayes, database, mapping, [prior], calibration=calibration, plus=plus)

    def exceeds(epsilon: float) -> bool:
        weights = certify(mapping.sizes, mapping.scores, epsilon, calibration).weights
        return measure_success(mapping.sizes, weights, prior.chances) > bound

    curve = attack(CURVE)
    low = max((result.eps for result in curve if result.success <= bound), default=SMALLEST_EPSILON)
    high = min((result.eps for result in curve if result.success > bound), default=LARGEST_EPSILON)
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if exceeds(middle) else (middle, high)
    [best] = attack([max(SMALLEST_EPSILON, _round_down(low))])
    fits = best.success <= bound
    return Candidate(
        mapping=mapping.info.name,
        k=mapping.info.k,
        embedding=mapping.info.embedding,
        floor=curve[0].floor,
        eps=best.eps if fits else None,
        success=best.success if fits else None,
        distance=_measure_distance(under_test, prior, best.eps, calibration) if fits else None,
        drawn=prior.drawn,
        curve=tuple(curve),
    )


def _round_down(epsilon: float) -> float:
    """Return an eps rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.floor(epsilon / unit * (1.0 + 1e-12)) * unit:.6g}")


def _measure_distance(under_test: MappingUnderTest, prior: Prior, epsilon: float, calibration: str) -> float | None:
    """Return the mean distance of a word from its replacement; None if the vectors are no longer stored.

    The unit is the root mean square distance of two random words, so that the lengths of vectors do not matter.
    """
    space = under_test.find_space()
    if space is None:
        return None
    mapping, points = under_test.mapping, space.centered
    usual = math.sqrt(4.0 * float(space.half_squares.mean(dtype=np.float64))) or 1.0
    weights = certify(mapping.sizes, mapping.scores, epsilon, calibration).weights
    total = 0.0
    for groups, matrices in matrices_by_size(mapping.sizes, weights):
        words = mapping.word_starts[groups][:, None] + np.arange(matrices.shape[1])
        members = points[words].astype(np.float64)
        squares = (members**2).sum(axis=2)
        products = np.einsum("gid,gjd->gij", members, members)
        distances = np.sqrt(np.maximum(squares[:, :, None] + squares[:, None, :] - 2.0 * products, 0.0))
        expected = (distances * (matrices / 2.0**64)).sum(axis=2)
        total += float((expected * prior.chances[words]).sum())
    return total / usual
