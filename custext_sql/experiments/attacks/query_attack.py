"""The query attack: how many draws of one word identify it, for words of a stored mapping."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.query_simulation import count_for_likeliest, count_for_mode
from custext_sql.experiments.measurements import (
    Measurement,
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.trials import list_epsilons
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.sampler import Sampler
from custext_sql.parameters import check_whole
from custext_sql.store.database import Database
from custext_sql.store.mappings import load_mapping

TRIALS = 20_000  # simulated attacks on a word that somebody asks for
SAMPLE_TRIALS = 1_000  # on a word of a sample: enough for quantiles
SAMPLE = 100  # words of the vocabulary, where none is named


@dataclass(frozen=True)
class QueryResult:
    """How many draws of a word identify it with probability 0.95, at one eps.

    n_mode: for an attacker who takes the most frequent output; n_ml: for one who takes the input of greatest
    likelihood; None: no number of draws is enough. The errors are standard errors, since attacks are simulated.
    """

    word: str
    eps: float
    n_mode: int | None
    n_mode_error: float | None
    n_ml: int | None
    n_ml_error: float | None
    mapping: str
    calibration: str
    measurement_ids: tuple[str, str]


@dataclass(frozen=True)
class QueryAttack:
    """What the query attack achieves. words: on the words that were named; sample: on words chosen at random."""

    mapping: str
    calibration: str
    words: tuple[QueryResult, ...]
    sample: tuple[QueryResult, ...]

    @property
    def results(self) -> tuple[QueryResult, ...]:
        """Return the results of all words."""
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
    """Simulate an attacker who asks for the same word again and again, on the verified tables of a mapping.

    words: one or several words of the mapping. eps: one or several, 0.001 to 100. sample: attack this many words of the
    vocabulary too, chosen at random; 100 if no word is named. trials: simulated attacks per number, 100 or more; 20,000
    unless given, and 1,000 for a word of the sample. seed: of the simulation and the sample, 0 or more. calibration:
    "paper" or "tight". mapping: its name; the database's default unless given. progress: called with the share done.
    Results are saved in the table `measurements`, and reused. MappingError if a word is not in the mapping,
    SettingError if a setting is out of range.
    """
    named, epsilons = [words] if isinstance(words, str) else list(words), list_epsilons(eps)
    loaded = load_mapping(database, mapping)
    count = SAMPLE if sample is None and not named else check_whole(sample or 0, "sample")
    if not named and not count:
        raise SettingError("name a word, or how many to choose: sample (--sample 100)")
    if count < 0 or (trials is not None and check_whole(trials, "trials") < 100) or check_whole(seed, "seed") < 0:
        raise SettingError("sample and seed must be at least 0, trials at least 100")
    places = np.random.default_rng(seed).choice(len(loaded.words), min(count, len(loaded.words)), replace=False)
    others = [loaded.words[place] for place in places]
    found = [
        measure_queries(
            database,
            loaded,
            some,
            epsilons,
            calibration=calibration,
            trials=trials or usual,
            seed=seed,
            progress=progress,
        )
        for some, usual in ((named, TRIALS), (others, SAMPLE_TRIALS))
    ]
    return QueryAttack(loaded.info.name, calibration, *map(tuple, found))


def measure_queries(
    database: Database,
    mapping: Mapping,
    words: Sequence[str],
    epsilons: Sequence[float],
    *,
    calibration: str = "paper",
    trials: int = TRIALS,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> list[QueryResult]:
    """Return what the attack achieves on these words, at each eps in turn; the seed makes it repeatable."""
    settings = write_settings(trials=trials)
    sampler = Sampler(mapping, calibration)
    subjects = [
        replace(
            describe_mapping(mapping, "query", metric, epsilon, calibration), word=word, seed=seed, settings=settings
        )
        for word in [mapping.words[mapping.find(word)] for word in words]
        for epsilon in epsilons
        for metric in ("n_mode", "n_ml")
    ]

    def measure(subject: Subject, tell: ShareDone) -> tuple[float | None, float | None]:
        assert subject.word is not None and subject.eps is not None
        number = mapping.index[subject.word]
        matrix, place = _read_group(sampler, number, subject.eps)
        generator = np.random.default_rng([seed, number])
        if subject.metric == "n_mode":
            found = count_for_mode(matrix[place], place, trials=trials, generator=generator)
        else:
            found = count_for_likeliest(matrix, place, trials=trials, generator=generator)
        return found.draws, found.standard_error

    measured = iter(measure_or_reuse(database, subjects, measure, progress=progress))
    return [_as_query_result(mode, likeliest) for mode, likeliest in zip(measured, measured, strict=True)]


def find_quantile(counts: Sequence[int | None], share: float) -> int | None:
    """Return the least number of draws that is enough for that share of words; None: no number is."""
    known = sorted(count for count in counts if count is not None)
    place = max(0, math.ceil(share * len(counts)) - 1)
    return known[place] if place < len(known) else None


def _read_group(sampler: Sampler, word: int, epsilon: float) -> tuple[Floats, int]:
    """Return the probabilities within the group of a word, a row per input, and the word's place in the group."""
    mapping = sampler.mapping
    group = int(np.searchsorted(mapping.word_starts, word, side="right")) - 1
    first, size = int(mapping.word_starts[group]), int(mapping.sizes[group])
    weights = [sampler.row(number, epsilon) for number in range(first, first + size)]
    matrix = np.array(weights, dtype=np.float64) / 2.0**64
    return matrix / matrix.sum(axis=1, keepdims=True), word - first


def _as_query_result(mode: Measurement, likeliest: Measurement) -> QueryResult:
    subject = mode.subject
    assert subject.word is not None and subject.eps is not None
    return QueryResult(
        word=subject.word,
        eps=subject.eps,
        n_mode=_whole(mode.value),
        n_mode_error=mode.standard_error,
        n_ml=_whole(likeliest.value),
        n_ml_error=likeliest.standard_error,
        mapping=str(subject.mapping),
        calibration=str(subject.calibration),
        measurement_ids=(mode.measurement_id, likeliest.measurement_id),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
