"""Options that several commands share, each with one help text, and the values that commands get from them.

Commands write `@options.eps` and the like.
"""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from custext_sql.cli.output import print_json
from custext_sql.files.inputs.file_formats import FORMAT_NAMES, tell_format

if TYPE_CHECKING:
    from custext_sql.files.inputs.texts import Texts
    from custext_sql.sanitizer.policy import Policy

Decorator = Callable[[Any], Any]

flag = partial(click.option, is_flag=True)
shown = partial(click.option, show_default=True)
file = partial(click.option, metavar="FILE")
named = partial(click.option, metavar="NAME")


def choice(name: str, *choices: str, help: str, **more: Any) -> Decorator:
    """Return an option for one of several words. more: its default and the like; the first choice is the default."""
    return click.option(name, type=click.Choice(choices), help=help, **{"default": choices[0], **more})


def examples(*lines: str) -> Decorator:
    """Return a decorator that shows commands below the help text of a command."""

    def decorate(command: Any) -> Any:
        title = "Example:" if sum(line.startswith("custext") for line in lines) == 1 else "Examples:"
        shown = "\n".join(["\b", title, *(f"  {line}" for line in lines)])
        command.__doc__ = f"{cleandoc(command.__doc__)}\n\n{shown}"
        return command

    return decorate


def refuse(wrong: object, message: str) -> None:
    """Exit with status 2 and a message about the arguments if `wrong` is true."""
    if wrong:
        raise click.UsageError(message)


def together(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options to a command, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _combined(name: str, combine: Callable[[dict[str, Any]], Any], *options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command and passes them to it combined, as one argument of that name.

    combine: removes these options from the arguments of the command, and returns the value that they stand for.
    """

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def run(*arguments: Any, **given: Any) -> Any:
            return command(*arguments, **{name: combine(given)}, **given)

        return together(*options)(run)

    return decorate


json = flag("--json", "as_json", help="Print JSON.")


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

    return json(click.pass_obj(run))


# Settings of the mechanism


def _read_epsilons(context: click.Context, parameter: click.Parameter, value: str) -> list[float]:
    """Return comma-separated numbers, each once; fail if one is not a valid eps."""
    from custext_sql.errors import SettingError
    from custext_sql.mechanism.weights import check_epsilon

    try:
        return list(dict.fromkeys(check_epsilon(float(part)) for part in value.split(",")))
    except ValueError:
        raise click.BadParameter(f"expected comma-separated numbers such as 1,2,3; found {value!r}") from None
    except SettingError as error:
        raise click.BadParameter(str(error)) from None


def epsilons(default: str) -> Decorator:
    """Return an --eps option that takes several values."""
    text = "Privacy budgets per word, comma-separated."
    return shown("--eps", default=default, metavar="LIST", callback=_read_epsilons, help=text)


_EPS = "Privacy budget per word: 0 to generalize, or 0.001 to 100."
_PLUS = "Keep stopwords (CusText+)."
_CALIBRATION = (
    "How eps scales the scores: by eps/2 as in the paper (the default), or by the largest factor that keeps the "
    "guarantee (tight)."
)
_LANGUAGE = (
    "Language of the stopwords that --plus keeps, or name of your own list; see custext stopwords.  "
    "[default: {}english]"
)
SEED = click.IntRange(0, 2**63 - 1)

eps = shown("--eps", default=1.0, type=float, help=_EPS)
plus = flag("--plus", help=_PLUS)
calibration = choice("--calibration", "paper", "tight", help=_CALIBRATION)
mapping = click.option("--mapping", help="Name of the mapping.  [default: the default mapping of the database]")
language = click.option("--language", default="english", help=_LANGUAGE.format(""))
seed = shown("--seed", default=0, type=SEED, help="Seed of the draws.")
# A setting that is not given is the key's, if there is one.
keyed_eps = click.option("--eps", type=float, help=f"{_EPS}  [default: the key's, else 1.0]")
keyed_plus = flag("--plus", default=None, help=_PLUS)
keyed_calibration = choice("--calibration", "paper", "tight", default=None, help=_CALIBRATION)
keyed_language = click.option("--language", help=_LANGUAGE.format("the key's, else "))
record_column = named("--record-column", help="Column of row IDs, needed with a key; a record is TEXT_COLUMN:ID.")
keep_words = file("--keep-words", help="File of public words to keep, one per line, such as speaker labels.")

_PARTS = {
    "unknown": (
        ["keep", "mask", "random"],
        "Words outside the vocabulary: keep them, mask them, or replace them with a random word of the vocabulary.",
    ),
    "numbers": (["shape", "mask", "keep"], "Numbers outside the vocabulary: random digits (shape), mask, or keep."),
    "case": (["lower", "match"], "Replacements in lower case, or in the case of the original, which reveals it."),
    "units": (["mask", "keep"], "E-mail addresses, phone numbers, dates, ...: one mask each, or treat as other words."),
}
POLICY = ("policy", *_PARTS, "keep_words")


def policy(default: str | None = None) -> Decorator:
    """Return a decorator that adds the options of a policy to a command, which receives them as `policy`.

    default: the name of a policy. None: that of the key, if there is one, else strict.
    """
    strict = {None: ", the default without a key", "strict": ", the default"}.get(default, "")
    text = (
        f"For units, and for words and numbers outside the vocabulary: mask them all (strict{strict}), or, as in the "
        "paper, keep the words and randomize digits (paper). The options below change parts of the policy."
    )
    names = choice("--policy", "strict", "paper", default=default, show_default=True, help=text)
    parts = (choice(f"--{name}", *some, default=None, help=about) for name, (some, about) in _PARTS.items())
    return _combined("policy", lambda given: _find_policy(given, default or "strict"), names, *parts, keep_words)


def _find_policy(given: dict[str, Any], usual: str) -> "str | Policy | None":
    """Return the policy that the options ask for.

    Without options that change parts of it, return the value of --policy: a name or None. Otherwise, change these parts
    in the named policy, else in the key's, else in the usual one.
    """
    name: str | None = given.pop("policy")
    parts = {part: value for part in POLICY[1:] if (value := given.pop(part)) is not None}
    if not parts:
        return name
    from custext_sql.sanitizer.policy import choose_policy
    from custext_sql.text.word_boundaries import read_word_file

    if "keep_words" in parts:
        parts["keep_words"] = read_word_file(parts["keep_words"])
    if name is None and given.get("key_file") is not None:
        from custext_sql.store.key_files import read_key_file

        return replace(read_key_file(given["key_file"]).settings.policy, **parts)
    return replace(choose_policy(name or usual), **parts)


def settings(default_policy: str) -> Decorator:
    """Return a decorator that adds the settings of experiments."""
    return together(plus, policy(default_policy), calibration, mapping)


keyed_settings = together(keyed_eps, keyed_plus, policy(), keyed_calibration, mapping, keyed_language)

# The ledger

earlier = named(
    "--dataset", help="Name of your texts in the ledger, for earlier releases.  [default: their files or their table]"
)
dataset = together(
    flag("--second-mapping", help="Allow data to be released again under another mapping; this reveals more."),
    flag("--reuse-key", help="Allow a key that was used for other data; this makes the outputs comparable."),
)

# Texts: INPUT, or --data and --table, with --column; and --public

DATA_AND_TABLE = "--data and --table go together: a DuckDB file and one of its tables."
NO_QUOTES = "CSV and TSV: treat quotes as ordinary characters, as GLUE's files do."
_FILES = ("format", "encoding", "no_quotes")
prior = file("--prior", help="Word frequencies to use instead of those in INPUT: a word and a number per line.")


def force(what: str) -> Decorator:
    """Return the option --force. what: what it replaces."""
    return flag("--force", help=f"Replace an existing {what}.")


def files(what: str, prefix: str = "") -> Decorator:
    """Return the options for the format, the encoding and the quotes of files. what: what help texts call them."""
    encoding = f"Encoding of {what}, such as utf-16, latin-1 or cp1252.  [default: utf-8]"
    return together(
        choice(f"--{prefix}format", *FORMAT_NAMES, default=None, help=f"Format of {what}.  [default: from its name]"),
        named(f"--{prefix}encoding", help=encoding),
        flag(f"--{prefix}no-quotes", help=NO_QUOTES),
    )


def texts(*, required: bool) -> Decorator:
    """Return a decorator that adds INPUT, --data, --table, --column, --format, --encoding, --no-quotes.

    The command gets `data`, the texts that they name or None, and `column`. required: whether there must be texts.
    """
    return _combined(
        "data",
        lambda given: _find_texts(given, required=required),
        click.argument("input_", metavar="[INPUT]", required=False),
        file("--data", "data_file", help="DuckDB file with the table; instead of INPUT."),
        named("--table", help="Table or view of --data."),
        named("--column", help="Column of the texts; leave it out for lines of text."),
        files("INPUT"),
    )


def _find_texts(given: dict[str, Any], *, required: bool) -> "Texts | None":
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    path, data, table = (given.pop(name) for name in ("input_", "data_file", "table"))
    written = write_given({name: given[name] for name in _FILES})
    format, encoding, no_quotes = map(given.pop, _FILES)
    if data is not None and tell_format(data) is not None:
        command = " ".join(["custext", *click.get_current_context().command_path.split()[1:], shlex.quote(data)])
        raise click.UsageError(f"--data is for DuckDB files; give text files as INPUT: {command} --column NAME")
    refuse((data is None) != (table is None), DATA_AND_TABLE)
    refuse(data is not None and path is not None, "Expected INPUT, or --data and --table; found both.")
    if path is None and written:
        raise click.UsageError(f"{written[0]} is for files; {'leave it out' if data else 'give one as INPUT'}.")
    if data is not None:
        return DataTable(data, table)
    if path is None:
        refuse(given["column"] is not None, "--column names a column of your texts. Give them as INPUT.")
        refuse(required, "Expected INPUT: a file, a folder or a quoted pattern; or --data and --table.")
    return None if path is None else DataFiles(path, format, encoding, not no_quotes)


PUBLIC = ("public", "public_table", "public_column", *(f"public_{name}" for name in _FILES))


def public(about: str, *, column: str = "same as --column", required: bool = False) -> Decorator:
    """Return a decorator that adds --public, --public-table, --public-column and the options of its files.

    The command gets `public`, the texts that they name or None, and `public_column`. about: the help text of --public.
    column: the default column.
    """
    return _combined(
        "public",
        _find_public,
        file("--public", required=required, help=about),
        named("--public-table", help="Table or view, if --public is a DuckDB file."),
        named("--public-column", help=f"Column of --public.  [default: {column}]"),
        files("--public", "public-"),
    )


def _find_public(given: dict[str, Any]) -> "Texts | None":
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    written = write_given({name: given[name] for name in PUBLIC[1:]})
    path, table, format, encoding, no_quotes = (given.pop(name) for name in PUBLIC if name != "public_column")
    if path is None and written:
        raise click.UsageError(f"{written[0]} is about public texts. Name them: --public FILE.")
    if path is None:
        return None
    if table is None:
        return DataFiles(path, format, encoding, not no_quotes)
    if format or encoding or no_quotes:
        raise click.UsageError(f"{written[-1]} is for files; leave it out for a table.")
    return DataTable(path, table)


# Options as they are typed


def write_given(values: dict[str, Any]) -> list[str]:
    """Return the options that have a value, spelled as on the command line, such as --no-quotes for no_quotes."""
    return [f"--{name.replace('_', '-')}" for name, value in values.items() if value not in (None, False)]


def repeat(*names: str) -> str:
    """Return which of the named options were given on the command line, with their values, for another command."""
    context = click.get_current_context()
    given = [name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]
    values = zip(write_given(dict.fromkeys(given, True)), map(context.params.__getitem__, given), strict=True)
    return shlex.join(part for option, value in values for part in ([option] if value is True else [option, value]))


def show_input(data: "Texts | None") -> str:
    """Return the arguments with which a command names texts; the word INPUT if `data` is None."""
    from custext_sql.files.inputs.texts import DataFiles, DataTable

    if data is None:
        return "INPUT"
    if isinstance(data, DataTable):
        return shlex.join(["--data", str(data.path), "--table", data.table])
    assert isinstance(data, DataFiles)
    options = {"--format": data.format, "--encoding": data.encoding}
    given = [part for name, value in options.items() if value for part in (name, value)]
    return shlex.join([str(data.path), *given, *([] if data.quotes else ["--no-quotes"])])
