"""The one way in which commands take the user's texts: INPUT, or --data and --table; with --column."""

import shlex
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custext_sql.cli.file_options import no_quotes_option
from custext_sql.release.inputs.file_formats import FORMAT_NAMES, tell_format

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("input_", metavar="[INPUT]", required=False),
    click.option("--data", "data_file", metavar="FILE", help="DuckDB file with the table; instead of INPUT."),
    click.option("--table", metavar="NAME", help="Table or view of --data."),
    click.option("--column", metavar="NAME", help="Column of the texts; leave it out for lines of text."),
    click.option(
        "--format", "format_", type=click.Choice(FORMAT_NAMES), help="Format of INPUT.  [default: from its name]"
    ),
    click.option(
        "--encoding", metavar="NAME", help="Encoding of INPUT, such as utf-16, latin-1 or cp1252.  [default: utf-8]"
    ),
    no_quotes_option,
)


def input_options(*, required: bool) -> Callable[[_Command], _Command]:
    """Return a decorator that adds INPUT, --data, --table, --column, --format, --encoding, --no-quotes.

    The command gets `data`, the texts that they name or None, and `column`. required: whether there must be texts.
    """

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def with_data(*arguments: Any, **given: Any) -> Any:
            names = ("input_", "data_file", "table", "format_", "encoding", "no_quotes")
            data = _find_texts(**{name: given.pop(name) for name in names})
            if data is None and given["column"] is not None:
                raise click.UsageError("--column names a column of your texts. Give them as INPUT.")
            if data is None and required:
                raise click.UsageError("Expected INPUT: a file, a folder or a quoted pattern; or --data and --table.")
            return command(*arguments, data=data, **given)

        decorated: Any = with_data
        for option in reversed(_OPTIONS):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


def check_data_file(path: str) -> None:
    """Raise a UsageError if --data names a file of texts instead of a DuckDB file."""
    if tell_format(path) is not None:
        command = " ".join(["custext", *click.get_current_context().command_path.split()[1:]])
        raise click.UsageError(
            f"--data is for DuckDB files; give text files as INPUT: {command} {shlex.quote(path)} --column NAME"
        )


def show_input(data: "Texts | None") -> str:
    """Return the arguments with which a command names texts; INPUT if there are none."""
    from custext_sql.release.inputs.texts import DataFiles, DataTable

    if isinstance(data, DataTable):
        return shlex.join(["--data", str(data.path), "--table", data.table])
    if not isinstance(data, DataFiles):
        return "INPUT" if data is None else shlex.quote(str(data))
    options = (("--format", data.format), ("--encoding", data.encoding))
    given = [part for name, value in options if value for part in (name, value)]
    return shlex.join([str(data.path), *given, *([] if data.quotes else ["--no-quotes"])])


def _find_texts(
    input_: str | None,
    data_file: str | None,
    table: str | None,
    format_: str | None,
    encoding: str | None,
    no_quotes: bool,
) -> "Texts | None":
    from custext_sql.release.inputs.texts import DataFiles, DataTable

    if data_file is not None:
        check_data_file(data_file)
    if (data_file is None) != (table is None):
        raise click.UsageError("--data and --table go together: a DuckDB file and one of its tables.")
    if data_file is not None and input_ is not None:
        raise click.UsageError("Expected INPUT, or --data and --table; found both.")
    given = {"--format": format_ is not None, "--encoding": encoding is not None, "--no-quotes": no_quotes}
    option = next((name for name, is_given in given.items() if is_given), None)
    if input_ is None and option is not None:
        raise click.UsageError(f"{option} is for files; {'a table has none' if data_file else 'give one as INPUT'}.")
    if data_file is not None and table is not None:
        return DataTable(data_file, table)
    if input_ is None or option is None:
        return input_
    return DataFiles(input_, format_, encoding, not no_quotes)
