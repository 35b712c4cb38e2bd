"""The command `custext diff`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custext_sql.cli.file_options import encoding_option, format_option
from custext_sql.cli.options import (
    calibration_option,
    eps_option,
    json_option,
    mapping_option,
    plus_option,
    policy_option,
)
from custext_sql.cli.output import print_json, show_control
from custext_sql.parameters import count_of
from custext_sql.replacing.kinds import Kind

if TYPE_CHECKING:
    from custext_sql.replacing.replacer import Piece

_STYLES = {
    Kind.SAMPLED: "green",
    Kind.STOPWORD: "bright_black",
    Kind.NUMBER: "yellow",
    Kind.UNKNOWN: "red",
    Kind.ENDING: "bright_black",
    Kind.KEPT: "magenta",
    Kind.ALONE: "red",
}


@click.command("diff", short_help="Show texts of a file before and after.")
@click.argument("input_", metavar="INPUT")
@click.option("--column", metavar="NAME", help="Column to show; leave it out for lines of text.")
@click.option("--rows", default=5, show_default=True, type=click.IntRange(1, 1000), help="Number of rows from the top.")
@eps_option
@plus_option
@policy_option
@calibration_option
@mapping_option
@format_option
@encoding_option
@click.option("--html", metavar="FILE", help="Write a self-contained HTML page instead.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
@json_option
@click.pass_obj
def diff_command(
    db: str | None,
    input_: str,
    column: str | None,
    rows: int,
    eps: float,
    plus: bool,
    policy: str | None,
    calibration: str | None,
    mapping: str | None,
    format_: str | None,
    encoding: str | None,
    html: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show the first texts of a file before and after, with a color for what happened to each word, and the share of
    words that stay in the clear. The output contains the original texts: it is for you only, and nothing is entered in
    the ledger.

    \b
    Examples:
      custext diff reviews.csv --column body --rows 5 --eps 1 --plus
      custext diff reviews.csv --column body --html reviews.html
    """
    from custext_sql.release.file_comparison import compare_file

    compared = compare_file(
        input_,
        column=column,
        rows=rows,
        format=format_,
        encoding=encoding,
        database=db,
        mapping=mapping,
        eps=eps,
        plus=plus,
        policy=policy,
        calibration=calibration,
    )
    if html is not None:
        _write_page(Path(html), compared, f"{input_}, eps = {eps:g}", force=force)
        click.echo(f"{html}: {count_of(len(compared), 'row')}")
    elif as_json:
        print_json([_as_object(pieces) for pieces in compared])
    else:
        _print(compared)


def _as_object(pieces: "list[Piece]") -> dict[str, object]:
    from custext_sql.html.comparison import LEGEND

    words = [
        {"before": piece.before, "after": piece.after, "kind": LEGEND[piece.kind][1], "in_clear": piece.in_clear}
        for piece in pieces
        if piece.kind is not None
    ]
    before, after = ("".join(getattr(piece, side) for piece in pieces) for side in ("before", "after"))
    return {"before": before, "after": after, "words": words}


def _write_page(path: Path, compared: "list[list[Piece]]", title: str, *, force: bool) -> None:
    from custext_sql.html.comparison import write_comparison
    from custext_sql.store.files.atomic_outputs import publish_text

    note = "This page contains the original texts. Protect it as you protect the data."
    publish_text(path, write_comparison(compared, title=title, note=note), force=force, private=True)


def _print(compared: "list[list[Piece]]") -> None:
    from rich.console import Console
    from rich.text import Text

    from custext_sql.html.comparison import LEGEND

    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 120)
    for pieces in compared:
        for label, side in (("- ", "before"), ("+ ", "after")):
            line = Text().append(label, style="bold")
            for piece in pieces:
                style = "" if piece.kind is None else _STYLES[piece.kind]
                line.append(show_control(getattr(piece, side)), style=f"{style} underline" if piece.in_clear else style)
            console.print(line)
        console.print()
    words = [piece for pieces in compared for piece in pieces if piece.kind is not None]
    legend = Text()
    for kind, (label, _) in LEGEND.items():
        if count := sum(piece.kind == kind for piece in words):
            legend.append(f"{count:,} {label}", style=_STYLES[kind]).append("   ")
    console.print(legend)
    clear = sum(piece.in_clear for piece in words)
    share = f"{clear / len(words):.0%}" if words else "none"
    console.print(f"{clear:,} of {count_of(len(words), 'word')} in the clear ({share}), underlined")
