"""Commands that release texts: sanitize and sql; and keygen, for keys to release them with."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custext_sql.cli import options
from custext_sql.cli.output import print_json, print_table, progress_bar, show_control, warn
from custext_sql.files.inputs.file_formats import FORMAT_NAMES
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.files.query_releases import Answer
    from custext_sql.sanitizer.receipt import Receipt
    from custext_sql.store.key_files import KeySettings

_SHOWN = 100  # rows in a table on the terminal


@click.command("sanitize", short_help="Sanitize a text, a file, a folder or a table.")
@options.examples(
    'custext sanitize "My doctor in Boston said the surgery went well." --eps 1 --plus',
    "custext sanitize reviews.csv sanitized.csv --column body --column title --eps 1 --plus",
    "custext sanitize 'reviews/*.parquet' sanitized.parquet --column body --max-row-eps 200",
    "custext sanitize SST-2/train.tsv sanitized.tsv --column sentence --no-quotes",
    "custext sanitize --data shop.duckdb --table reviews reviews_sanitized --column body",
    "custext sanitize --data shop.duckdb --table reviews reviews_clean --column body \\",
    "  --append --record-column id --key-file shop.key",
    "custext sanitize - - < reviews.txt > sanitized.txt",
)
@click.argument("arguments", nargs=-1, metavar="TEXT | INPUT OUTPUT")
@options.named("--column", "columns", multiple=True, help="Column to sanitize; repeat for several.")
@options.keyed_settings
@options.choice(
    *("--format", *FORMAT_NAMES),
    default=None,
    help="Format of the input.  [default: from its name; text for standard input]",
)
@options.named(
    "--encoding",
    help="Encoding of a text file, such as utf-16, latin-1 or cp1252; the output is UTF-8.  [default: utf-8]",
)
@options.flag("--no-quotes", help=options.NO_QUOTES)
@options.file("--data", help="DuckDB file with the table; OUTPUT is a new table in it, or a file.")
@options.named("--table", help="Table of --data to sanitize.")
@click.option("--key-file", metavar="PATH", help="Key with its settings; equal records and texts give equal outputs.")
@options.record_column
@click.option("--max-row-eps", type=float, metavar="B", help="Refuse the release if any row would spend more than B.")
@click.option(
    "--budget-total",
    type=float,
    metavar="B",
    help="Refuse the release if any row's total over all releases would exceed B.",
)
@options.named("--dataset", help="Name of the data in the ledger.  [default: its files or its table]")
@options.dataset
@options.flag("--append", help="Add only rows whose IDs are not in the output table yet; needs --record-column.")
@options.force("output")
@click.option("--seed", type=int, metavar="N", help="Repeatable draws, for demonstrations only: no protection.")
@options.json
@click.pass_obj
def sanitize_command(
    db: str | None,
    /,
    arguments: tuple[str, ...],
    data: str | None,
    table: str | None,
    append: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Sanitize a text, or INPUT into OUTPUT.

    INPUT is a file (CSV, TSV, JSON, Parquet, lines of text), a folder, a quoted pattern of files, or - for
    standard input; for a table, give --data and --table instead. OUTPUT appears only when it is complete, and is always
    UTF-8. Every release is entered in the ledger.
    """
    from custext_sql.files.inputs.file_formats import STANDARD
    from custext_sql.files.line_releases import sanitize_text

    options.refuse((data is None) != (table is None), options.DATA_AND_TABLE)
    if arguments == (STANDARD,) and not data:
        arguments = (STANDARD, STANDARD)
    if data:
        options.refuse(len(arguments) != 1, "Expected OUTPUT: the name of a new table, or of a file.")
    else:
        wrong = len(arguments) not in (1, 2)
        options.refuse(wrong, "Expected TEXT, or INPUT and OUTPUT. Put a text of several words in quotes.")
    is_text = not data and len(arguments) == 1
    source, output = arguments[0], arguments[-1]
    if is_text and _names_a_file(source):
        said = f"{source} is a file. To sanitize its content: custext sanitize {source} OUTPUT --column NAME"
        raise click.UsageError(said)
    format, encoding, no_quotes, force = map(settings.pop, ("format", "encoding", "no_quotes", "force"))
    if data or is_text:
        what = "DuckDB tables are always UTF-8" if data else "a text on the command line has none"
        options.refuse(encoding is not None, f"--encoding is for text files; {what}.")
        options.refuse(no_quotes, "--no-quotes is for CSV and TSV files; leave it out for a table or a text.")
    options.refuse(append and not data, "--append adds rows to a table: give --data and --table.")
    settings["database"] = db
    if is_text:
        text, report = sanitize_text(source, **settings)
        if as_json:
            print_json({"text": text, "receipt": report.receipt.to_dict()})
        else:
            click.echo(text.encode())  # always UTF-8, whatever the terminal claims to support
        _tell_receipt(report.receipt, with_receipt=not as_json)
        return
    from custext_sql import sanitize_file, sanitize_table  # not needed, and slow to load, for one text
    from custext_sql.sql.queries import let_threads_alternate

    let_threads_alternate()
    with progress_bar("sanitizing") as progress:
        settings |= {"force": force, "progress": progress}
        if data is not None and table is not None:
            report = sanitize_table(data, table, output, append=append, **settings)
        else:
            settings |= {"format": format, "encoding": encoding, "quotes": not no_quotes}
            report = sanitize_file(source, output, **settings)
    copied = list(report.copied)
    if as_json:
        made = {"output": output, "rows": report.rows, "copied": copied, "receipt": report.receipt.to_dict()}
        print_json(made, err=output == STANDARD)
    else:
        if output != STANDARD:
            click.echo(f"{report.output}: {count_of(report.rows, 'row')}{' added' * append}")
        if copied:
            click.echo(f"columns copied unchanged: {', '.join(map(show_control, copied))}", err=True)
    _tell_receipt(report.receipt, with_receipt=not as_json)


def _names_a_file(text: str) -> bool:
    """Return whether a text is also the name of a file; most texts could not even be one."""
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


def _tell_receipt(receipt: "Receipt", *, with_receipt: bool) -> None:
    """Print a receipt and its warnings on standard error. with_receipt: False if it was already printed as JSON."""
    if with_receipt:
        click.echo(receipt.describe(), err=True)
    for warning in receipt.warnings:
        warn(warning)


def _split_attached(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the files of --attach by their names."""
    pairs = [value.partition("=") for value in values]
    if not all(name and file for name, _, file in pairs):
        raise click.BadParameter("expected NAME=FILE, such as --attach lookup=lookup.duckdb")
    names = [name.lower() for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise click.BadParameter("each file needs a name of its own")
    return {name: file for name, _, file in pairs}


@click.command("sql", short_help="Run a SQL query that can sanitize texts.")
@options.examples(
    "custext sql \"SELECT id, custext_sanitize(body, 1.0, true) AS body FROM 'reviews.csv'\"",
    'custext sql "SELECT * REPLACE (custext_sanitize(body, 1, true) AS body) FROM reviews" \\',
    "  --data shop.duckdb --output reviews.parquet",
    'custext sql "SELECT id, custext_sanitize(body, 1, true) AS body FROM reviews" \\',
    "  --data shop.duckdb --into clean",
    "custext sql \"FROM custext_distribution('doctor', 1.0)\"",
)
@click.argument("query")
@options.file("--data", help="DuckDB file to query. The query cannot change it; --into adds a table.")
@click.option(
    *("--attach", "attached"),
    metavar="NAME=FILE",
    multiple=True,
    callback=_split_attached,
    help="Another DuckDB file; refer to its tables as NAME.TABLE. May be given several times.",
)
@options.file("--output", help="Write the result to a .parquet, .csv, .json or .jsonl file.")
@click.option("--into", metavar="TABLE", help="Write the result to a new table of --data.")
@options.flag("--append", help="Append to the table of --into; column names must match.")
@options.force("output")
@options.flag("--allow-raw", help="Write a result even if none of it was sanitized.")
@options.named("--dataset", help="Name of the data in the ledger.  [default: <query>]")
@options.dataset
@options.policy()
@options.keyed_calibration
@options.mapping
@click.option("--key-file", metavar="PATH", help="Key for custext_sanitize_keyed, with its settings.")
@options.json
@click.pass_obj
def sql_command(
    db: str | None,
    /,
    query: str,
    data: str | None,
    attached: dict[str, str],
    output: str | None,
    into: str | None,
    append: bool,
    force: bool,
    allow_raw: bool,
    dataset: str | None,
    second_mapping: bool,
    reuse_key: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run one query in DuckDB with custext_sanitize, custext_sanitize_keyed and custext_epsilon.

    The query names files, or tables of --data; without --data it also sees the tables of the custext database. It can
    only return rows, which are shown, or written with --output or --into. Every query that sanitizes is entered in the
    ledger, and so are unsanitized rows that --allow-raw lets it write.
    """
    from custext_sql import Dataset, Sanitizer
    from custext_sql.files.query_releases import ReleasingQuery
    from custext_sql.sql.queries import let_threads_alternate

    options.refuse(into is not None and data is None, "--into needs --data FILE: the DuckDB file with the table.")
    options.refuse(into is not None and output is not None, "Use --output or --into, not both.")
    options.refuse(append and into is None, "--append needs --into TABLE.")
    options.refuse(append and force, "Use --append or --force, not both.")
    let_threads_alternate()
    named = Dataset(dataset, second_mapping=second_mapping, reuse_key=reuse_key)
    sanitizer = Sanitizer.load(db, **settings)
    release = ReleasingQuery(query, sanitizer, data, named, attached=attached, allow_raw=allow_raw)
    answer: Answer[Any]
    printed = False
    if output is not None or into is not None:
        with progress_bar("sanitizing") as progress:
            if output is not None:
                answer = release.write(Path(output), force=force, progress=progress)
            else:
                answer = release.write_table(str(into), append=append, force=force, progress=progress)
        place = {"output": output} if into is None else {"data": data, "table": into}
        if printed := as_json:
            receipt = None if answer.receipt is None else answer.receipt.to_dict()
            print_json({**place, "rows": answer.result, "receipt": receipt})
        else:
            shown_place = Path(output) if output is not None else f"{data}, table {into}"
            click.echo(f"{shown_place}: {count_of(answer.result, 'row')}{' added' * append}")
    elif as_json:
        answer = release.fetch()
        print_json(answer.result)
    else:
        answer = release.show(_SHOWN)
        found = answer.result
        cells = [["NULL" if cell is None else cell for cell in row] for row in found.rows]
        print_table(found.columns, cells, right=[place for place, number in enumerate(found.is_number) if number])
        if found.goes_on:
            click.echo(f"Only the first {_SHOWN} rows are shown; for all rows, use --output FILE or --json", err=True)
    if answer.receipt is not None:  # else, nothing was drawn
        _tell_receipt(answer.receipt, with_receipt=not printed)
    if answer.note:
        warn(answer.note)


@click.command("keygen", short_help="Create a key for repeatable draws.")
@options.examples(
    "custext keygen reviews.key --eps 1 --plus",
    "custext sql \"SELECT custext_sanitize_keyed(body, 'body:' || id) FROM 'reviews.csv'\" --key-file reviews.key",
)
@click.argument("path")
@options.eps
@options.plus
@options.policy()
@options.keyed_calibration
@options.mapping
@options.language
@options.prints_result
def keygen_command(db: str | None, path: str, **settings: Any) -> Iterator[Any]:
    """Create a key file. With a key, the same record and text always give the same output.

    All words of an edited text are drawn again. A key is tied to the settings given here, because sanitizing a text
    under other settings draws it again. Use it for one dataset only. Keep the file secret: anyone who has it can check
    guesses about a text. Only your user account can read it. An existing file is never overwritten.
    """
    from custext_sql import make_key
    from custext_sql.store.key_files import FORMAT

    made = make_key(path, db, **settings)
    known = {"path": str(made.path), "name": made.key.name, "format": FORMAT}
    yield known | asdict(made.settings) | {"policy": made.settings.policy.to_dict()}
    click.echo(f"{path}: key {made.key.name}, for these settings only:")
    for name, value in {**_describe_settings(made.settings), "format": FORMAT}.items():
        click.echo(f"  {name:<12} {value}")
    click.echo("Keep it secret: with it, anyone can check guesses about a text, and so find its missing words.")
    click.echo("Use it for one dataset only. Give each text its own record ID, the same one every time.")
    click.echo("Do not use it where callers can choose texts or record IDs.")


def _describe_settings(settings: "KeySettings") -> dict[str, object]:
    """Return the settings of a key as names and values, for people."""
    from custext_sql.sanitizer.policy import POLICIES

    named = [f"{name}: " for name, policy in POLICIES.items() if policy == settings.policy]
    parts = settings.policy.describe().replace(" ", ", ").replace("=", " ")
    return {
        "mapping": f"{settings.mapping}, fingerprint {settings.fingerprint}",
        "eps": f"{settings.eps:g}",
        "plus": "yes, stopwords are kept" if settings.plus else "no, stopwords are replaced like other words",
        "stopwords": f"{settings.language}, digest {settings.stopwords}",
        "policy": "".join(named) + parts,
        "calibration": settings.calibration,
    }
