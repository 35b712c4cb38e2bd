"""The choice of eps and mapping: the largest eps at which the best single guess stays below a bound."""

import math
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
_FEWER = 0.01  # share of words by which a mapping may draw fewer than another
_STEPS = 8  # of bisection: to half a percent, as eps is given with two digits


@dataclass(frozen=True)
class Candidate:
    """A mapping, and the largest eps at which the attack stays within the bound; None: there is no such eps.

    floor: the success of a guess from the group alone, at any eps. success: of the best single guess, at that eps.
    distance: how far a word is from its replacement on average, at that eps, as a share of how far apart words are
    (smaller is closer to the text). drawn: the share of all words that are drawn; the bound is on these. curve: the
    success at several eps.
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
    """What was looked at, and what is suggested. chosen: None if no mapping keeps within the bound at any eps."""

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
    """Suggest the mapping and the largest eps at which the best single guess stays below a bound.

    The attack is that of `attack_bayes`: exact, from the tables, by an attacker who knows how frequent words are. Among
    mappings that will do, the suggested one has the replacements closest to the words, unless it draws fewer words.

    max_attack: how probably the best guess may be right, between 0 and 1. data: your texts, whose words are counted: a
    path, whose column is read, or texts. prior: a file of word frequencies to use instead. plus: stopwords are kept.
    calibration: "paper" or "tight". mappings: names to look at; all unless given. progress: called with the share done.

    What comes back, and is saved in the table `measurements`, is computed from your texts and is not protected.
    SettingError if a setting is out of range or neither data nor prior is given.
    """
    check_bound(max_attack)
    check_calibration(calibration)
    names: Sequence[str | None] = list_once(mappings) or [info.name for info in list_mappings(database)[0]] or [None]
    candidates = []
    for name in names:
        under_test = MappingUnderTest(database, mapping=name)
        known = find_prior(under_test, prior, *((data, column) if prior is None else (None, None)))
        if known is None:
            raise SettingError("say how frequent words are with data or prior (--data FILE, or --prior FILE)")
        candidates.append((under_test, known))
    return choose_setting(database, candidates, max_attack, calibration=calibration, plus=plus, progress=progress)


def check_bound(bound: float) -> float:
    """Return the bound if it is a probability that an attack may succeed with; SettingError if not."""
    if not 0.0 < bound < 1.0:
        raise SettingError(f"the bound on an attack must lie between 0 and 1; found {bound!r}")
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
    """Return which of these mappings, each with how frequent its words are, has the replacements closest to the words
    at the largest eps that keeps within the bound. One that draws fewer words than another is not chosen.
    """
    check_bound(bound)
    found = []
    for number, (under_test, prior) in enumerate(candidates):
        known = prior.without(under_test.is_stopword) if plus else prior
        found.append(_look_at(database, under_test, known, bound, calibration, plus))
        if progress is not None:
            progress((number + 1) / len(candidates))
    most = max(candidate.drawn for candidate in found)
    fitting = [one for one in found if one.eps is not None and one.drawn >= most - _FEWER]
    prior = candidates[0][1]
    return Choice(
        bound, prior.name, prior.words, plus, calibration, tuple(found), min(fitting, key=_rank, default=None)
    )


def _rank(candidate: Candidate) -> tuple[float, float]:
    """Return a key that sorts the closest first; where no distance is known, the largest eps."""
    assert candidate.eps is not None
    return (math.inf if candidate.distance is None else candidate.distance, -candidate.eps)


def _look_at(
    database: Database, under_test: MappingUnderTest, prior: Prior, bound: float, calibration: str, plus: bool
) -> Candidate:
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
    """Round an eps down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.floor(epsilon / unit * (1.0 + 1e-12)) * unit:.6g}")


def _measure_distance(under_test: MappingUnderTest, prior: Prior, epsilon: float, calibration: str) -> float | None:
    """Return the expected distance of a word from its replacement, as a share of that of any two words (the root of
    the mean of squares), so that it does not depend on how long vectors are; None if the vectors are no longer there.
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
