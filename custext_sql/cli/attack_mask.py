"""The command `custext attack mask`."""

from typing import TYPE_CHECKING

import click

from custext_sql.cli.input_options import input_options, public_options
from custext_sql.cli.options import (
    SEED,
    epsilons_option,
    json_option,
    keyless_calibration_option,
    mapping_option,
    plus_option,
)
from custext_sql.cli.output import print_json, print_table, progress_bar, report_skipped
from custext_sql.cli.policy_options import policy_options
from custext_sql.parameters import count_of

if TYPE_CHECKING:
    from custext_sql.release.inputs.texts import Texts
    from custext_sql.replacing.policy import Policy


@click.command("mask", short_help="How often a language model guesses a masked word.")
@input_options(required=True)
@click.option(
    "--model",
    required=True,
    metavar="NAME",
    help="Masked language model: a folder, a Hugging Face name, or ngram.",
)
@public_options("Public texts from which ngram learns.")
@click.option("--rows", default=200, show_default=True, type=click.IntRange(1), help="Texts to attack, from the top.")
@epsilons_option("0,1,2,3")
@plus_option
@policy_options("paper")
@keyless_calibration_option
@mapping_option
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the draws.")
@click.option(
    "--batch-size", default=32, show_default=True, type=click.IntRange(1), help="Masked texts per model call."
)
@json_option
@click.pass_obj
def mask_command(
    db: str | None,
    data: "Texts",
    model: str,
    column: str | None,
    public: "Texts | None",
    public_column: str | None,
    rows: int,
    eps: list[float],
    plus: bool,
    policy: "str | Policy",
    calibration: str,
    mapping: str | None,
    seed: int,
    batch_size: int,
    as_json: bool,
) -> None:
    """Measure how often a language model guesses an original word from the sanitized words around it.

    INPUT has the texts to sanitize and attack: a file, a folder or a quoted pattern of files; for a table, give --data
    and --table instead. This is the paper's mask token inference attack: the texts are sanitized, each word in turn is
    masked, and the model guesses it. r_mask is the share of words guessed correctly; 1 - r_mask is the paper's privacy
    score, the share that this model misses. The last column counts only words that were replaced, not kept stopwords.
    Any masked language model from Hugging Face works (in a checkout: pip install '.[models]'). ngram needs no model
    files: it learns from public texts.

    \b
    Examples:
      custext attack mask reviews.csv --column body --model bert-base-uncased
      custext attack mask reviews.csv --column body --model ngram --public news.txt
    """
    from custext_sql import attack_mask

    with progress_bar("attacking") as progress:
        attack = attack_mask(
            db,
            model=model,
            data=data,
            column=column,
            public=public,
            public_column=public_column,
            rows=rows,
            eps=eps,
            plus=plus,
            policy=policy,
            calibration=calibration,
            mapping=mapping,
            seed=seed,
            batch_size=batch_size,
            progress=progress,
        )
    report_skipped(attack.skipped)
    if as_json:
        print_json(attack.results)
        return
    texts = count_of(attack.rows, "text")
    click.echo(f"{attack.mapping}, {attack.mechanism}, policy {attack.policy}")
    click.echo(f"{texts}, masked words guessed by {attack.model}\n")
    table = [
        [
            f"{result.eps:g}",
            f"{result.r_mask:.4f} ± {result.standard_error:.4f}",
            f"{result.privacy:.4f}",
            "" if result.r_mask_sampled is None else f"{result.r_mask_sampled:.4f}",
        ]
        for result in attack.results
    ]
    print_table(["eps", "r_mask", "1 - r_mask", "r_mask of replaced words"], table, right=range(4))
