"""The largest eps that still promises something, whatever the attack."""

import math

from custext_sql.errors import SettingError
from custext_sql.experiments.choosing.selection import round_down
from custext_sql.experiments.verdict.thresholds import GUESSED
from custext_sql.mechanism.weights import LARGEST_EPSILON, check_epsilon


def find_eps_limit(hides_among: int) -> float:
    """Return the largest eps, to two digits, at which the promise for a word is not red in a verdict; 0 if none is.

    If all words of a group of n were equally likely before, an output can make one of them 1 / (1 + (n - 1) exp(-eps))
    likely. That must not exceed the share of words from which on a verdict is red.
    """
    most = (hides_among - 1) * GUESSED.amber / (1.0 - GUESSED.amber)
    return min(round_down(math.log(most)), LARGEST_EPSILON) if most > 1.01 else 0.0


def check_max_eps(epsilon: float) -> float:
    """Return the largest eps to consider; SettingError if it is not a valid eps."""
    try:
        return check_epsilon(epsilon)
    except SettingError as error:
        raise SettingError(f"--max-eps (in Python: max_eps): {error}") from None
