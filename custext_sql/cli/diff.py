"""The command `custext diff`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.input_options import input_options
from custext_sql.cli.options import SEED, calibration_option, json_option, language_option, mapping_option
from custext_sql.cli.output import print_json, show_control, warn
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of
from custext_sql.replacing.kinds import Kind

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts
    from custext_sql.release.preview.comparison import ComparedRow, Comparison

_STYLES = {
    Kind.SAMPLED: "green",
    Kind.STOPWORD: "bright_black",
    Kind.NUMBER: "yellow",
    Kind.UNKNOWN: "red",
    Kind.ENDING: "bright_black",
    Kind.KEPT: "magenta",
    Kind.ALONE: "red",
    Kind.UNIT: "yellow",
}


@click.command("diff", short_help="Show texts before and after.")
@input_options(required=True)
@click.option("--rows", type=click.IntRange(1, 1000), help="Number of rows, from the top.  [default: 5]")
@click.option("--sample", type=click.IntRange(1, 1000), help="Instead of --rows: random rows of the whole input.")
@click.option(
    "--only-leaks",
    is_flag=True,
    help="Only rows in which a word passes in the clear, other than stopwords, endings and --keep-words.",
)
@click.option(
    "--eps",
    type=float,
    help="Privacy budget per word: 0 to generalize, or 0.001 to 100.  [default: the key's, else 1.0]",
)
@click.option("--plus", is_flag=True, default=None, help="Keep stopwords (CusText+).")
@policy_options()
@calibration_option
@mapping_option
@language_option
@click.option("--key-file", metavar="PATH", help="Show the release with this key: the same texts, byte for byte.")
@click.option("--record-column", metavar="NAME", help="Column of IDs, needed with a key; the record is COLUMN:ID.")
@click.option("--seed", type=SEED, metavar="N", help="Repeatable --sample; repeatable draws too, unless from a key.")
@click.option("--html", metavar="FILE", help="Write a self-contained HTML page instead.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
@json_option
@click.pass_obj
def diff_command(
    db: str | None,
    /,
    data: "Texts",
    rows: int | None,
    sample: int | None,
    only_leaks: bool,
    html: str | None,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Show some texts of INPUT before and after, with a color for what happened to each word, and the share of words
    that stay in the clear. A text that came out unchanged, apart from case, is marked with =.

    INPUT is a file, a folder or a quoted pattern of files; for a table, give --data and --table instead. Draws are
    fresh, so a release will have different words. With --key-file, the texts are those of a release with that key. The
    output contains the original texts: it is for you only, and nothing is entered in the ledger.

    \b
    Examples:
      custext diff reviews.csv --column body --rows 5 --eps 1 --plus
      custext diff --data shop.duckdb --table reviews --column body --sample 20 --html reviews.html
      custext diff reviews.csv --column body --policy paper --only-leaks
      custext diff reviews.csv --column body --key-file nightly.key --record-column id
    """
    from custext_sql.release.preview.comparison import compare_texts
    from custext_sql.store.files.atomic_outputs import check_place

    if rows is not None and sample is not None:
        raise click.UsageError("Give --rows, for the first rows, or --sample, for random ones, not both.")
    if html is not None:
        check_place(Path(html), force=force)
    compared = compare_texts(data, rows=rows or 5, sample=sample, only_leaks=only_leaks, database=db, **settings)
    if html is not None:
        _write_page(Path(html), compared, force=force)
        click.echo(f"{html}: {count_of(len(compared.rows), 'row')}")
    elif as_json:
        print_json([_as_object(row) for row in compared.rows])
    elif only_leaks and not compared.rows:
        found = f"{count_of(compared.rows_read, 'row')} read" if compared.may_leak else "the policy keeps none"
        click.echo(f"No word outside the vocabulary passes in the clear ({found}).")
    else:
        _print(compared, numbered=only_leaks or sample is not None)
    if compared.unchanged:
        warn(compared.unchanged)


def _as_object(row: "ComparedRow") -> dict[str, object]:
    from custext_sql.html.comparison import LEGEND

    words = [
        {"before": piece.before, "after": piece.after, "kind": LEGEND[piece.kind][1], "in_clear": piece.in_clear}
        for piece in row.pieces
        if piece.kind is not None
    ]
    before, after = (
        None if row.is_null else "".join(getattr(piece, side) for piece in row.pieces) for side in ("before", "after")
    )
    return {"row": row.place, "before": before, "after": after, "unchanged": row.is_unchanged, "words": words}


def _write_page(path: Path, compared: "Comparison", *, force: bool) -> None:
    from custext_sql.html.comparison import count_clear, write_comparison
    from custext_sql.store.files.atomic_outputs import publish_text

    page = write_comparison(
        [row.pieces for row in compared.rows],
        title=f"{compared.name}, eps = {compared.eps:g}",
        note="This page contains the original texts. Protect it as you protect the data."
        + (f" {compared.unchanged}." if compared.unchanged else ""),
        remarks=[
            f"row {row.place:,}: {'NULL' if row.is_null else count_clear(row.pieces)}{'; unchanged' * row.is_unchanged}"
            for row in compared.rows
        ],
    )
    publish_text(path, page, force=force)


def _print(compared: "Comparison", *, numbered: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    from custext_sql.html.comparison import LEGEND

    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 120)
    for row in compared.rows:
        if numbered:
            console.print(Text(f"row {row.place:,}", style="bold"))
        for label, side in (("- ", "before"), ("= " if row.is_unchanged else "+ ", "after")):
            line = Text().append(label, style="bold").append("NULL" * row.is_null, style="bright_black italic")
            for piece in row.pieces:
                style = "" if piece.kind is None else _STYLES[piece.kind]
                line.append(show_control(getattr(piece, side)), style=f"{style} underline" if piece.in_clear else style)
            console.print(line)
        console.print()
    words = [piece for row in compared.rows for piece in row.pieces if piece.kind is not None]
    if not words:
        console.print("The texts have no words.")
        return
    legend = Text()
    for kind, (label, _) in LEGEND.items():
        if count := sum(piece.kind == kind for piece in words):
            legend.append(f"{count:,} {label}", style=_STYLES[kind]).append("   ")
    console.print(legend)
    clear = sum(piece.in_clear for piece in words)
    console.print(f"{clear:,} of {count_of(len(words), 'word')} in the clear ({clear / len(words):.0%}), underlined")
