"""Options of commands that read files of texts: their format, their encoding and their quotes."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from custext_sql.release.inputs.file_formats import FORMAT_NAMES

_Command = TypeVar("_Command", bound=Callable[..., Any])

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMAT_NAMES),
    help="Format of the input.  [default: from its name; text for standard input]",
)
encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="Encoding of a text file, such as utf-16, latin-1 or cp1252; the output is UTF-8.  [default: utf-8]",
)
_NO_QUOTES = "CSV and TSV: quotes are ordinary characters, as in GLUE's files."
no_quotes_option = click.option("--no-quotes", is_flag=True, help=_NO_QUOTES)


def file_options(what: str, prefix: str = "") -> tuple[Callable[[_Command], _Command], ...]:
    """Return the options for the format, the encoding and the quotes of files. what: what help texts call them."""
    return (
        click.option(
            f"--{prefix}format", type=click.Choice(FORMAT_NAMES), help=f"Format of {what}.  [default: from its name]"
        ),
        click.option(
            f"--{prefix}encoding",
            metavar="NAME",
            help=f"Encoding of {what}, such as utf-16, latin-1 or cp1252.  [default: utf-8]",
        ),
        click.option(f"--{prefix}no-quotes", is_flag=True, help=_NO_QUOTES),
    )
