"""How often an attacker guesses words, over all draws or over many."""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.experiments.attacks.bigram_model import BigramModel
from custext_sql.experiments.attacks.output_likelihoods import OutputLikelihoods
from custext_sql.experiments.verdict.thresholds import CERTAINTY
from custext_sql.text.encoded_text import spread_out

_CELLS = 1 << 20  # outputs times words of a group, worked on at a time


@dataclass(frozen=True)
class WordChances:
    """How often an attacker guesses a replaced word from its replacement alone, over all possible draws.

    right: the probability that the best guess is right. certain: the probability of a replacement after which the
    attacker is at least 90% certain of the best guess. unchanged: the probability that the word is replaced by itself.
    """

    right: float
    certain: float
    unchanged: float


@dataclass(frozen=True)
class ContextChances:
    """How often an attacker guesses the replaced words of a text from the whole text, over simulated draws.

    right: the share of the replaced words that are guessed correctly. all_right: the share of the simulations in which
    every one of them is. simulations: how many there were.
    """

    right: float
    all_right: float
    simulations: int


def find_chances(model: BigramModel, likelihoods: OutputLikelihoods, words: Numbers) -> tuple[Floats, Floats, Floats]:
    """Return for each of some words, by number, what `WordChances` says of one, in its order. All must be replaced."""
    alphabet = model.alphabet
    right, certain, unchanged = np.zeros((3, alphabet.size + 1))  # filled up, as rows of symbols are
    classes = np.unique(alphabet.classes[words])
    for some in np.array_split(classes, 1 + int(alphabet.sizes[classes].sum()) * model.width // _CELLS):
        outputs = spread_out(alphabet.firsts[some], alphabet.sizes[some])
        rows, own = np.arange(len(outputs)), alphabet.classes[outputs]
        chances, hidden = likelihoods.find(outputs), model.list_symbols(own)
        together = chances * model.find_chances(own)
        best = together.argmax(axis=1)
        np.add.at(right, hidden[rows, best], chances[rows, best])
        sure = together[rows, best] >= CERTAINTY * together.sum(axis=1)
        np.add.at(certain, hidden[sure], chances[sure])
        unchanged[outputs] = chances[rows, model.columns[outputs]]
    return right[words], certain[words], unchanged[words]
