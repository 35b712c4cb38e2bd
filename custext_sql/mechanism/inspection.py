"""A word's group as a reader wants to see it: outputs, scores, probabilities."""

from dataclasses import dataclass

from custext_sql.mapping.mapping import Mapping
from custext_sql.mapping.scoring import UNIT
from custext_sql.mechanism.weights import probabilities
from custext_sql.text.word_boundaries import fold_word


@dataclass(frozen=True)
class Outcome:
    output: str
    score: float
    probability: float


@dataclass(frozen=True)
class Inspection:
    """What may come out for one word, most probable first."""

    word: str
    mapping: str
    eps: float
    group: tuple[Outcome, ...]


def inspect_word(mapping: Mapping, word: str, epsilon: float) -> Inspection:
    """The distribution of a word's replacement at that epsilon (calibration "paper")."""
    outputs, scores = mapping.find_row(word)
    chances = probabilities(scores, epsilon)
    outcomes = [
        Outcome(output, int(score) / UNIT, float(chance))
        for output, score, chance in zip(outputs, scores, chances, strict=True)
    ]
    outcomes.sort(key=lambda outcome: -outcome.probability)
    return Inspection(fold_word(word), mapping.info.name, epsilon, tuple(outcomes))
