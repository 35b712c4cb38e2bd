"""How charts look: sizes, colours, the outlines of markers, and the CSS that a page needs."""

WIDTH, PLOT_HEIGHT = 640.0, 330.0  # in the units of the viewBox; the figure's height grows with its labels
TEXT, LINE, RADIUS = 22.0, 26.0, 7.0  # of letters, a line of text, a marker; a phone of 360 px halves them
_SHAPES = (  # one for each colour, so that a chart can be read without colours
    "M-7 0A7 7 0 1 0 7 0A7 7 0 1 0 -7 0Z",  # circle
    "M-6.3 -6.3H6.3V6.3H-6.3Z",  # square
    "M0 -8.5L8 5.5H-8Z",  # triangle
    "M0 -9L8 0L0 9L-8 0Z",  # diamond
    "M0 8.5L8 -5.5H-8Z",  # triangle upside down
    "M-2.6 -8H2.6V-2.6H8V2.6H2.6V8H-2.6V2.6H-8V-2.6H-2.6Z",  # plus
    "M0 -9.5L2.5 -3L9 -2.9L3.9 1.3L5.6 7.7L0 4L-5.6 7.7L-3.9 1.3L-9 -2.9L-2.5 -3Z",  # star
    "M-7.6 -3.9L-3.9 -7.6L0 -3.7L3.9 -7.6L7.6 -3.9L3.7 0L7.6 3.9L3.9 7.6L0 3.7L-3.9 7.6L-7.6 3.9L-3.7 0Z",  # cross
)

# The colours stand 3:1 or more against white. Under simulated deuteranopia, protanopia and tritanopia (Machado et al.
# 2009, full severity) any two of them are at least 0.11 apart in OKLab; the first four, 0.15.
_COLORS = ("#2141aa", "#b94500", "#00888a", "#7c0053", "#b19211", "#3097fb", "#24300c", "#f837c6")

CHART_STYLE = (
    f".chart {{ {' '.join(f'--chart-{place}: {color};' for place, color in enumerate(_COLORS, 1))}"
    f" --chart-text: {TEXT:g}px;"
    """
  --chart-ink: #1c2733; --chart-soft: #5c6b7a; --chart-line: #dde3e9; --chart-paper: #ffffff;
  margin: 0 0 1.75rem; max-width: 44rem; min-width: 0; color: var(--chart-ink); break-inside: avoid; }
.chart figcaption { font-weight: 600; line-height: 1.35; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.chart-plot { container-type: inline-size; }
.chart-plot svg { display: block; width: 100%; height: auto; font-family: inherit; font-size: var(--chart-text);
  fill: var(--chart-ink); }
@container (min-width: 26rem) { .chart-plot svg { font-size: 18px; } }
@container (min-width: 32rem) { .chart-plot svg { font-size: 16px; } }
@container (min-width: 38rem) { .chart-plot svg { font-size: 14px; } }
@container (min-width: 42rem) { .chart-plot svg { font-size: 13px; } }
.chart text { pointer-events: none; font-variant-numeric: tabular-nums; }
.chart .tick, .chart .axis-label, .chart .mark-label { fill: var(--chart-soft); }
.chart .halo { paint-order: stroke; stroke: var(--chart-paper); stroke-width: 5px; stroke-linejoin: round; }
.chart .grid { stroke: var(--chart-line); stroke-width: 1.25; fill: none; }
.chart .frame { stroke: var(--chart-soft); stroke-width: 1.5; fill: none; }
.chart .mark { stroke: var(--chart-soft); stroke-width: 1.75; stroke-dasharray: 3 4; fill: none; }
.chart .curve { stroke: var(--chart-color); stroke-width: 2.75; stroke-linejoin: round; fill: none; }
.chart .dashed { stroke-dasharray: 10 6; }
.chart .spread { stroke: var(--chart-color); stroke-width: 2; fill: none; }
.chart .leader { stroke: var(--chart-color); stroke-width: 1.25; fill: none; }
.chart .marker { fill: var(--chart-color); stroke: var(--chart-paper); stroke-width: 1.5; }
.chart .point-label { fill: color-mix(in srgb, var(--chart-color) 65%, #000); font-weight: 600; }
.chart-legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0 0; padding: 0; list-style: none;
  font-size: .8125rem; line-height: 1.4; }
.chart-legend li { display: flex; align-items: flex-start; gap: .5rem; min-width: 0; margin: 0; }
.chart-legend svg { flex: none; }
.chart-legend span { min-width: 0; overflow-wrap: anywhere; }
.chart-empty { margin: 0; padding: 2.5rem 1rem; border: 1px dashed var(--chart-line); border-radius: .5rem;
  text-align: center; color: var(--chart-soft); }
@media print { .chart { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
    + "\n".join(
        f".chart .series-{place} {{ --chart-color: var(--chart-{place}); }}" for place in range(1, len(_COLORS) + 1)
    )
)


def style_series(place: int) -> tuple[str, str]:
    """The class of a series, by its place among the series, and the outline of its markers."""
    turn, color = divmod(place, len(_COLORS))
    return f"series-{color + 1}", _SHAPES[(color + turn) % len(_SHAPES)]
