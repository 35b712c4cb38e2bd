"""Axes: ticks that cover the values with space between their labels, and where on the plot a value lies."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from custext_sql.experiments.report.chart_style import LINE, PLOT_HEIGHT, RADIUS, TEXT, WIDTH
from custext_sql.experiments.report.labels import MINUS, measure
from custext_sql.experiments.report.series import LARGEST


@dataclass(frozen=True)
class Tick:
    """A value that an axis names."""

    value: float
    text: str


@dataclass(frozen=True)
class Axis:
    """The values between two ends of the plot, and the ticks, of which the first and the last are the ends."""

    name: str
    ticks: Sequence[Tick]
    start: float
    end: float
    percent: bool
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies in the viewBox; what is beyond an end lies at that end."""
        values = (self.ticks[0].value, self.ticks[-1].value, value)
        low, high, at = map(math.log10, values) if self.log else values
        return self.start + (self.end - self.start) * min(1.0, max(0.0, (at - low) / (high - low)))

    def write(self, value: float) -> str:
        """A value to four digits, as a percentage if the axis shows shares."""
        value = 100 * value if self.percent else value
        text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
        return text.replace("-", MINUS) + ("%" if self.percent else "")


def lay_y_axis(name: str, values: Sequence[float], *, percent: bool) -> Axis:
    """The axis beside the plot, from its bottom to its top."""
    choices = _choose_even_ticks(*_widen(values), percent)
    return _take_finest((Axis(name, ticks, PLOT_HEIGHT, 0.0, percent) for ticks in choices), lambda _: LINE / 2)


def lay_x_axis(name: str, values: Sequence[float], left: float, *, percent: bool, log: bool) -> Axis:
    """The axis below the plot; its labels stay between left and the right end of the chart."""

    def lay(ticks: Sequence[Tick]) -> Axis:
        start = max(left, measure(ticks[0].text) / 2)
        end = WIDTH - max(measure(ticks[-1].text) / 2 + 2, RADIUS + 3)
        return Axis(name, ticks, start, end, percent, log)

    choices = _choose_log_ticks(*_widen_log(values), percent) if log else _choose_even_ticks(*_widen(values), percent)
    return _take_finest(map(lay, choices), lambda tick: measure(tick.text) / 2 + TEXT / 3)


def _take_finest(axes: Iterable[Axis], half: Callable[[Tick], float]) -> Axis:
    """The first axis whose labels, each with half its room on either side, do not meet; or the last one."""
    for axis in axes:
        if all(abs(axis.place(b.value) - axis.place(a.value)) >= half(a) + half(b) for a, b in pairwise(axis.ticks)):
            break
    return axis


def _widen(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest value, or a range about the value when all are the same."""
    low, high = min(values), max(values)
    if high - low > max(1e-9 * max(abs(low), abs(high)), 1 / LARGEST):
        return low, high
    room = abs(high) / 2 if abs(high) > 1 / LARGEST else 1.0
    return low - room, high + room


def _widen_log(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high / low > 1 + 1e-9 else (low / 2, high * 2)


def _choose_even_ticks(low: float, high: float, percent: bool) -> Iterator[list[Tick]]:
    """Ticks that cover low to high, the finest first, with steps of 1, 2 or 5 times a power of ten."""
    for count in range(7, 0, -1):
        raw = (high - low) / count
        power = math.floor(math.log10(raw))
        step = next(step for digit in (1, 2, 5, 10) if raw <= (step := digit * 10.0**power) * (1 + 1e-9))
        numbers = range(math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6) + 1)
        values = [round(number * step, max(0, 1 - power)) for number in numbers]
        largest = max(map(abs, values))
        yield [Tick(value, _write_tick(value, step, largest, percent)) for value in values]


def _choose_log_ticks(low: float, high: float, percent: bool) -> Iterator[list[Tick]]:
    """Ticks that cover low to high, the finest first: 1, 2 and 5 times powers of ten, or powers of ten alone."""
    ladder = _climb(low, high, (1, 2, 5), 1)
    if len(ladder) < 3:  # the values are too close for steps of 2: even steps, which a log scale can show too
        yield from (ticks for ticks in _choose_even_ticks(low, high, percent) if ticks[0].value > 0)
    for values in [ladder, *(_climb(low, high, (1,), stride) for stride in (1, 2, 3, 4, 6, 10, 20, 50))]:
        yield [Tick(value, _write_tick(value, value, value, percent)) for value in values]


def _climb(low: float, high: float, digits: Sequence[int], stride: int) -> list[float]:
    """The digits times every power of ten that the stride divides, from the last below low to the first above high."""
    first, last = (math.floor(math.log10(value) / stride) for value in (low, high))
    steps = [digit * 10.0 ** (stride * power) for power in range(first - 1, last + 3) for digit in digits]
    start = max(place for place, step in enumerate(steps) if step <= low * (1 + 1e-9))
    end = min(place for place, step in enumerate(steps) if step >= high * (1 - 1e-9))
    return steps[start : end + 1]


def _write_tick(value: float, step: float, largest: float, percent: bool) -> str:
    """A number with the digits that a step can change; with an exponent if the largest of its axis needs one."""
    if percent:
        value, step, largest = 100 * value, 100 * step, 100 * largest
    last = math.floor(math.log10(step) + 1e-9)
    if value == 0:
        text = "0"
    elif step < 1e-5 or largest >= (1e7 if step >= 1e4 else 1e15):
        digits = max(0, math.floor(math.log10(abs(value)) + 1e-9) - last)
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    else:
        text = f"{value:,.{max(0, -last)}f}"
    return text.replace("-", MINUS) + ("%" if percent else "")
