"""The settings eps and plus of a batch: one value for all rows, or one per row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from custext_sql.arrays import Flags, Floats, Places
from custext_sql.errors import SettingError
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.replacing.arrow_settings import read_epsilons, read_flags

Epsilon = float | Sequence[float] | Floats
Plus = bool | Sequence[bool] | Flags


@dataclass(frozen=True)
class RowSettings:
    """The privacy budget per word, and whether stopwords are kept; for all rows or for each."""

    epsilon: float | Floats
    plus: bool | Flags

    def at(self, rows: slice | Places) -> "RowSettings":
        """Return the settings of some rows."""
        return RowSettings(
            self.epsilon[rows] if isinstance(self.epsilon, np.ndarray) else self.epsilon,
            self.plus[rows] if isinstance(self.plus, np.ndarray) else self.plus,
        )


def check_settings(epsilon: Epsilon, plus: Plus, rows: int) -> RowSettings:
    """Return the settings of `rows` rows. Raise SettingError if a value is invalid or their number is wrong."""
    return RowSettings(_check_epsilons(read_epsilons(epsilon), rows), _check_plus(read_flags(plus), rows))


def check_count(what: str, found: int, rows: int, *, dimensions: int = 1) -> None:
    """Raise SettingError unless there is one value per row."""
    if dimensions != 1:
        raise SettingError(f"{what} must have one value per text; found an array of {dimensions} dimensions")
    if found != rows:
        raise SettingError(f"{what} must have one value per text, {rows:,} in all; found {found:,}")


def _check_epsilons(epsilon: Any, rows: int) -> float | Floats:
    if np.ndim(epsilon) == 0:
        return check_epsilon(epsilon)
    try:
        values = np.asarray(epsilon)
        if values.dtype == np.bool_:
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise SettingError("eps must be a number, or one number per text; found something else") from None
    check_count("eps", len(values), rows, dimensions=values.ndim)
    if len(values) and (values == values[0]).all():
        return check_epsilon(float(values[0]))
    for value in np.unique(values).tolist():
        check_epsilon(value)
    return values


def _check_plus(plus: Any, rows: int) -> bool | Flags:
    values = np.asarray(plus)
    if values.dtype != np.bool_:
        wrong = (type(value).__name__ for value in values.ravel().tolist() if not isinstance(value, bool))
        raise SettingError(f"plus must be a bool, or one bool per text; found {next(wrong, 'an empty list')}")
    if values.ndim == 0:
        return bool(values)
    check_count("plus", len(values), rows, dimensions=values.ndim)
    return bool(values[0]) if len(values) and (values == values[0]).all() else values
