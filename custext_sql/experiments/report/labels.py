"""Text in a chart: how wide it is, how it is broken into lines, and how it is written as SVG."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from custext_sql.experiments.report.chart_style import LINE, TEXT

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Box:
    """A rectangle of the viewBox; without width or height, a line."""

    left: float
    top: float
    right: float
    bottom: float

    def share(self, other: "Box") -> float:
        """The area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        return max(0.0, width) * max(0.0, min(self.bottom, other.bottom) - max(self.top, other.top))


@dataclass(frozen=True)
class Label:
    """Lines of text that start, end or are centred at (x, y), and stand above, below or level with it."""

    lines: Sequence[str]
    x: float
    y: float
    anchor: str = "middle"  # start, middle or end, as in SVG
    side: str = "middle"  # top: the text is below (x, y); bottom: above it; or middle
    bold: bool = False

    @cached_property
    def box(self) -> Box:
        """The space it takes at the largest size that CHART_STYLE gives to text."""
        width, height = max(map(measure, self.lines)) * (1.12 if self.bold else 1.0), LINE * len(self.lines)
        left = self.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        top = self.y - height * {"top": 0.0, "middle": 0.5, "bottom": 1.0}[self.side]
        return Box(left, top, left + width, top + height)

    def draw(self, kind: str) -> str:
        """The text; all steps are in em, since the page gives smaller letters to wider charts."""
        more = len(self.lines) - 1
        rise = {"top": 0.9, "middle": 0.35 - 0.6 * more, "bottom": -0.25 - 1.2 * more}[self.side]
        shifts = [rise] + [1.2] * more
        spans = "".join(
            f'<tspan x="{self.x:.1f}" dy="{shift:.2f}em">{clean(line)}</tspan>'
            for line, shift in zip(self.lines, shifts, strict=True)
        )
        return f'<text class="{kind}" x="{self.x:.1f}" y="{self.y:.1f}" text-anchor="{self.anchor}">{spans}</text>'


def clean(text: str) -> str:
    """The text for HTML and XML: escaped, and without the characters that neither may hold."""
    return escape(" ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", " ", text).split()))


def measure(text: str) -> float:
    """The width of a text, as wide as common sans-serif letters get (those of DejaVu Sans and Verdana)."""
    return TEXT * sum(map(_measure_letter, text))


def _measure_letter(letter: str) -> float:
    if letter in "ijlI.,:;|' !":
        return 0.36
    if letter in "frt()[]-/":
        return 0.43
    if letter in "mwMW%@…" + MINUS or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.72 if letter.isupper() else 0.64


def wrap(text: str, width: float) -> list[str]:
    """The text in lines that are no wider than the width; a word that is wider by itself is cut short."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(shorten(word, width))
    return [line for line in lines if line] or [""]


def shorten(text: str, width: float) -> str:
    """The text, or as much of its beginning as the width holds, with an ellipsis."""
    if measure(text) <= width:
        return text
    while text and measure(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"
