"""Options of commands that read files of texts: their format, their encoding and their quotes."""

import click

from custext_sql.release.inputs.file_formats import FORMAT_NAMES

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
no_quotes_option = click.option(
    "--no-quotes", is_flag=True, help="CSV and TSV: quotes are ordinary characters, as in GLUE's files."
)
