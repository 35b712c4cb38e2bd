"""What pages of a report are made of: tables, and numbers that name the rows of `measurements` they come from."""

from collections.abc import Collection, Sequence
from html import escape

from custext_sql.experiments.evaluation.tradeoff import Figure
from custext_sql.experiments.report.contents import Number


def trace(text: str, *sources: str) -> str:
    """A number with the ids of the measurements that it comes from."""
    return f'<span data-measurement="{escape(" ".join(sources))}">{text}</span>'


def trace_figure(figure: Figure) -> str:
    """A mean and its spread."""
    spread = "" if figure.spread is None else f" <small>± {figure.spread:.4f}</small>"
    return trace(f"{figure.mean:.4f}", *figure.measurement_ids) + spread


def trace_draws(number: Number) -> str:
    """A number of draws and its standard error."""
    shown = trace("never" if number.value is None else f"{number.value:,.0f}", number.measurement_id)
    if number.error is None or number.error < 0.05:  # settled
        return shown
    return f"{shown} <small>± {number.error:,.{0 if number.error >= 0.95 else 1}f}</small>"


def trace_count(number: Number) -> str:
    """A whole number."""
    return trace(f"{number.value:,.0f}", number.measurement_id)


def write_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, chosen: Collection[int] = (), words: Collection[int] = (0,)
) -> str:
    """A table of HTML cells that scrolls by itself where it is too wide. chosen: columns to be marked. words: columns
    that hold no numbers.
    """

    def write(tag: str, cells: Sequence[str]) -> str:
        kinds = [
            " ".join([*(["words"] if place in words else []), *(["chosen"] if place in chosen else [])])
            for place in range(len(cells))
        ]
        written = (
            f'<{tag} class="{kind}">{cell}</{tag}>' if kind else f"<{tag}>{cell}</{tag}>"
            for kind, cell in zip(kinds, cells, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(write("td", row) for row in rows)
    return f'<div class="scroll"><table>{write("th", heads)}{body}</table></div>'


def write_eps(epsilon: float) -> str:
    """The head of a column."""
    return f"eps = {epsilon:g}"


def shorten(name: str, length: int = 28) -> str:
    """A name that fits into a chart."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[:half]}…{name[-half:]}"
