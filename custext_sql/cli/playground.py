"""The command `custext playground`."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import public_options
from custext_sql.cli.output import warn

if TYPE_CHECKING:
    from custext_sql import DataFiles, DataTable
    from custext_sql.playground import Address


@click.command("playground", short_help="Try it on a page in your browser.")
@public_options("Public texts from which the attacker on the page learns.", column="none, for lines of text")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port to listen on; 0 for any that is free.  [default: 8790, or a free one if that is taken]",
)
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Allow a --host that other machines can reach. Texts then travel unencrypted; an SSH tunnel is safer.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON, on one line, and open no browser.")
@click.pass_obj
def playground_command(
    db: str | None,
    public: "DataFiles | DataTable | None",
    public_column: str | None,
    host: str,
    port: int | None,
    allow_remote: bool,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Serve a page on this machine and open it: type a text, move eps, and see what an attacker would guess.

    The page shows a text before and after, the odds behind each word, the receipt, a verdict, and the lines that do the
    same in SQL, Python, spaCy and the shell. It also sanitizes files, which are entered in the ledger. With --public,
    the attacker learns from those texts, and guesses words from everything around them.

    Only this machine can reach the page, and only with the token in the address. No text is stored or logged, and the
    page requests nothing from elsewhere. Ctrl-C ends the server and deletes the files that were uploaded.

    \b
    Examples:
      custext playground
      custext playground --public news.csv --public-column body
      custext --db my.duckdb playground --port 8800 --no-browser
    """
    try:
        from custext_sql.playground import serve
    except ImportError as error:  # the extra is missing; the message says how to install it
        raise click.ClickException(str(error)) from None

    if public is not None:
        click.echo(f"Learning from {public.path} ...", err=True)
    opens = not no_browser and not as_json
    try:
        serve(
            db,
            public=public,
            public_column=public_column,
            host=host,
            port=port,
            allow_remote=allow_remote,
            browser=opens,
            tell=_tell_json if as_json else _make_teller(opens=opens),
        )
    except KeyboardInterrupt:  # the usual end
        click.echo("\nStopped; uploaded files were deleted.", err=True)


def _tell_json(address: "Address") -> None:
    click.echo(json.dumps({"url": address.url}))


def _make_teller(*, opens: bool) -> "Callable[[Address], None]":
    """Return a function that prints where the page is. opens: whether a browser opens it."""

    def tell(address: "Address") -> None:
        if not address.is_local:
            warn("other machines can reach this page, and texts travel to it unencrypted")
        click.echo(address.url)
        elsewhere = "From another machine, replace the address before the port by this machine's. "
        hint = "If no browser opens, open this address. " if opens else "Open this address in a browser. "
        click.echo(f"{hint}{elsewhere * address.is_everywhere}Stop with Ctrl-C.", err=True)

    return tell
