"""The one way in which commands take texts: INPUT, or --data and --table, with --column; and --public."""

import shlex
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custext_sql.cli.file_options import file_options
from custext_sql.release.inputs.file_formats import tell_format

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("input_", metavar="[INPUT]", required=False),
    click.option("--data", "data_file", metavar="FILE", help="DuckDB file with the table; instead of INPUT."),
    click.option("--table", metavar="NAME", help="Table or view of --data."),
    click.option("--column", metavar="NAME", help="Column of the texts; leave it out for lines of text."),
    *file_options("INPUT"),
)


def input_options(*, required: bool) -> Callable[[_Command], _Command]:
    """Return a decorator that adds INPUT, --data, --table, --column, --format, --encoding, --no-quotes.

    The command gets `data`, the texts that they name or None, and `column`. required: whether there must be texts.
    """

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def with_data(*arguments: Any, **given: Any) -> Any:
            names = ("input_", "data_file", "table", "format", "encoding", "no_quotes")
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


def public_options(
    about: str, *, column: str = "same as --column", required: bool = False
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds --public, --public-table, --public-column and the options of its files.

    The command gets `public`, the texts that they name or None, and `public_column`. about: the help text of --public.
    column: the default column.
    """
    options = (
        click.option("--public", metavar="FILE", required=required, help=about),
        click.option("--public-table", metavar="NAME", help="Table or view, if --public is a DuckDB file."),
        click.option("--public-column", metavar="NAME", help=f"Column of --public.  [default: {column}]"),
        *file_options("--public", "public-"),
    )

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def with_public(*arguments: Any, public: str | None, public_table: str | None, **given: Any) -> Any:
            return command(*arguments, public=_find_public(public, public_table, given), **given)

        decorated: Any = with_public
        for option in reversed(options):
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
    format: str | None,
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
    given = {"--format": format is not None, "--encoding": encoding is not None, "--no-quotes": no_quotes}
    option = next((name for name, is_given in given.items() if is_given), None)
    if input_ is None and option is not None:
        raise click.UsageError(f"{option} is for files; {'a table has none' if data_file else 'give one as INPUT'}.")
    if data_file is not None and table is not None:
        return DataTable(data_file, table)
    if input_ is None or option is None:
        return input_
    return DataFiles(input_, format, encoding, not no_quotes)


def _find_public(path: str | None, table: str | None, given: dict[str, Any]) -> "Texts | None":
    """Return the texts that --public names. Takes the options of its files out of what is given to the command."""
    from custext_sql.release.inputs.texts import DataFiles, DataTable

    format, encoding, no_quotes = (given.pop(f"public_{name}") for name in ("format", "encoding", "no_quotes"))
    options = {
        "--public-table": table,
        "--public-column": given["public_column"],
        "--public-format": format,
        "--public-encoding": encoding,
        "--public-no-quotes": no_quotes,
    }
    option = next((name for name, value in options.items() if value), None)
    if path is None:
        if option is not None:
            raise click.UsageError(f"{option} is about public texts. Name them: --public FILE.")
        return None
    if table is None:
        return DataFiles(path, format, encoding, not no_quotes)
    if format or encoding or no_quotes:
        raise click.UsageError(f"{list(filter(options.get, options))[-1]} is for files; a table has none.")
    return DataTable(path, table)
