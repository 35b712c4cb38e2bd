"""custext sanitize"""

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custext_sql.cli.options import (
    calibration_option,
    eps_option,
    json_option,
    mapping_option,
    plus_option,
    policy_option,
)
from custext_sql.cli.output import print_json, to_json

if TYPE_CHECKING:
    from custext_sql.receipt import Receipt
    from custext_sql.sanitizer import Sanitizer

_CHUNK = 1 << 20  # bytes of standard input handled at a time


@click.command("sanitize", short_help="Sanitize a text, or lines.")
@click.argument("text")
@eps_option
@plus_option
@policy_option
@calibration_option
@mapping_option
@click.option("--seed", type=int, metavar="N", help="Repeatable draws, for demonstrations only: they protect nothing.")
@json_option
@click.pass_obj
def sanitize_command(
    db: str | None,
    text: str,
    eps: float,
    plus: bool,
    policy: str | None,
    calibration: str | None,
    mapping: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Sanitize a text, or with - the lines of standard input; the receipt goes to standard error.

    \b
    Example:
      custext sanitize "My doctor in Boston said the surgery went well." --eps 1 --plus
      custext sanitize - --policy strict < reviews.txt > sanitized.txt
    """
    from custext_sql.mechanism import check_epsilon
    from custext_sql.sanitizer import Sanitizer

    check_epsilon(eps)
    if text != "-" and len(text) < 1000 and Path(text).is_file():
        raise click.UsageError("The text is the name of a file. For its lines: custext sanitize - < FILE")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sanitizer = Sanitizer.load(db, mapping=mapping, policy=policy, calibration=calibration, seed=seed)
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)
    if text == "-":
        receipt = _sanitize_lines(sanitizer, eps, plus)
        click.echo(to_json(receipt) if as_json else _describe(receipt), err=True)
        return
    results, receipt = sanitizer.release([text], eps, plus)
    if as_json:
        print_json({"text": results[0], "receipt": receipt})
        return
    click.echo(str(results[0]).encode())  # in UTF-8, whatever the terminal is said to show
    click.echo(_describe(receipt), err=True)


def _sanitize_lines(sanitizer: "Sanitizer", eps: float, plus: bool) -> "Receipt":
    """From standard input to standard output, some lines at a time, each with its end as it is."""
    import pyarrow as pa

    from custext_sql.errors import SourceError
    from custext_sql.receipt import Tally
    from custext_sql.text_columns import TextColumn

    source, target = sys.stdin.buffer, sys.stdout.buffer
    tally = Tally()
    number = 0
    while lines := source.readlines(_CHUNK):
        try:
            texts = [line.decode() for line in lines]
        except UnicodeDecodeError:
            wrong = next(place for place, line in enumerate(lines, start=1) if not _is_unicode(line))
            raise SourceError(f"standard input, line {number + wrong}: expected UTF-8") from None
        column = TextColumn.from_arrow(pa.array(texts, pa.large_string()))
        target.write(sanitizer.sanitize_column(column, eps, plus, tally=tally).text.tobytes())
        number += len(lines)
    target.flush()
    return sanitizer.receipt(tally, eps)


def _is_unicode(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _describe(receipt: "Receipt") -> str:
    """The receipt in a few lines for people."""
    let_through = {
        "stopwords kept": receipt.stopwords,
        "unknown kept": receipt.unknown_kept,
        "unknown masked": receipt.unknown_masked,
        "numbers": receipt.numbers,
        "endings": receipt.endings,
    }
    others = "".join(f", {count:,} {what}" for what, count in let_through.items() if count)
    return (
        f"{receipt.words:,} words: {receipt.sampled:,} sampled, {receipt.sampled_unchanged:,} of them as they were"
        f"{others}; {receipt.characters_in_clear:,} characters in clear\n"
        f"spent {receipt.eps:g} a sampled word, {receipt.largest_row_eps:g} at most in a row; "
        f"worst log-ratio {receipt.worst_log_ratio:.4g}, {receipt.mapping} {receipt.fingerprint[:12]}"
    )
