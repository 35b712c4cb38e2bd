"""What one output reveals, besides the best single guess: how certain it is, and how often a word stays the same."""

from dataclasses import dataclass

from custext_sql.experiments.attacks.best_guess import (
    join_neighbors,
    measure_certain,
    measure_certain_floor,
    measure_floor,
    measure_unchanged,
)
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.verdict.thresholds import CERTAINTY


@dataclass(frozen=True)
class OneOutput:
    """What one output reveals at an eps, besides the best single guess. Shares of the replaced words.

    certain: words of which the attacker of the best single guess is at least 90% certain.
    unchanged: words that are expected to be replaced by themselves.
    floor_of_joined: the floor of the best single guess, if every two neighboring groups were one.
    """

    certain: float
    unchanged: float
    floor_of_joined: float


def measure_one_output(under_test: MappingUnderTest, prior: Prior, epsilon: float, *, plus: bool) -> OneOutput:
    """Return what one output reveals at an eps, under a prior, which is without stopwords if `plus` is true."""
    sizes, chances = under_test.mapping.sizes, prior.chances
    joined = measure_floor(join_neighbors(sizes), chances)
    if epsilon == 0.0:  # a word stays the same if it is the representative of its group
        stays = under_test.vocabulary.representatives(plus) == range(len(chances))
        return OneOutput(measure_certain_floor(sizes, chances, CERTAINTY), float(chances[stays].sum()), joined)
    weights = under_test.certify(epsilon).weights
    certain = measure_certain(sizes, weights, chances, CERTAINTY)
    return OneOutput(certain, measure_unchanged(sizes, weights, chances), joined)
