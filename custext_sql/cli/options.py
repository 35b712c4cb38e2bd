"""Options that several commands take, and one way to explain each."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

SEED = click.IntRange(0, 2**63 - 1)

_Command = TypeVar("_Command", bound=Callable[..., Any])

eps_option = click.option(
    "--eps", default=1.0, show_default=True, type=float, help="Privacy budget of a word, 0.001 to 100."
)
plus_option = click.option("--plus", is_flag=True, help="Keep stopwords (CusText+).")
_POLICY: dict[str, Any] = {
    "type": click.Choice(["strict", "paper"]),
    "help": "Words outside the vocabulary and numbers: mask both (strict, the default), or keep words and change "
    "digits (paper).",
}
policy_option = click.option("--policy", **_POLICY)  # else that of the key, if there is one
keyless_policy_option = click.option("--policy", default="strict", **_POLICY)
experiment_policy_option = click.option(
    "--policy",
    default="paper",
    show_default=True,
    type=click.Choice(["paper", "strict"]),
    help="Words outside the vocabulary and numbers: keep words and change digits, as the paper does, or mask both.",
)
_CALIBRATION: dict[str, Any] = {
    "type": click.Choice(["paper", "tight"]),
    "help": "How eps sets the temperature: the paper's eps/2 (the default), or the largest that keeps the promise.",
}
calibration_option = click.option("--calibration", **_CALIBRATION)  # else that of the key, if there is one
keyless_calibration_option = click.option("--calibration", default="paper", **_CALIBRATION)
second_mapping_option = click.option(
    "--second-mapping", is_flag=True, help="Release data under another mapping than before, which tells more of it."
)
reuse_key_option = click.option(
    "--reuse-key", is_flag=True, help="Use a key that the ledger knows from other data, which correlates the two."
)
mapping_option = click.option("--mapping", help="Name of the mapping.  [default: the database's default]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class Epsilons(click.ParamType[list[float]]):
    """Numbers with commas between them."""

    name = "list"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> list[float]:
        if isinstance(value, list):
            return value
        from custext_sql.errors import SettingError
        from custext_sql.mechanism.weights import check_epsilon

        try:
            found = list(dict.fromkeys(check_epsilon(float(part)) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"expected numbers with commas between them, such as 1,2,3; found {value!r}", parameter, context)
        except SettingError as error:
            self.fail(str(error), parameter, context)
        return found


def epsilons_option(default: str) -> Callable[[_Command], _Command]:
    """Return an option --eps that takes several values."""
    return click.option(
        "--eps",
        default=default,
        show_default=True,
        type=Epsilons(),
        help="Privacy budgets of a word, with commas between them.",
    )


def prior_options(command: _Command) -> _Command:
    """Add the options that say how frequent an attacker takes words to be."""
    for option in (
        click.option("--column", metavar="NAME", help="The column of --public; not for lines of text."),
        click.option("--public", metavar="FILE", help="Public texts to count words in."),
        click.option("--prior", metavar="FILE", help="Word frequencies: a word and a number on each line."),
    ):
        command = option(command)
    return command
