"""Options that several commands take, and one way to explain each."""

import click

eps_option = click.option(
    "--eps", default=1.0, show_default=True, type=float, help="Privacy budget of a word, 0.001 to 100."
)
calibration_option = click.option(
    "--calibration",
    default="paper",
    show_default=True,
    type=click.Choice(["paper", "tight"]),
    help="How eps sets the temperature: the paper's eps/2, or the largest that keeps the promise.",
)
mapping_option = click.option("--mapping", help="Name of the mapping.  [default: the database's default]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
