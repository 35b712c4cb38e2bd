"""Other settings that a report compares with its own: a smaller eps, larger groups, no kept stopwords."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.experiments.attacks.bayes_attack import BayesResult, measure_guess
from custext_sql.experiments.attacks.context_attack import ContextAttack
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report.one_output import OneOutput
from custext_sql.experiments.verdict.figures import Alternative
from custext_sql.mapping.mapping import MappingInfo
from custext_sql.store.database import Database
from custext_sql.store.mappings import list_mappings, load_mapping


@dataclass(frozen=True)
class Attacked:
    """What was measured at the settings of a report.

    prior: how frequent words are; with `plus`, `every` also has the stopwords. curve: the best single guess under that
    prior at several eps. chosen: the one at the eps of the report.
    """

    under_test: MappingUnderTest
    prior: Prior
    every: Prior
    plus: bool
    curve: Sequence[BayesResult]
    chosen: BayesResult
    context: ContextAttack | None
    one_output: OneOutput


def list_alternatives(database: Database, attacked: Attacked) -> Iterator[Alternative]:
    """Yield other settings, which takes a few seconds at most."""
    mapping, eps = attacked.under_test.mapping.info, attacked.chosen.eps
    contexts = {} if attacked.context is None else {one.eps: one.success for one in attacked.context.results}
    for one in attacked.curve:
        if one.eps < eps:
            yield Alternative(mapping.name, mapping.k, one.eps, attacked.plus, one.success, contexts.get(one.eps))
    if attacked.plus:
        guess = measure_guess(attacked.under_test, attacked.every.chances, eps)
        yield Alternative(mapping.name, mapping.k, eps, False, guess, replaced=attacked.every.drawn)
    yield _compare_groups(database, attacked)


def _compare_groups(database: Database, attacked: Attacked) -> Alternative:
    """Return larger groups: those of the stored mapping with the next larger K, or else about twice as large ones."""
    mapping, eps = attacked.under_test.mapping.info, attacked.chosen.eps
    larger = _find_larger(database, mapping)
    if larger is None:
        guess = attacked.chosen.success * attacked.one_output.floor_of_joined / attacked.chosen.floor
        return Alternative(mapping.name, 2 * mapping.k, eps, attacked.plus, guess, estimated=True)
    now = attacked.under_test
    other = MappingUnderTest(
        database, mapping=load_mapping(database, larger.name), policy=now.policy, calibration=now.calibration
    )
    known = dict(zip(now.mapping.words, attacked.prior.chances.tolist(), strict=True))
    chances = np.array([known.get(word, 0.0) for word in other.mapping.words])
    share = float(chances.sum())
    guess = measure_guess(other, chances / share, eps)
    return Alternative(larger.name, larger.k, eps, attacked.plus, guess, replaced=attacked.prior.drawn * share)


def _find_larger(database: Database, mapping: MappingInfo) -> MappingInfo | None:
    """Return the stored mapping of the same vectors and number of words with the next larger K."""
    others = [
        one
        for one in list_mappings(database)[0]
        if (one.embedding_sha256, one.words) == (mapping.embedding_sha256, mapping.words) and one.k > mapping.k
    ]
    return min(others, key=lambda one: one.k, default=None)
