"""The command `custext ledger`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import json_option
from custext_sql.cli.output import again, print_json, print_table
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.store.ledger.spending import Total
    from custext_sql.store.ledger.table import Release


@click.command("ledger", short_help="Show what was released and how much eps it spent.")
@click.option("--dataset", metavar="NAME", help="Show only the releases of this dataset.")
@click.option("--export", metavar="FILE", help="Write all columns of all releases to a .csv or .json file.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
@click.pass_obj
def ledger_command(db: str | None, dataset: str | None, export: str | None, force: bool, as_json: bool) -> None:
    """Show every release and the total eps of each dataset.

    The "row eps" of a release is the most that it spent on any one row. The total of a dataset is the sum of these over
    its releases, including releases that share only some of its files. Keyed releases of the same texts count once. A
    total says "at least" if a query, a connection or a pipeline may have drawn a row more than once.

    \b
    Examples:
      custext ledger
      custext ledger --dataset /data/reviews.csv --export ledger.csv
    """
    from custext_sql import read_ledger

    found = read_ledger(db, dataset=dataset)
    if export is not None:
        found.write(Path(export), force=force)
        click.echo(f"{export}: {count_of(len(found.releases), 'release')}")
        return
    if as_json:
        print_json(found.to_dict())
        return
    if not found.releases:
        hint = f"No releases of {dataset}. To see all releases, run: {again(db, 'ledger')}"
        click.echo("No releases yet." if dataset is None else hint)
        return
    print_table(
        ["when (UTC)", "state", "dataset", "columns", "eps", "draws", "rows", "replaced", "in the clear", "row eps"],
        [
            [
                f"{release.started_at:%Y-%m-%d %H:%M}",
                release.state,
                release.dataset,
                release.text_columns,
                _shown(release.eps),
                release.draws if release.key_id is None else f"key {release.key_id[:6]}",
                _shown(release.row_count),
                _shown(release.sampled),
                _shown(release.characters_in_clear),
                _shown_row(release),
            ]
            for release in found.releases
        ],
        right=[4, 6, 7, 8, 9],
    )
    click.echo()
    print_table(
        ["dataset", "releases", "pending", "total eps"],
        [[total.dataset, str(total.releases), str(total.pending), _shown_total(total)] for total in found.totals],
        right=[1, 2, 3],
    )


def _shown_total(total: "Total") -> str:
    from custext_sql.store.ledger.spending import write_eps

    if total.raw:
        return "unprotected"
    return f"at least {write_eps(total.total_eps)}" if total.at_least else write_eps(total.total_eps)


def _shown_row(release: "Release") -> str:
    from custext_sql.store.ledger.spending import write_eps

    eps = release.largest_row_eps
    return "" if eps is None else f"{'>= ' if release.at_least else ''}{write_eps(eps)}"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:g}"
