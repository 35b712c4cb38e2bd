"""The `custext` command. Subcommands import what they need when they run, so that --help is fast."""

import errno
import io
import logging
import os
import re
import sys
from functools import partial
from typing import Any

import click

from custext_sql.cli import database, experiments, ledger, preview, releases, verdicts
from custext_sql.cli.ending import Ending
from custext_sql.cli.output import name_places, printed_warnings
from custext_sql.errors import CusTextError, tell_system_error
from custext_sql.parameters import find_closest
from custext_sql.store.outputs import remove_private_folders

_NAME = re.compile(r"[a-z][a-z-]{0,30}")  # of a command; anything else may be a user's text
_OPTION = re.compile(r"--[a-z][a-z-]{0,30}")
_NO_COMMAND = re.compile(r"No such command(?: '[a-z][a-z-]{0,30}')?\.(?: [A-Z(][\w '?,:()-]+)?")

_COMMANDS = (
    *(releases.sanitize_command, preview.playground_command, preview.diff_command, preview.leaks_command),
    *(releases.sql_command, ledger.ledger_command, ledger.verify_command),
    *(database.load_command, database.map_command, database.inspect_command, database.audit_command),
    *(experiments.attack_command, experiments.evaluate_command, verdicts.choose_command, verdicts.report_command),
    *(releases.keygen_command, database.info_command, database.use_command, database.drop_command),
    *(database.stopwords_command, database.compact_command, database.upgrade_command),
)


class _Commands(click.Group):
    """Commands in order of use. Suggests the closest name for a typo and prints our errors as messages."""

    def main(self, *args: Any, **options: Any) -> Any:
        with Ending(remove_private_folders) as self._ending:
            return super().main(*args, **options)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        close = find_closest(args[0], self.list_commands(context))
        if self.get_command(context, args[0]) is None:
            if not _NAME.fullmatch(args[0]):
                context.fail("No such command. To sanitize a text: custext sanitize TEXT")
            hint = f"Did you mean {close!r}?" if close else "To sanitize a text: custext sanitize TEXT"
            context.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        try:
            with self._ending.showing_signals(), printed_warnings():
                return super().invoke(context)
        except click.UsageError as error:
            raise _without_text(error) from None
        except CusTextError as error:
            raise click.ClickException(name_places(str(error))) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader closed the pipe; click exits quietly
                raise
            raise click.ClickException(f"cannot write the output: {tell_system_error(error)}") from None


def _without_text(error: click.UsageError) -> click.UsageError:
    """Return a usage error that does not quote a text that was meant to be sanitized."""
    if isinstance(error, click.NoSuchOption) and not _OPTION.fullmatch(error.option_name):
        said = "No such option. If a text starts with a dash, put -- before it: custext sanitize -- TEXT"
    elif error.message.startswith("No such command") and not _NO_COMMAND.fullmatch(error.message):
        said = "No such command."
    elif error.message.startswith("Got unexpected extra argument"):
        said = "Got more arguments than expected. Put a text of several words in quotes."
    else:
        return error
    return click.UsageError(said, ctx=error.ctx)


def _restore(name: str, value: str | None) -> None:
    """Give a variable of the environment the value that it had before; None if it had none."""
    os.environ.pop(name)
    if value is not None:
        os.environ[name] = value


@click.group(
    cls=_Commands,
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--db",
    metavar="PATH",
    help="The custext database.  [default: $CUSTEXT_DB if set, otherwise your own database, built on first use "
    "from the shipped vectors]",
)
@click.option(
    "--ledger",
    metavar="PATH|URL",
    help="The ledger: a SQLite file, or postgresql://user@host/name.  [default: $CUSTEXT_LEDGER if set, otherwise a "
    "file beside the database]",
)
@click.version_option(package_name="custext-sql", prog_name="custext")
@click.pass_context
def main(context: click.Context, db: str | None, ledger: str | None) -> None:
    """Sanitize text with differential privacy.

    A mapping splits a vocabulary into groups of similar words. Each word of a text is replaced by a random word of its
    group, drawn so that any two words of a group are eps-indistinguishable: the smaller eps is, the less the output
    reveals.

    \b
    Try it (nothing to download):
      custext sanitize "My doctor said the surgery went well." --eps 1 --plus
      custext inspect doctor --eps 1
    Use your own vectors:
      custext --db my.duckdb load glove.6B.300d.txt --name glove
      custext --db my.duckdb map --embedding glove --k 20
    """
    context.obj = db
    if ledger is not None:
        context.call_on_close(partial(_restore, "CUSTEXT_LEDGER", os.environ.get("CUSTEXT_LEDGER")))
        os.environ["CUSTEXT_LEDGER"] = ledger
    for stream in (sys.stdout, sys.stderr):  # show the code of a letter that the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("custext_sql")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
