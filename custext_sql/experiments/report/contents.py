"""What a report contains, and how its parts are measured: one output, many draws, and what becomes of words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from custext_sql.arrays import Flags, Numbers
from custext_sql.experiments.attacks.bayes_attack import (
    BayesResult,
    Prior,
    join_neighbors,
    measure_certain,
    measure_certain_floor,
    measure_floor,
    measure_unchanged,
)
from custext_sql.experiments.attacks.context_attack import ContextAttack
from custext_sql.experiments.attacks.query_attack import QueryResult, find_quantile, measure_queries
from custext_sql.experiments.mechanisms import MappingUnderTest, ShareDone
from custext_sql.experiments.verdict.figures import Verdict
from custext_sql.experiments.verdict.thresholds import CERTAINTY
from custext_sql.kinds import COUNTS, Kind
from custext_sql.release.inputs.texts import Texts, name_texts, stream_texts
from custext_sql.sanitizer.policy import name_policy
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.tally import Counts, Tally
from custext_sql.store.auditing import Certificate

QUANTILES = (0.05, 0.5, 0.95)
_SIMULATIONS = 400  # per number: precise to about 7%, less than what differs from sample to sample
RECEIPT_COUNTS = ("rows", "words", *COUNTS, "symbols", "characters_in_clear")


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


@dataclass(frozen=True)
class Quantile:
    """How many draws suffice to identify a share of the vocabulary with probability 0.95, at one eps.

    share: 0 to 1. n_mode: for an attacker who guesses the most frequent output. n_ml: for one who guesses the input of
    maximum likelihood. None: no number is enough.
    n_mode_error, n_ml_error: their standard errors, mostly due to the words that happen to be in the sample.
    """

    share: float
    eps: float
    n_mode: int | None
    n_mode_error: float | None
    n_ml: int | None
    n_ml_error: float | None


@dataclass(frozen=True)
class LetThrough:
    """What becomes of the words of some texts.

    dataset: the name of the texts. policy: its name. plus: whether stopwords are kept. numbers: what becomes of numbers
    outside the vocabulary, as in a policy.
    counts: the counts of a `Receipt`, by name, such as "words", "replaced" and "characters_in_clear"; also the median
    and the largest number of replaced words of a text, "median_replaced" and "largest_replaced".
    """

    dataset: str
    policy: str
    plus: bool
    numbers: str
    counts: dict[str, float]


@dataclass(frozen=True)
class Report:
    """How private texts are at one eps.

    verdict: what all of this means, in plain words, for the person who must sign.
    created_at: UTC. mapping, fingerprint, k, words, groups: the name of the mapping, the SHA-256 of its tables, its
        group size K, and its numbers of words and groups.
    eps: the budget per word. calibration: how eps sets the temperature, "paper" or "tight". plus: whether stopwords are
        kept. policy: its name.
    priors: the names of the priors: "uniform", and that of your texts or of a file, if given.
    certificate: what was verified, one Certificate per calibration.
    bayes: the best single guess, one result per prior, calibration and eps. one_output: what else one output reveals.
    context: the context attack on your texts; None if no public texts were given.
    queries: the query attack, one result per word and eps.
    quantiles: the draws that suffice for shares of random words of the vocabulary. sample: the number of these words.
    let_through: what becomes of the words of your texts; None if there are none.

    Shares and probabilities are 0 to 1.
    """

    verdict: Verdict
    created_at: datetime
    mapping: str
    fingerprint: str
    k: int
    words: int
    groups: int
    eps: float
    calibration: str
    plus: bool
    policy: str
    priors: tuple[str, ...]
    certificate: tuple[Certificate, ...]
    bayes: tuple[BayesResult, ...]
    one_output: OneOutput
    context: ContextAttack | None
    queries: tuple[QueryResult, ...]
    quantiles: tuple[Quantile, ...]
    sample: int
    let_through: LetThrough | None


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


def measure_sample(
    under_test: MappingUnderTest, count: int, epsilons: Sequence[float], *, progress: ShareDone | None = None
) -> list[Quantile]:
    """Return how many draws suffice for shares of some random words of the vocabulary, at each eps."""
    words = under_test.mapping.words
    places = np.random.default_rng(0).choice(len(words), count, replace=False)
    found = measure_queries(
        under_test.mapping,
        [words[place] for place in places],
        epsilons,
        calibration=under_test.calibration,
        simulations=_SIMULATIONS,
        progress=progress,
    )
    return [
        Quantile(share, epsilon, *_find_draws(some, "n_mode", share), *_find_draws(some, "n_ml", share))
        for share in QUANTILES
        for epsilon in epsilons
        for some in [[result for result in found if result.eps == epsilon]]
    ]


def _find_draws(results: Sequence[QueryResult], name: str, share: float) -> tuple[int | None, float | None]:
    """Return a quantile of the draws that words need, and its standard error."""
    counts = [getattr(result, name) for result in results]
    wanted = find_quantile(counts, share)
    own = next(getattr(result, f"{name}_error") for result in results if getattr(result, name) == wanted)
    wide = math.sqrt(share * (1.0 - share) / len(counts))  # standard error of a share of the sample
    low, high = (find_quantile(counts, min(max(share + step, 0.0), 1.0)) for step in (-wide, wide))
    if own is None or low is None or high is None:
        return wanted, None
    return wanted, math.hypot(own, (high - low) / 2.0)


def count_let_through(
    under_test: MappingUnderTest, data: Texts | None, column: str | None, *, epsilon: float, plus: bool
) -> LetThrough | None:
    """Return what becomes of the words of some texts under the policy under test; None without texts."""
    if data is None:
        return None
    policy = under_test.policy
    sanitizer = Sanitizer(under_test.mapping, under_test.stopwords, Settings.settle(policy=policy))
    tally = _RowTally()
    for part in stream_texts(data, column):
        sanitizer.sanitize_column(part, epsilon, plus, tally=tally)
    receipt = sanitizer.receipt(tally, epsilon, plus)
    median, largest = tally.find_replaced()
    counts = {name: getattr(receipt, name) for name in RECEIPT_COUNTS}
    counts |= {"median_replaced": median, "largest_replaced": largest}
    return LetThrough(name_texts(data), name_policy(policy), plus, policy.numbers, counts)


class _RowTally(Tally):
    """A tally that also counts rows by the number of their replaced words."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: Numbers = np.zeros(1, dtype=np.int64)

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Add the counts of some texts."""
        super().add(counts, missing=missing)
        replaced = counts.by_kind[:, Kind.REPLACED]
        new = np.bincount(replaced if missing is None else replaced[~missing], minlength=len(self._sizes))
        new[: len(self._sizes)] += self._sizes
        self._sizes = new

    def find_replaced(self) -> tuple[float, float]:
        """Return the median and the largest number of replaced words of a row; 0 without rows."""
        below, rows = np.cumsum(self._sizes), int(self._sizes.sum())
        low, high = (int(np.searchsorted(below, rank, side="right")) for rank in ((rows - 1) // 2, rows // 2))
        return ((low + high) / 2.0, float(self._sizes.nonzero()[0][-1])) if rows else (0.0, 0.0)
