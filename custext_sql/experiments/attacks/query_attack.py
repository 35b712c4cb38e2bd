"""The query attack: how many draws of a word of a mapping an attacker needs to identify it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Places
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.query_simulation import DrawCount, count_for_likeliest, count_for_mode
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.trials import list_epsilons, list_strings
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.generalization import find_representatives
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.parameters import check_at_least
from custext_sql.store.database import Database
from custext_sql.store.mappings import load_mapping

SIMULATIONS = 20_000  # per number, for a named word
SAMPLE_SIMULATIONS = 1_000  # per number, for a word of a sample: enough for quantiles
SAMPLE = 100  # words, if none is named
_FEWEST_SIMULATIONS = 100


@dataclass(frozen=True)
class QueryResult:
    """How many draws of a word an attacker needs to identify it with probability 0.95, at one eps.

    word: the word, in lower case. eps: the budget per draw.
    n_mode: the draws needed by an attacker who guesses the most frequent output; None if no number is enough.
    n_ml: the draws needed by an attacker who guesses the input of maximum likelihood; None if no number is enough.
    n_mode_error, n_ml_error: their standard errors, in draws, since attacks are simulated; None without a number.
    mapping: its name. calibration: how eps sets the temperature, "paper" or "tight".
    """

    word: str
    eps: float
    n_mode: int | None
    n_mode_error: float | None
    n_ml: int | None
    n_ml_error: float | None
    mapping: str
    calibration: str


@dataclass(frozen=True)
class QueryAttack:
    """The results of the query attack on a mapping.

    mapping: its name. calibration: how eps sets the temperature, "paper" or "tight".
    words: the results of the named words, one per word and eps.
    sample: the results of words chosen at random from the vocabulary, one per word and eps.
    """

    mapping: str
    calibration: str
    words: tuple[QueryResult, ...]
    sample: tuple[QueryResult, ...]

    @property
    def results(self) -> tuple[QueryResult, ...]:
        """The results of all words, those named first."""
        return (*self.words, *self.sample)


def attack_query(
    database: Database = None,
    words: str | Sequence[str] = (),
    *,
    eps: float | Sequence[float] = (1.0, 2.0, 3.0, 8.0),
    sample: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    calibration: str = "paper",
    mapping: str | None = None,
    progress: ShareDone | None = None,
) -> QueryAttack:
    """Simulate attackers who ask for a replacement of the same word again and again, and count the draws they need.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    words: a word of the mapping, or several.
    eps: one budget per draw or several, 0, or 0.001 to 100.
    sample: also attack this many words of the vocabulary, chosen at random; by default 100 if no word is named, else 0.
    trials: simulated attacks per number, at least 100; by default 20,000, and 1,000 for a word of the sample.
    seed: the seed of the simulation and the sample, at least 0.
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    progress: called with the share of the work done, 0 to 1.

    Returns a QueryAttack.

    MappingError if the mapping does not exist or lacks a word; SettingError if a setting is invalid.
    """
    named, epsilons = list_strings(words, "words"), list_epsilons(eps)
    loaded = load_mapping(database, mapping)
    count = SAMPLE if sample is None and not named else check_at_least(sample or 0, 0, "sample")
    if not named and not count:
        raise SettingError("name at least one word, or use --sample N (in Python: sample=N) with N above 0")
    if trials is not None:
        check_at_least(trials, _FEWEST_SIMULATIONS, "trials")
    check_at_least(seed, 0, "seed")
    check_calibration(calibration)
    places = np.random.default_rng(seed).choice(len(loaded.words), min(count, len(loaded.words)), replace=False)
    others = [loaded.words[place] for place in places]
    found = [
        measure_queries(
            loaded,
            some,
            epsilons,
            calibration=calibration,
            simulations=trials or usual,
            seed=seed,
            progress=progress,
        )
        for some, usual in ((named, SIMULATIONS), (others, SAMPLE_SIMULATIONS))
    ]
    return QueryAttack(loaded.info.name, calibration, *map(tuple, found))


def measure_queries(
    mapping: Mapping,
    words: Sequence[str],
    epsilons: Sequence[float],
    *,
    calibration: str = "paper",
    simulations: int = SIMULATIONS,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> list[QueryResult]:
    """Return a result for each word and eps. The same seed gives the same results. simulations: per number."""
    representatives = find_representatives(mapping) if 0.0 in epsilons else None
    pairs = [(place, epsilon) for place in map(mapping.find, words) for epsilon in epsilons]
    results = []
    for number, (place, epsilon) in enumerate(pairs):
        part_of(progress, number, len(pairs))(0.0)
        mode, likeliest = _count_draws(mapping, place, epsilon, calibration, representatives, simulations, seed)
        results.append(
            QueryResult(
                word=mapping.words[place],
                eps=epsilon,
                n_mode=mode.draws,
                n_mode_error=mode.standard_error,
                n_ml=likeliest.draws,
                n_ml_error=likeliest.standard_error,
                mapping=mapping.info.name,
                calibration=calibration,
            )
        )
    return results


def find_quantile(counts: Sequence[int | None], share: float) -> int | None:
    """Return the smallest number of draws that suffices for that share of words; None if no number does."""
    known = sorted(count for count in counts if count is not None)
    place = max(0, math.ceil(share * len(counts)) - 1)
    return known[place] if place < len(known) else None


def count_draws(
    mapping: Mapping,
    word: str,
    epsilon: float,
    *,
    calibration: str = "paper",
    simulations: int = SAMPLE_SIMULATIONS,
    representatives: Places | None = None,
) -> tuple[int | None, int | None]:
    """Return n_mode and n_ml of a word, as in `QueryResult`.

    simulations: per number. representatives: what each word becomes at eps = 0; by default as if none were kept.
    """
    epsilon = check_epsilon(epsilon)
    if epsilon == 0.0 and representatives is None:
        representatives = find_representatives(mapping)
    counts = _count_draws(mapping, mapping.find(word), epsilon, calibration, representatives, simulations)
    return counts[0].draws, counts[1].draws


def _count_draws(
    mapping: Mapping,
    word: int,
    epsilon: float,
    calibration: str,
    representatives: Places | None,
    simulations: int,
    seed: int = 0,
) -> tuple[DrawCount, DrawCount]:
    """Return the draws for n_mode and n_ml of a word. representatives: those of all words, for eps = 0."""
    group = int(np.searchsorted(mapping.word_starts, word, side="right")) - 1
    first, size = int(mapping.word_starts[group]), int(mapping.sizes[group])
    if epsilon == 0.0:
        assert representatives is not None
        matrix = np.tile(np.eye(size)[representatives[word] - first], (size, 1))
    else:
        start = int(mapping.score_starts[group])
        table = certify(mapping.sizes[group : group + 1], mapping.scores[start : start + size**2], epsilon, calibration)
        matrix = table.weights.reshape(size, size) / 2.0**64
        matrix /= matrix.sum(axis=1, keepdims=True)
    place, generators = word - first, [np.random.default_rng([seed, word]) for _ in range(2)]
    mode = count_for_mode(matrix[place], place, simulations=simulations, generator=generators[0])
    return mode, count_for_likeliest(matrix, place, simulations=simulations, generator=generators[1])
