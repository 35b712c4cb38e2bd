"""Commands that judge how private texts would be: report, at a given eps; and choose, which suggests one."""

import shlex
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli import options
from custext_sql.cli.output import draw_bar, name_places, print_json, print_table, progress_bar, report_skipped

if TYPE_CHECKING:
    from custext_sql.experiments.choosing import Choice
    from custext_sql.files.inputs.texts import Texts

_SHOWN = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)  # eps of the printed curve
_WIDTH = 80


@click.command("report", short_help="Give a verdict on privacy at an eps, with all figures on one page.")
@options.examples("custext report reviews.csv --column body --eps 0 --public news.txt --html report.html")
@options.texts(required=False)
@options.file("--html", help="Write a page: the verdict, then all figures.")
@options.prior
@options.public("Public texts, for the context attack on INPUT.")
@click.option(
    *("--word", "words"),
    multiple=True,
    metavar="WORD",
    help="Word for the query attack; repeat for several.  [default: a few common words]",
)
@options.earlier
@options.eps
@options.settings("strict")
@options.force("page")
@options.prints_result
def report_command(db: str | None, /, html: str | None, **settings: Any) -> Iterator[Any]:
    """Give a verdict on texts that are sanitized at a given eps, in plain words: red, amber or green.

    The verdict says what an attacker can and cannot do, what stays in the clear, and what would help most. --html
    writes it as a page that prints on one sheet, followed by all figures: attacks, words in the clear, guarantees.

    INPUT has your texts: a file, a folder or a quoted pattern of files; for a table, give --data and --table instead.
    The report uses their word frequencies. With --public, it also runs the context attack on them; without it, the
    verdict is never green. For the utility of sanitized texts, see `custext evaluate`.

    The report shows no texts, but it is computed from them and is not protected.
    """
    from custext_sql.experiments import write_report
    from custext_sql.experiments.verdict import write_opening, write_verdict

    with progress_bar("measuring") as progress:
        report = write_report(db, html=html, progress=progress, **settings)
    if report.context is not None:
        report_skipped({report.context.public: report.context.skipped})
    yield report
    if html is None:
        click.echo("\n".join(write_verdict(report.verdict)))
    else:
        click.echo(f"{html}: {report.mapping}, eps = {report.eps:g}")
        click.echo("\n".join(write_opening(report.verdict)))


def _read_sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> list[int] | None:
    try:
        return None if value is None else [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"expected comma-separated whole numbers such as 20,40; found {value!r}") from None


@click.command("choose", short_help="Suggest a group size and an eps for a bound on an attack.")
@options.examples(
    "custext choose reviews.csv --column body",
    "custext choose reviews.csv --column body --attack context --public news.txt",
)
@options.texts(required=False)
@click.option(
    "--max-attack",
    type=float,
    metavar="SHARE",
    help="Largest acceptable share of correct guesses, between 0 and 1.  [default: 0.2, above which no "
    "verdict is green; 0.4 for --attack context, above which it is red]",
)
@click.option(
    "--max-eps",
    type=float,
    metavar="EPS",
    help="Largest eps to consider.  [default: the largest at which no output makes a word of its group more than "
    "40% likely, such as 3.2 in groups of 40]",
)
@options.choice(
    *("--attack", "bayes", "context"),
    show_default=True,
    help="The best single guess from the tables, or a guess from the whole text (needs INPUT and --public).",
)
@click.option(
    "--k",
    metavar="LIST",
    callback=_read_sizes,
    help="Group sizes to try, comma-separated.  [default: 20,40,80,160, and that of the default mapping]",
)
@options.named("--embedding", help="Embedding to group.  [default: that of the default mapping]")
@options.named("--mapping", "mappings", multiple=True, help="Instead, compare stored mappings; repeat for several.")
@options.prior
@options.earlier
@options.public("Public texts from which the context attack learns.")
@options.plus
@options.policy("strict")
@options.calibration
@options.json
@click.pass_obj
def choose_command(db: str | None, /, data: "Texts | None", column: str | None, as_json: bool, **settings: Any) -> None:
    """Suggest a group size K and an eps at which an attack succeeds at most as often as you allow.

    INPUT has your texts: a file, a folder or a quoted pattern of files; for a table, give --data and --table instead.
    By default, the attack is that of `attack bayes`: computed exactly from the tables, for an attacker who knows how
    frequent words are in your texts (or in --prior). With --attack context, it is that of `attack context`: measured on
    about 20,000 words of your texts, for an attacker who has public texts.

    Several K are tried, in mappings made like the default one. Those that are not stored are made in memory, which
    takes a minute or two for 100,000 words. For each, eps is 0 (every replaced word becomes the most frequent one of
    its group) or the largest eps within the bound and --max-eps, whichever gives replacements closer to the original
    words. It suggests the mapping whose replacements are closest to the original words, leaving out mappings that
    replace fewer words. Among those within 0.02 of the closest, it suggests the one on which the attack succeeds least.

    The commands to run come last, with the verdict on them (in full with --json). If no K meets the bound, the exit
    code is 1. If the ledger has earlier releases of your texts, the suggestion keeps their mapping, because a second
    one is refused; if that is not possible, there are no commands, and the exit code is 1.

    The output is computed from your texts and is not protected.
    """
    from custext_sql.experiments import choose
    from custext_sql.experiments.choice_lines import list_commands

    with progress_bar("choosing") as progress:
        choice = choose(db, data=data, column=column, progress=progress, **settings)
    steps = list_commands(
        choice,
        data,
        column,
        named=options.show_input(data),
        more=options.repeat(*options.POLICY),
        known=options.repeat("prior", *options.PUBLIC),
        dataset=settings["dataset"],
    )
    commands = [name_places(f"custext {step}") for step in steps]
    if as_json:
        print_json({**asdict(choice), "commands": commands})
    else:
        _print_choice(choice, commands)
    if not commands:
        sys.exit(1)


def _print_choice(choice: "Choice", commands: list[str]) -> None:
    """Print what was compared and chosen, the commands to run, and what the verdict on them objects to and advises."""
    from custext_sql.experiments.choice_lines import describe_choice
    from custext_sql.experiments.verdict import write_opening

    for line in describe_choice(choice, "setting"):
        _print_wrapped(line, "  ")
    click.echo()
    _print_candidates(choice)
    shown = choice.chosen or min(choice.candidates, key=lambda candidate: candidate.least)
    click.echo(f"\nK = {shown.k}: share guessed, by eps")
    rows = [
        [
            f"{result.eps:g}",
            f"{result.success:.4f}",
            draw_bar(result.success, 40) + "  above the bound" * (result.success > choice.bound),
        ]
        for result in shown.curve
        if result.eps in _SHOWN
    ]
    print_table(["eps", "guessed", ""], rows, right=(0, 1))
    for line in describe_choice(choice, "choice"):
        click.echo()
        _print_wrapped(line)
    if choice.verdict is None:
        return
    if commands:
        click.echo("\nRun:\n" + "\n".join(map(_break_command, commands)))
    click.echo("\n" + "\n".join(write_opening(choice.verdict, _WIDTH)))
    parts = choice.verdict.word, choice.verdict.row, choice.verdict.dataset, choice.verdict.in_clear
    for sentence in chain(*parts):
        if sentence.color in ("red", "amber"):
            _print_wrapped(f"{sentence.color:>7}  {sentence.text}", " " * 9)
    for sentence in choice.verdict.advice[:1]:
        _print_wrapped(f"advice: {sentence.text}")


def _print_candidates(choice: "Choice") -> None:
    columns = ["  K", "eps = 0", "eps", "guessed", "distance", "replaced", "mapping"]
    rows = [
        [
            ("* " if candidate is choice.chosen else "  ") + str(candidate.k),
            f"{candidate.success_at_0:.4f}",
            "none" if candidate.eps is None else f"{candidate.eps:g}",
            "" if candidate.success is None else f"{candidate.success:.4f}",
            "" if candidate.distance is None else f"{candidate.distance:.3f}",
            f"{candidate.drawn:.1%}",
            candidate.mapping,
        ]
        for candidate in choice.candidates
    ]
    if len({row[5] for row in rows}) == 1:  # the share is above
        for row in (columns, *rows):
            del row[5]
    print_table(columns, rows, right=range(len(columns) - 1))
    click.echo(
        "eps = 0: share guessed at eps = 0; guessed: the same at the eps beside it\n"
        "distance: mean distance of a word from its replacement; 1 is the typical\n"
        "  distance of two random words"
    )


def _print_wrapped(text: str, indent: str = "") -> None:
    lines = textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    click.echo("\n".join(lines))


def _break_command(command: str) -> str:
    """Return a command that can be pasted, broken before options, so that its lines fit."""
    parts: list[list[str]] = [[]]
    for word in shlex.split(command):
        if word.startswith("--") and parts[-1]:
            parts.append([])
        parts[-1].append(shlex.quote(word))
    first, *rest = map(" ".join, parts)
    lines = [f"  {first}"]
    for part in rest:
        if len(lines[-1]) + 1 + len(part) <= _WIDTH - 2:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    return " \\\n".join(lines)
