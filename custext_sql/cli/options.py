"""Options that several commands share, each with one help text, and the values that commands get from them."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli.output import print_json
from custext_sql.files.inputs.file_formats import FORMAT_NAMES, tell_format

if TYPE_CHECKING:
    from custext_sql.files.inputs.texts import Texts
    from custext_sql.sanitizer.policy import Policy

    _ListOfNumbers = click.ParamType[list[float]]
else:
    _ListOfNumbers = click.ParamType  # takes no type parameter before click 8.4

Decorator = Callable[[Any], Any]


def add_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options to a command, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _combined(name: str, combine: Callable[[dict[str, Any]], Any], *options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command, which gets them combined, under a name.

    combine: takes its options out of all that the command is given, and returns what they mean.
    """

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def run(*arguments: Any, **given: Any) -> Any:
            return command(*arguments, **{name: combine(given)}, **given)

        return add_options(*options)(run)

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def prints_result(command: Callable[..., Iterator[Any]]) -> Any:
    """Add --json to a command that yields its result and then prints it; with --json, it is printed as JSON instead.

    The first argument of the command is the database that --db names.
    """

    @wraps(command)
    def run(*arguments: Any, as_json: bool, **given: Any) -> None:
        steps = command(*arguments, **given)
        result = next(steps)
        if as_json:
            print_json(result)
        else:
            next(steps, None)

    return json_option(click.pass_obj(run))


# Settings of the mechanism


class Epsilons(_ListOfNumbers):
    """Comma-separated numbers."""

    name = "list"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> list[float]:
        """Return the numbers, each once; fail if one is not a valid eps."""
        if isinstance(value, list):
            return value
        from custext_sql.errors import SettingError
        from custext_sql.mechanism.weights import check_epsilon

        try:
            return list(dict.fromkeys(check_epsilon(float(part)) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"expected comma-separated numbers such as 1,2,3; found {value!r}", parameter, context)
        except SettingError as error:
            self.fail(str(error), parameter, context)


def epsilons_option(default: str) -> Decorator:
    """Return an --eps option that takes several values."""
    text = "Privacy budgets per word, comma-separated."
    return click.option("--eps", default=default, show_default=True, type=Epsilons(), help=text)


_EPS = "Privacy budget per word: 0 to generalize, or 0.001 to 100."
_PLUS = "Keep stopwords (CusText+)."
_CALIBRATION: dict[str, Any] = {
    "type": click.Choice(["paper", "tight"]),
    "help": "How eps scales the scores: by eps/2 as in the paper (the default), or by the largest factor that keeps "
    "the guarantee (tight).",
}
_LANGUAGE = (
    "Language of the stopwords that --plus keeps, or name of your own list; see custext stopwords.  "
    "[default: {}english]"
)
SEED = click.IntRange(0, 2**63 - 1)

eps_option = click.option("--eps", default=1.0, show_default=True, type=float, help=_EPS)
plus_option = click.option("--plus", is_flag=True, help=_PLUS)
calibration_option = click.option("--calibration", default="paper", **_CALIBRATION)
mapping_option = click.option("--mapping", help="Name of the mapping.  [default: the default mapping of the database]")
language_option = click.option("--language", default="english", help=_LANGUAGE.format(""))
seed_option = click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the draws.")
# What these leave out is that of the key, if there is one.
keyed_eps_option = click.option("--eps", type=float, help=f"{_EPS}  [default: the key's, else 1.0]")
keyed_plus_option = click.option("--plus", is_flag=True, default=None, help=_PLUS)
keyed_calibration_option = click.option("--calibration", **_CALIBRATION)
keyed_language_option = click.option("--language", help=_LANGUAGE.format("the key's, else "))
record_column_option = click.option(
    "--record-column", metavar="NAME", help="Column of IDs, needed with a key; the record is COLUMN:ID."
)

_PARTS = {
    "unknown": (
        ["keep", "mask", "random"],
        "Words outside the vocabulary: keep them, mask them, or replace them with a random word of the vocabulary.",
    ),
    "numbers": (["shape", "mask", "keep"], "Numbers outside the vocabulary: randomize the digits, mask, or keep."),
    "case": (["lower", "match"], "Replacements in lower case, or in the case of the original, which reveals it."),
    "units": (["mask", "keep"], "E-mail addresses, phone numbers, dates, ...: one mask each, or treat them as words."),
}
_POLICY = (
    "For units, and for words and numbers outside the vocabulary: mask them all (strict{}), or, as in the paper, keep "
    "the words and randomize digits (paper). The next options change parts of it."
)
keep_words_option = click.option(
    "--keep-words", metavar="FILE", help="Public words that stay, one per line, such as the labels of speakers."
)
POLICY_OPTIONS = ("policy", *_PARTS, "keep_words")


def policy_options(default: str | None = None) -> Decorator:
    """Return a decorator that adds the options of a policy to a command, which receives them as `policy`.

    default: the name of a policy. None: that of the key, if there is one, else strict.
    """
    named = click.Choice(["strict", "paper"])
    text = _POLICY.format({None: ", the default without a key", "strict": ", the default"}.get(default, ""))
    return _combined(
        "policy",
        lambda given: _find_policy(given, default or "strict"),
        click.option("--policy", type=named, default=default, show_default=True, help=text),
        *(click.option(f"--{name}", type=click.Choice(some), help=about) for name, (some, about) in _PARTS.items()),
        keep_words_option,
    )


def _find_policy(given: dict[str, Any], usual: str) -> "str | Policy | None":
    """Return the policy that some options ask for: a name, or None, if there are no others.

    Options change parts of the named policy, else of the key's, else of the usual one.
    """
    named, *values = (given.pop(name) for name in POLICY_OPTIONS)
    parts = {name: value for name, value in zip(POLICY_OPTIONS[1:], values, strict=True) if value is not None}
    if not parts:
        return named  # type: ignore[no-any-return]
    from custext_sql.sanitizer.policy import choose_policy
    from custext_sql.text.word_boundaries import read_word_file

    if "keep_words" in parts:
        parts["keep_words"] = read_word_file(parts["keep_words"])
    if named is None and given.get("key_file") is not None:
        from custext_sql.store.key_files import read_key_file

        return replace(read_key_file(given["key_file"]).settings.policy, **parts)
    return replace(choose_policy(named or usual), **parts)


def settings_options(policy: str) -> Decorator:
    """Return a decorator that adds the settings of experiments. policy: the default one."""
    return add_options(plus_option, policy_options(policy), calibration_option, mapping_option)


keyed_settings_options = add_options(
    keyed_eps_option,
    keyed_plus_option,
    policy_options(),
    keyed_calibration_option,
    mapping_option,
    keyed_language_option,
)

# The ledger

earlier_option = click.option(
    "--dataset",
    metavar="NAME",
    help="Name of your texts in the ledger, for earlier releases.  [default: their files or their table]",
)
dataset_options = add_options(
    click.option(
        "--second-mapping",
        is_flag=True,
        help="Allow data to be released again under another mapping; this reveals more.",
    ),
    click.option(
        "--reuse-key", is_flag=True, help="Allow a key that was used for other data; this makes the outputs comparable."
    ),
)

# Texts: INPUT, or --data and --table, with --column; and --public

NO_QUOTES = "CSV and TSV: quotes are ordinary characters, as in GLUE's files."
_FILES = ("format", "encoding", "no_quotes")
prior_option = click.option(
    "--prior", metavar="FILE", help="Word frequencies to use instead of those in INPUT: a word and a number per line."
)


def force_option(what: str) -> Decorator:
    """Return the option --force. what: what it replaces."""
    return click.option("--force", is_flag=True, help=f"Replace an existing {what}.")


def file_options(what: str, prefix: str = "") -> Decorator:
    """Return the options for the format, the encoding and the quotes of files. what: what help texts call them."""
    formats = click.Choice(FORMAT_NAMES)
    encoding = f"Encoding of {what}, such as utf-16, latin-1 or cp1252.  [default: utf-8]"
    return add_options(
        click.option(f"--{prefix}format", type=formats, help=f"Format of {what}.  [default: from its name]"),
        click.option(f"--{prefix}encoding", metavar="NAME", help=encoding),
        click.option(f"--{prefix}no-quotes", is_flag=True, help=NO_QUOTES),
    )


def input_options(*, required: bool) -> Decorator:
    """Return a decorator that adds INPUT, --data, --table, --column, --format, --encoding, --no-quotes.

    The command gets `data`, the texts that they name or None, and `column`. required: whether there must be texts.
    """
    return _combined(
        "data",
        lambda given: _find_texts(given, required=required),
        click.argument("input_", metavar="[INPUT]", required=False),
        click.option("--data", "data_file", metavar="FILE", help="DuckDB file with the table; instead of INPUT."),
        click.option("--table", metavar="NAME", help="Table or view of --data."),
        click.option("--column", metavar="NAME", help="Column of the texts; leave it out for lines of text."),
        file_options("INPUT"),
    )


def _find_texts(given: dict[str, Any], *, required: bool) -> "Texts | None":
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    named, data, table = (given.pop(name) for name in ("input_", "data_file", "table"))
    files = {name: given.pop(name) for name in _FILES}
    if data is not None and tell_format(data) is not None:
        command = " ".join(["custext", *click.get_current_context().command_path.split()[1:]])
        raise click.UsageError(
            f"--data is for DuckDB files; give text files as INPUT: {command} {shlex.quote(data)} --column NAME"
        )
    if (data is None) != (table is None):
        raise click.UsageError("--data and --table go together: a DuckDB file and one of its tables.")
    if data is not None and named is not None:
        raise click.UsageError("Expected INPUT, or --data and --table; found both.")
    option = next((write_option(name) for name, value in files.items() if value not in (None, False)), None)
    if named is None and option is not None:
        raise click.UsageError(f"{option} is for files; {'a table has none' if data else 'give one as INPUT'}.")
    if data is not None:
        return DataTable(data, table)
    if named is None and given["column"] is not None:
        raise click.UsageError("--column names a column of your texts. Give them as INPUT.")
    if named is None and required:
        raise click.UsageError("Expected INPUT: a file, a folder or a quoted pattern; or --data and --table.")
    if option is None:
        return named  # type: ignore[no-any-return]
    return DataFiles(named, files["format"], files["encoding"], not files["no_quotes"])


def public_options(about: str, *, column: str = "same as --column", required: bool = False) -> Decorator:
    """Return a decorator that adds --public, --public-table, --public-column and the options of its files.

    The command gets `public`, the texts that they name or None, and `public_column`. about: the help text of --public.
    column: the default column.
    """
    return _combined(
        "public",
        _find_public,
        click.option("--public", metavar="FILE", required=required, help=about),
        click.option("--public-table", metavar="NAME", help="Table or view, if --public is a DuckDB file."),
        click.option("--public-column", metavar="NAME", help=f"Column of --public.  [default: {column}]"),
        file_options("--public", "public-"),
    )


PUBLIC_OPTIONS = ("public", *(f"public_{name}" for name in ("table", "column", *_FILES)))


def _find_public(given: dict[str, Any]) -> "Texts | None":
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    options = [write_option(name) for name in PUBLIC_OPTIONS[1:] if given[name]]
    path, table = given.pop("public"), given.pop("public_table")
    format, encoding, no_quotes = (given.pop(f"public_{name}") for name in _FILES)
    if path is None and options:
        raise click.UsageError(f"{options[0]} is about public texts. Name them: --public FILE.")
    if path is None:
        return None
    if table is None:
        return DataFiles(path, format, encoding, not no_quotes)
    if format or encoding or no_quotes:
        raise click.UsageError(f"{options[-1]} is for files; a table has none.")
    return DataTable(path, table)


def write_option(name: str) -> str:
    """Return an option as it is typed, such as --no-quotes for no_quotes."""
    return f"--{name.replace('_', '-')}"


def show_input(data: "Texts | None") -> str:
    """Return the arguments with which a command names texts; INPUT if there are none."""
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    if isinstance(data, DataTable):
        return shlex.join(["--data", str(data.path), "--table", data.table])
    if not isinstance(data, DataFiles):
        return "INPUT" if data is None else shlex.quote(str(data))
    options = (("--format", data.format), ("--encoding", data.encoding))
    given = [part for name, value in options if value for part in (name, value)]
    return shlex.join([str(data.path), *given, *([] if data.quotes else ["--no-quotes"])])
