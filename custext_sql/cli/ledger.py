"""The commands `custext ledger`, with its subcommands, and `custext verify`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli import options
from custext_sql.cli.output import name_places, print_json, print_table, show_control
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.ledger.checks import Total
    from custext_sql.ledger.entries import Entry

_COLUMNS = (
    *("release", "when (UTC)", "state", "dataset", "columns", "eps", "draws"),
    *("rows", "replaced", "in the clear", "row eps"),
)
_NUMBERS = (5, 7, 8, 9, 10)
_SPARE = (4, 6, 2, 8)  # columns that a narrow terminal does not show


@click.group("ledger", short_help="Show what was released and how much eps it spent.", invoke_without_command=True)
@options.examples("custext ledger", "custext ledger --dataset /data/reviews.csv --export ledger.csv")
@options.named("--dataset", help="Show only the releases of this dataset.")
@options.file("--export", help="Write all columns of all releases to a .csv or .json file.")
@options.flag("--force", help="Overwrite an existing file.")
@options.json
@click.pass_context
def ledger_command(context: click.Context, dataset: str | None, export: str | None, force: bool, as_json: bool) -> None:
    """Show every release and the total eps of each dataset.

    The "row eps" of a release is the most that it spent on any one row. The total of a dataset is the sum of these over
    its releases, including releases that share only some of its files. Releases by a key are counted record by record:
    a row adds only texts that the key has not released before. A total says "at least" if a query, a connection or a
    pipeline may have drawn a row more than once, and is unknown while one is pending.
    """
    from custext_sql import read_ledger

    db = context.obj
    if context.invoked_subcommand is not None:
        options.refuse(dataset or export or force or as_json, f"Put the options after {context.invoked_subcommand}.")
        return
    found = read_ledger(db, dataset=dataset)
    if export is not None:
        found.write(Path(export), force=force)
        click.echo(f"{export}: {count_of(len(found.releases), 'release')}")
    elif as_json:
        print_json(found)
    elif not found.releases:
        hint = name_places(f"No releases of {dataset}. To see all releases, run: custext ledger")
        click.echo("No releases yet." if dataset is None else hint)
    else:
        _print_releases(found.releases)
        click.echo()
        totals = [(one.dataset, str(one.releases), str(one.pending), _show_total(one)) for one in found.totals]
        print_table(["dataset", "releases", "pending", "total eps"], totals, right=[1, 2, 3])


@ledger_command.command("strike", short_help="Strike a release through, with a reason.")
@options.examples('custext ledger strike 1f3a9c02 --reason "deleted on May 3, never opened"')
@click.argument("release", metavar="RELEASE")
@click.option("--reason", required=True, metavar="TEXT", help="Why, in up to 500 characters.")
@options.prints_result
def strike_command(db: str | None, release: str, reason: str) -> Iterator[Any]:
    """Strike a release through in the ledger, with a reason.

    RELEASE is its ID as `custext ledger` shows it, or the first characters of it. This is only a note for readers. The
    release counts in all totals and budgets as before, because its texts may be out there. A second strike replaces
    the reason.
    """
    from custext_sql import strike_release

    struck = strike_release(db, release=release, reason=reason)
    yield struck
    click.echo(f"struck through {_describe_release(struck)}; it still counts")


@ledger_command.command("settle", short_help="Settle a release that stayed pending.")
@options.examples("custext ledger settle 1f3a9c02 --row-eps 250")
@click.argument("release", metavar="RELEASE")
@click.option(
    "--row-eps",
    type=float,
    metavar="B",
    help="The most that it may have spent on one row, if that is unknown; 0 if nothing came out.",
)
@options.prints_result
def settle_command(db: str | None, release: str, row_eps: float | None) -> Iterator[Any]:
    """Settle a release that stayed pending because its process was killed or could not reach the ledger.

    If what it spent is known, it counts as that. If not, as for a stream, a connection or a pipeline, say what it
    counts as: eps times the number of words of the longest row is always enough.
    """
    from custext_sql import settle_release
    from custext_sql.ledger.checks import write_eps

    settled = settle_release(db, release=release, row_eps=row_eps)
    yield settled
    click.echo(f"settled {_describe_release(settled)}; it counts as {write_eps(settled.largest_row_eps)} on a row")


@ledger_command.command("unstrike", short_help="Undo strike.")
@options.examples("custext ledger unstrike 1f3a9c02")
@click.argument("release", metavar="RELEASE")
@options.prints_result
def unstrike_command(db: str | None, release: str) -> Iterator[Any]:
    """Undo strike: remove the line through a release, and the reason."""
    from custext_sql.ledger.ledger import unstrike_release

    found = unstrike_release(db, release=release)
    yield found
    click.echo(f"no longer struck through: {_describe_release(found)}")


@click.command("verify", short_help="Find the release that wrote a file.")
@options.examples("custext verify sanitized.csv")
@click.argument("file", metavar="FILE")
@options.json
@click.pass_context
def verify_command(context: click.Context, file: str, as_json: bool) -> None:
    """Find the release in the ledger that wrote exactly the bytes of FILE: when, and under which settings.

    The name of the file does not matter. The exit status is 1 if no release wrote it, so it may be another file, or one
    that was changed since.
    """
    from custext_sql.ledger.ledger import find_releases

    found = find_releases(file, context.obj)
    if as_json:
        print_json(found)
    elif not found:
        click.echo(f"{file}: no release in the ledger wrote these bytes", err=True)
    else:
        for entry in found:
            _print_facts(file, entry)
    if not found:
        context.exit(1)


def _print_facts(file: str, entry: "Entry") -> None:
    draws = f"{entry.draws}, eps {entry.eps:g}" if entry.eps is not None else "nothing was sanitized"
    facts = {
        "sanitized": ", ".join(entry.sanitized),
        "copied": ", ".join(entry.copied),
        "dropped": ", ".join(entry.dropped),
        "draws": draws + ", stopwords kept" * bool(entry.plus),
        "mapping": f"{entry.mapping} ({entry.fingerprint[:12]})",
        "policy": entry.policy,
        "version": entry.version,
    }
    click.echo(show_control(f"{file}: {_describe_release(entry)}, {entry.state}"))
    for label, fact in facts.items():
        if fact:
            click.echo(show_control(f"  {label:10s} {fact}"))


def _describe_release(release: "Entry") -> str:
    """Return which release it is, of what, and when."""
    return f"release {_show_id(release)} of {release.dataset}, {release.started_at:%Y-%m-%d %H:%M} UTC"


def _print_releases(releases: "Sequence[Entry]") -> None:
    from custext_sql.ledger.checks import write_eps

    struck = [place for place, release in enumerate(releases) if release.struck_at is not None]
    rows = [
        [
            _show_id(release),
            f"{release.started_at:%Y-%m-%d %H:%M}",
            release.state,
            release.dataset,
            ", ".join(release.sanitized),
            _show(release.eps),
            release.draws if release.key_id is None else f"key {release.key_id[:6]}",
            *map(_show, (release.row_count, release.replaced, release.characters_in_clear)),
            "" if (eps := release.largest_row_eps) is None else ">= " * release.at_least + write_eps(eps),
        ]
        for release in releases
    ]
    if struck:
        rows = [[("~ " if place in struck else "  ") + first, *rest] for place, (first, *rest) in enumerate(rows)]
    print_table(_COLUMNS, rows, right=_NUMBERS, spare=_SPARE, struck=struck)
    for release in (releases[place] for place in struck):
        said = f"~ {_show_id(release)} struck through on {release.struck_at:%Y-%m-%d}, but still counts: "
        click.echo(show_control(said + str(release.struck_reason)))


def _show_id(release: "Entry") -> str:
    from custext_sql.ledger.ledger import SHOWN

    return release.release_id[:SHOWN]


def _show_total(total: "Total") -> str:
    from custext_sql.ledger.checks import write_eps

    if total.raw:
        return "unprotected"
    return f"at least {write_eps(total.total_eps)}" if total.at_least else write_eps(total.total_eps)


def _show(value: float | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:g}"
