"""Commands to look at texts before a release: playground, diff and leaks."""

import json
import sys
import unicodedata
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli import options
from custext_sql.cli.output import print_json, print_table, progress_bar, show_control, warn
from custext_sql.kinds import IN_CLEAR, KINDS, Fate, Kind
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.files.inputs.texts import DataFiles, DataTable, Texts
    from custext_sql.files.preview.comparison import ComparedRow, Comparison
    from custext_sql.files.preview.leaks import Leaks
    from custext_sql.playground import Address

_WIDTH = 80
_LONGEST = 48  # characters of a word that are shown
_SYMBOL = "symbol"
_COLORS = {"gray": "bright_black", "orange": "yellow", "purple": "magenta"}  # marks that terminals name otherwise
_STYLES: dict[Kind | None, str] = {
    None: "",
    **{kind: _COLORS.get(entry.mark, entry.mark) for kind, entry in KINDS.items()},
}


@click.command("playground", short_help="Try it on a page in your browser.")
@options.examples("custext playground", "custext playground --public news.csv --public-column body")
@options.public("Public texts from which the attacker on the page learns.", column="none, for lines of text")
@options.shown("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port to listen on; 0 for any that is free.  [default: 8790, or a free one if that is taken]",
)
@options.flag(
    "--allow-remote",
    help="Allow a --host that other machines can reach. Texts then travel unencrypted; an SSH tunnel is safer.",
)
@options.flag("--no-browser", help="Do not open the page in a browser.")
@options.flag("--json", "as_json", help="Print the address as JSON, on one line, and open no browser.")
@click.pass_obj
def playground_command(
    db: str | None, /, public: "DataFiles | DataTable | None", no_browser: bool, as_json: bool, **settings: Any
) -> None:
    """Serve a page on this machine and open it: type a text, move eps, and see what an attacker would guess.

    The page shows a text before and after, the odds behind each word, the receipt, a verdict, and the lines that do the
    same in SQL, Python, spaCy and the shell. It also sanitizes files, which are entered in the ledger. With --public,
    the attacker learns from those texts, and guesses words from everything around them.

    Only this machine can reach the page, and only with the token in the address. No text is stored or logged, and the
    page requests nothing from elsewhere. Ctrl-C ends the server and deletes the files that were uploaded.
    """
    try:
        from custext_sql.playground import serve
    except ImportError as error:  # the extra is missing; the message says how to install it
        raise click.ClickException(str(error)) from None

    if public is not None:
        click.echo(f"Learning from {public.path} ...", err=True)
    opens = not no_browser and not as_json
    try:
        serve(db, public=public, browser=opens, tell=partial(tell_address, as_json=as_json, opens=opens), **settings)
    except KeyboardInterrupt:  # the usual end
        click.echo("\nStopped; uploaded files were deleted.", err=True)


def tell_address(address: "Address", *, as_json: bool, opens: bool) -> None:
    """Print where the page is. opens: whether a browser opens it."""
    if as_json:
        click.echo(json.dumps({"url": address.url}))
        return
    if not address.is_local:
        warn("other machines can reach this page, and texts travel to it unencrypted")
    click.echo(address.url)
    elsewhere = "From another machine, replace the address before the port by this machine's. "
    hint = "If no browser opens, open this address. " if opens else "Open this address in a browser. "
    click.echo(f"{hint}{elsewhere * address.is_everywhere}Stop with Ctrl-C.", err=True)


@click.command("diff", short_help="Show texts before and after.")
@options.examples(
    "custext diff reviews.csv --column body --rows 5 --eps 1 --plus",
    "custext diff reviews.csv --column body --key-file nightly.key --record-column id",
)
@options.texts(required=True)
@click.option("--rows", type=click.IntRange(1, 1000), help="Number of rows, from the top.  [default: 5]")
@click.option("--sample", type=click.IntRange(1, 1000), help="Instead of --rows: random rows of the whole input.")
@click.option(
    "--only-leaks",
    is_flag=True,
    help="Only rows in which a word passes in the clear, other than stopwords, endings and --keep-words.",
)
@options.keyed_settings
@click.option("--key-file", metavar="PATH", help="Show the release with this key: the same texts, byte for byte.")
@options.record_column
@click.option(
    "--seed", type=options.SEED, metavar="N", help="Repeatable --sample; repeatable draws too, unless from a key."
)
@options.file("--html", help="Write a self-contained HTML page instead.")
@options.force("page")
@options.json
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
    sides = ("before", "after")
    texts = {side: None if row.is_null else "".join(getattr(piece, side) for piece in row.pieces) for side in sides}
    return {"row": row.place, **texts, "unchanged": row.is_unchanged, "words": words}


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
                style = _STYLES[piece.kind] + " underline" * piece.in_clear
                line.append(show_control(getattr(piece, side)), style=style)
            console.print(line)
        console.print()
    words = [piece for row in compared.rows for piece in row.pieces if piece.kind is not None]
    if not words:
        console.print("The texts have no words.")
        return
    legend = Text()
    for kind, entry in KINDS.items():
        if count := sum(piece.kind == kind for piece in words):
            legend.append(count_of(count, entry.label, entry.labels), style=_STYLES[kind]).append("   ")
    console.print(legend)
    clear = sum(piece.in_clear for piece in words)
    console.print(f"{clear:,} of {count_of(len(words), 'word')} in the clear ({clear / len(words):.0%}), underlined")


@click.command("leaks", short_help="Show which words are not in the vocabulary.")
@options.examples(
    "custext leaks reviews.csv --column body",
    "custext leaks reviews.csv --column body --policy paper --output words.csv",
)
@options.texts(required=True)
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Words to show of each kind.")
@options.keyed_plus
@options.policy()
@options.mapping
@options.keyed_language
@click.option("--key-file", metavar="PATH", help="Key whose settings apply.")
@options.file("--output", help="Write all words to a .csv file that only you can read.")
@options.force("output")
@options.prints_result
def leaks_command(db: str | None, data: "Texts", top: int, output: str | None, **settings: Any) -> Iterator[Any]:
    """List the words of INPUT that are not in the vocabulary, which a release would mask or let through: how often
    each occurs, what becomes of it, and what you can do about it. Texts that would come out unchanged at eps = 0, or at
    any eps, are counted too.

    INPUT is a file, a folder or a quoted pattern of files; for a table, give --data and --table instead. All texts are
    read, however many. The output contains words of your texts: it is for you only. Nothing is entered in the ledger or
    saved in the database.
    """
    from custext_sql import find_leaks

    with progress_bar("reading") as progress:
        leaks = find_leaks(data, top=top, output=output, database=db, progress=progress, **settings)
    yield leaks
    _print_summary(leaks)
    units = [kind for kind in leaks.kinds if kind.is_unit]
    for kind in leaks.kinds:
        if kind.words and not kind.is_unit:
            more = f", the {len(kind.words)} most frequent of {kind.distinct:,}" * (kind.distinct > len(kind.words))
            rows = [[f"{one.count:,}", _show_share(one.share), _show_word(one.word, kind.kind)] for one in kind.words]
            print_table(["count", "share", f"{kind.kind}{more}"], rows, right=(0, 1))
            click.echo()
        elif units and kind is units[0]:
            few = ((kind, one) for kind in units for one in kind.words[: max(1, top // 5)])
            rows = [[f"{one.count:,}", kind.becomes, _show_word(one.word, kind.kind)] for kind, one in few]
            if rows:
                print_table(["count", "becomes", "unit, some of each type"], rows, right=(0,))
                click.echo()
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
