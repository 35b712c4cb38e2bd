"""The possible replacements of a word, from the same table that is sampled from."""

from dataclasses import dataclass

from custext_sql.arrays import Places
from custext_sql.errors import SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mapping.scoring import UNIT
from custext_sql.mechanism.generalization import find_representatives
from custext_sql.mechanism.sampler import Sampler
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.text.word_boundaries import fold_word


@dataclass(frozen=True)
class Replacement:
    """A possible replacement: the output word, its score (at most 1 in absolute value) and its probability."""

    output: str
    score: float
    probability: float


@dataclass(frozen=True)
class Distribution:
    """All possible replacements of a word, most probable first."""

    word: str
    mapping: str
    eps: float
    group: tuple[Replacement, ...]


def inspect_word(mapping: Mapping, word: str, eps: float, *, calibration: str = "paper") -> Distribution:
    """Return the possible replacements of a word with their scores and probabilities, most probable first.

    mapping: a Mapping, from `load_mapping`. eps: 0, or 0.001 to 100. calibration: "paper" or "tight". MappingError if
    the word is not in the mapping, SettingError if eps or calibration is invalid.
    """
    if not isinstance(mapping, Mapping):
        raise SettingError(f"mapping must be a Mapping (from load_mapping); found {type(mapping).__name__}")
    return find_distribution(Sampler(mapping, calibration), word, eps)


def find_distribution(
    sampler: Sampler, word: str, epsilon: float, representatives: Places | None = None
) -> Distribution:
    """Return the possible replacements of a word, from the verified weights of a sampler.

    representatives: what each word becomes at eps = 0; by default as if no stopwords were kept.
    """
    mapping, epsilon = sampler.mapping, check_epsilon(epsilon)
    outputs, scores = mapping.find_row(word)
    number = mapping.find(word)
    if epsilon:
        chances = [weight / 2.0**64 for weight in sampler.row(number, epsilon)]
    else:
        chosen = find_representatives(mapping) if representatives is None else representatives
        representative = mapping.words[chosen[number]]
        chances = [float(output == representative) for output in outputs]
    group = [
        Replacement(output, int(score) / UNIT, chance)
        for output, score, chance in zip(outputs, scores, chances, strict=True)
    ]
    group.sort(key=lambda replacement: (-replacement.probability, -replacement.score))
    return Distribution(fold_word(word), mapping.info.name, epsilon, tuple(group))
