"""The command `custext leaks`."""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from custext_sql.cli.input_options import input_options
from custext_sql.cli.options import json_option, language_option, mapping_option
from custext_sql.cli.output import counting_bar, print_json, print_table, show_control
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts
    from custext_sql.release.preview.leaks import LeakedKind, Leaks
    from custext_sql.replacing.policy import Policy

_WIDTH = 80
_LONGEST = 48  # characters of a word that are shown
_SYMBOL = "symbol"


@click.command("leaks", short_help="Show which words are not in the vocabulary.")
@input_options(required=True)
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Words to show of each kind.")
@click.option("--plus", is_flag=True, default=None, help="Keep stopwords (CusText+).")
@policy_options()
@mapping_option
@language_option
@click.option("--key-file", metavar="PATH", help="Key whose settings apply.")
@click.option("--output", metavar="FILE", help="Write all words to a .csv file that only you can read.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@json_option
@click.pass_obj
def leaks_command(
    db: str | None,
    data: "Texts",
    column: str | None,
    top: int,
    plus: bool | None,
    policy: "str | Policy | None",
    mapping: str | None,
    language: str | None,
    key_file: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
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
        leaks = find_leaks(
            data,
            column=column,
            top=top,
            output=output,
            force=force,
            database=db,
            mapping=mapping,
            plus=plus,
            policy=policy,
            language=language,
            key_file=key_file,
            progress=progress,
        )
    if as_json:
        print_json(leaks)
        return
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
    replaced = ("replaced", leaks.replaced, "")
    others = (("stopword", leaks.stopwords), ("ending", leaks.endings), ("kept", leaks.kept))
    rows = [replaced, *((name, count, "in the clear") for name, count in others if count)]
    table = [[name, f"{count:,}", "", _show_share(count / max(1, leaks.words)), fate] for name, count, fate in rows]
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
