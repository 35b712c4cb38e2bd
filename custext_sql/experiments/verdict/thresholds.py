"""The thresholds of a verdict, and the reason for each. docs/evaluation.md explains them."""

import math
from dataclasses import dataclass

GREEN, AMBER, RED = "green", "amber", "red"
_ORDER = (GREEN, AMBER, RED)


@dataclass(frozen=True)
class Threshold:
    """Values up to `green` are green, and values up to `amber` are amber."""

    green: float
    amber: float

    def grade(self, value: float) -> str | None:
        """Return the color of a value."""
        return GREEN if value <= self.green else AMBER if value <= self.amber else RED


# The share of replaced words that are guessed. Up to a fifth, someone who acts on a guess is usually wrong. With two
# fifths of the words, it is usually clear what a sentence is about.
GUESSED = Threshold(0.2, 0.4)

# The share of replaced words of which an attacker is nearly certain: these are as good as in the clear.
CERTAIN = Threshold(0.05, 0.2)
CERTAINTY = 0.9

# The share of texts in which every replaced word is guessed: these are as good as published.
TEXTS_GUESSED = Threshold(0.01, 0.1)

# The share of words outside the vocabulary that pass unchanged. They are rare words, and so often names: one in a
# thousand is one in about fifty sentences.
EXPOSED = Threshold(0.001, 0.01)

# The share of common words that stay on purpose: stopwords, endings, public words. They are not secret themselves, but
# they show the grammar. They are never red, since the context attack measures what they give away.
KEPT = Threshold(0.05, math.inf)

# Symbols that stay, as a share of the number of words. Most are emoji, but flags spell words.
SYMBOLS = Threshold(0.01, math.inf)

# The eps of a row. Between two texts made of the same groups, an attacker can be e^x / (1 + e^x) certain at most: 75%
# at ln 3, 95% at ln 19. Beyond that, it is no meaningful promise. It is never red, because no row is promised
# anything; the context attack measures what rows give away.
ROW = Threshold(math.log(3.0), math.inf)
MEANINGFUL = math.log(19.0)

# How often a word must be drawn until it is identified. A telling word of one person, such as a name or a diagnosis,
# rarely occurs a thousand times, but may well occur a hundred times.
_MANY_DRAWS, _SOME_DRAWS = 1000.0, 100.0

# Advice that lowers the share of words that an attacker knows by less is not worth its price.
WORTHWHILE = 0.01

# The share of words outside the vocabulary from which on a larger vocabulary is advised.
LACKING = 0.05


def grade_draws(draws: float) -> str:
    """Return the color of the number of draws that identify a word."""
    return GREEN if draws >= _MANY_DRAWS else AMBER if draws >= _SOME_DRAWS else RED


def find_worst(*colors: str | None) -> str | None:
    """Return the worst of some colors; None without colors."""
    known = [color for color in colors if color is not None]
    return max(known, key=_ORDER.index, default=None)
