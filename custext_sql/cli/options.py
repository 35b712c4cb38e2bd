"""Options that several commands take, and one way to explain each."""

import click

eps_option = click.option(
    "--eps", default=1.0, show_default=True, type=float, help="Privacy budget of a word, 0.001 to 100."
)
plus_option = click.option("--plus", is_flag=True, help="Keep stopwords (CusText+).")
policy_option = click.option(
    "--policy",
    type=click.Choice(["paper", "strict"]),
    help="Words outside the vocabulary: keep them and change digits (paper, the default), or mask both (strict).",
)
calibration_option = click.option(
    "--calibration",
    type=click.Choice(["paper", "tight"]),
    help="How eps sets the temperature: the paper's eps/2 (the default), or the largest that keeps the promise.",
)
mapping_option = click.option("--mapping", help="Name of the mapping.  [default: the database's default]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
