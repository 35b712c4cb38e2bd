"""Commands for the owner of texts to look at before a release: diff and leaks."""

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.options import (
    SEED,
    force_option,
    input_options,
    json_option,
    keyed_language_option,
    keyed_plus_option,
    keyed_settings_options,
    mapping_option,
    policy_options,
    prints_result,
    record_column_option,
)
from custext_sql.cli.output import counting_bar, print_json, print_table, show_control, warn
from custext_sql.kinds import IN_CLEAR, KINDS, Fate, Kind
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.files.inputs.texts import Texts
    from custext_sql.files.preview.comparison import ComparedRow, Comparison
    from custext_sql.files.preview.leaks import LeakedKind, Leaks

_WIDTH = 80
_LONGEST = 48  # characters of a word that are shown
_SYMBOL = "symbol"
_COLORS = {"gray": "bright_black", "orange": "yellow", "purple": "magenta"}  # marks that terminals name otherwise


@click.command("diff", short_help="Show texts before and after.")
@input_options(required=True)
@click.option("--rows", type=click.IntRange(1, 1000), help="Number of rows, from the top.  [default: 5]")
@click.option("--sample", type=click.IntRange(1, 1000), help="Instead of --rows: random rows of the whole input.")
@click.option(
    "--only-leaks",
    is_flag=True,
    help="Only rows in which a word passes in the clear, other than stopwords, endings and --keep-words.",
)
@keyed_settings_options
@click.option("--key-file", metavar="PATH", help="Show the release with this key: the same texts, byte for byte.")
@record_column_option
@click.option("--seed", type=SEED, metavar="N", help="Repeatable --sample; repeatable draws too, unless from a key.")
@click.option("--html", metavar="FILE", help="Write a self-contained HTML page instead.")
@force_option("page")
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
    from custext_sql.files.preview.comparison import compare_texts
    from custext_sql.store.outputs import check_place

    if rows is not None and sample is not None:
        raise click.UsageError("Give --rows, for the first rows, or --sample, for random ones, not both.")
    if html is not None:
        check_place(Path(html), force=force)
    compared = compare_texts(data, rows=rows or 5, sample=sample, only_leaks=only_leaks, database=db, **settings)
    if html is not None:
        _write_page(Path(html), compared, force=force)
        click.echo(f"{html}: {count_of(len(compared.rows), 'row')}")
    elif as_json:
        print_json([_write_row(row) for row in compared.rows])
    elif only_leaks and not compared.rows:
        found = f"{count_of(compared.rows_read, 'row')} read" if compared.may_leak else "the policy keeps none"
        click.echo(f"No word outside the vocabulary passes in the clear ({found}).")
    else:
        _print_comparison(compared, numbered=only_leaks or sample is not None)
    if compared.unchanged:
        warn(compared.unchanged)


def _write_row(row: "ComparedRow") -> dict[str, object]:
    words = [
        {"before": piece.before, "after": piece.after, "kind": piece.kind.name.lower(), "in_clear": piece.in_clear}
        for piece in row.pieces
        if piece.kind is not None
    ]
    before, after = (
        None if row.is_null else "".join(getattr(piece, side) for piece in row.pieces) for side in ("before", "after")
    )
    return {"row": row.place, "before": before, "after": after, "unchanged": row.is_unchanged, "words": words}


def _write_page(path: Path, compared: "Comparison", *, force: bool) -> None:
    from custext_sql.html.comparison import count_clear, write_comparison
    from custext_sql.store.outputs import publish_text

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


def _find_style(kind: Kind) -> str:
    """Return the color of words of a kind, as Rich names it."""
    mark = KINDS[kind].mark
    return _COLORS.get(mark, mark)


def _print_comparison(compared: "Comparison", *, numbered: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 120)
    for row in compared.rows:
        if numbered:
            console.print(Text(f"row {row.place:,}", style="bold"))
        for label, side in (("- ", "before"), ("= " if row.is_unchanged else "+ ", "after")):
            line = Text().append(label, style="bold").append("NULL" * row.is_null, style="bright_black italic")
            for piece in row.pieces:
                style = "" if piece.kind is None else _find_style(piece.kind)
                line.append(show_control(getattr(piece, side)), style=f"{style} underline" if piece.in_clear else style)
            console.print(line)
        console.print()
    words = [piece for row in compared.rows for piece in row.pieces if piece.kind is not None]
    if not words:
        console.print("The texts have no words.")
        return
    legend = Text()
    for kind, entry in KINDS.items():
        if count := sum(piece.kind == kind for piece in words):
            legend.append(count_of(count, entry.label, entry.labels), style=_find_style(kind)).append("   ")
    console.print(legend)
    clear = sum(piece.in_clear for piece in words)
    console.print(f"{clear:,} of {count_of(len(words), 'word')} in the clear ({clear / len(words):.0%}), underlined")


@click.command("leaks", short_help="Show which words are not in the vocabulary.")
@input_options(required=True)
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Words to show of each kind.")
@keyed_plus_option
@policy_options()
@mapping_option
@keyed_language_option
@click.option("--key-file", metavar="PATH", help="Key whose settings apply.")
@click.option("--output", metavar="FILE", help="Write all words to a .csv file that only you can read.")
@force_option("output")
@prints_result
def leaks_command(db: str | None, data: "Texts", top: int, output: str | None, **settings: Any) -> Iterator[Any]:
    """List the words of INPUT that are not in the vocabulary, which a release would mask or let through: how often
    each occurs, what becomes of it, and what you can do about it. Texts that would come out unchanged at eps = 0, or at
    any eps, are counted too.

    INPUT is a file, a folder or a quoted pattern of files; for a table, give --data and --table instead. All texts are
    read, however many. The output contains words of your texts: it is for you only. Nothing is entered in the ledger or
    saved in the database.

    \b
    Examples:
      custext leaks reviews.csv --column body
      custext leaks --data shop.duckdb --table reviews --column body --top 50
      custext leaks reviews.csv --column body --policy paper --output words.csv
    """
    from custext_sql import find_leaks

    with counting_bar("reading") as progress:
        leaks = find_leaks(data, top=top, output=output, database=db, progress=progress, **settings)
    yield leaks
    _print_summary(leaks)
    units = [kind for kind in leaks.kinds if kind.is_unit]
    for kind in leaks.kinds:
        if not kind.is_unit:
            _print_kind(kind)
        elif kind is units[0]:
            _print_units(units, max(1, top // 5) if top else 0)
    if output is not None:
        click.echo(f"{output}: {count_of(sum(kind.distinct for kind in leaks.kinds), 'word')}\n")
    for sentence in leaks.advice:
        click.echo(click.wrap_text(sentence, _WIDTH, "- ", "  "))
    if leaks.kinds:
        click.echo("\nThese are words of your texts: show them only to people who may read the texts.")


def _print_summary(leaks: "Leaks") -> None:
    kept = ", stopwords kept" if leaks.plus else ""
    click.echo(f"{leaks.data}: {count_of(leaks.rows, 'row')}, {count_of(leaks.words, 'word')}")
    click.echo(f"mapping {leaks.mapping}, policy {leaks.policy}{kept}\n")
    table = []
    for kind, entry in KINDS.items():
        fate, count = entry.treatments[0].fate, leaks.counts.get(entry.treatments[0].name, 0)
        if count or fate is Fate.REPLACED:
            share = _show_share(count / max(1, leaks.words))
            table.append([kind.name.lower(), f"{count:,}", "", share, IN_CLEAR if fate.in_clear else ""])
    table += [
        [kind.kind, f"{kind.count:,}", f"{kind.distinct:,}", _show_share(kind.share), kind.becomes]
        for kind in leaks.kinds
    ]
    print_table(["kind", "count", "distinct", "share", "becomes"], table, right=(1, 2, 3))
    share = _show_share(leaks.in_clear / max(1, leaks.words))
    click.echo(f"\n{leaks.in_clear:,} of {count_of(leaks.words, 'word')} would pass in the clear ({share})")
    if texts := leaks.unchanged_at_eps_0:
        always = f", {leaks.unchanged_at_any_eps:,} of them at any eps" if leaks.unchanged_at_any_eps else ""
        click.echo(f"{count_of(texts, 'text')} would come out unchanged at eps = 0{always}")
    click.echo()


def _print_kind(kind: "LeakedKind") -> None:
    if not kind.words:
        return
    more = kind.distinct - len(kind.words)
    which = f", the {len(kind.words)} most frequent of {kind.distinct:,}" if more else ""
    rows = [[f"{one.count:,}", _show_share(one.share), _show_word(one.word, kind.kind)] for one in kind.words]
    print_table(["count", "share", f"{kind.kind}{which}"], rows, right=(0, 1))
    click.echo()


def _print_units(kinds: "Sequence[LeakedKind]", most: int) -> None:
    """Print a few units of each type, in one table."""
    rows = [
        [f"{one.count:,}", kind.becomes, _show_word(one.word, kind.kind)] for kind in kinds for one in kind.words[:most]
    ]
    if rows:
        print_table(["count", "becomes", "unit, some of each type"], rows, right=(0,))
        click.echo()


def _show_share(share: float | None) -> str:
    if share is None:
        return ""
    return f"{share:.2%}" if share == 0 or share >= 0.0001 else "<0.01%"


def _show_word(word: str, kind: str) -> str:
    """Return a word as a terminal can show it; symbols with their code and name."""
    shown = word if len(word) <= _LONGEST else f"{word[:_LONGEST]}... ({len(word):,} characters)"
    if kind != _SYMBOL:
        return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in show_control(shown))
    visible = f"{word} " if word.isprintable() and not unicodedata.combining(word) else ""
    return f"{visible}U+{ord(word):04X} {unicodedata.name(word, '').lower()}".strip()
