"""Options that several commands share, each with one help text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

SEED = click.IntRange(0, 2**63 - 1)

_Command = TypeVar("_Command", bound=Callable[..., Any])

eps_option = click.option(
    "--eps",
    default=1.0,
    show_default=True,
    type=float,
    help="Privacy budget per word: 0 to generalize, or 0.001 to 100.",
)
plus_option = click.option("--plus", is_flag=True, help="Keep stopwords (CusText+).")
_CALIBRATION: dict[str, Any] = {
    "type": click.Choice(["paper", "tight"]),
    "help": "How eps scales the scores: by eps/2 as in the paper (the default), or by the largest factor that keeps "
    "the guarantee (tight).",
}
calibration_option = click.option("--calibration", **_CALIBRATION)  # without it, that of the key applies
keyless_calibration_option = click.option("--calibration", default="paper", **_CALIBRATION)
second_mapping_option = click.option(
    "--second-mapping",
    is_flag=True,
    help="Allow data to be released again under another mapping; this reveals more.",
)
reuse_key_option = click.option(
    "--reuse-key",
    is_flag=True,
    help="Allow a key that was used for other data; this makes the outputs comparable.",
)
mapping_option = click.option("--mapping", help="Name of the mapping.  [default: the default mapping of the database]")
_LANGUAGE = (
    "Language of the stopwords that --plus keeps, or name of your own list; see custext stopwords.  "
    "[default: {}english]"
)
language_option = click.option("--language", help=_LANGUAGE.format("the key's, else "))
keyless_language_option = click.option("--language", default="english", help=_LANGUAGE.format(""))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


if TYPE_CHECKING:
    _ListOfNumbers = click.ParamType[list[float]]
else:
    _ListOfNumbers = click.ParamType  # takes no type parameter before click 8.4


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
            found = list(dict.fromkeys(check_epsilon(float(part)) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"expected comma-separated numbers such as 1,2,3; found {value!r}", parameter, context)
        except SettingError as error:
            self.fail(str(error), parameter, context)
        return found


def epsilons_option(default: str) -> Callable[[_Command], _Command]:
    """Return an --eps option that takes several values."""
    return click.option(
        "--eps",
        default=default,
        show_default=True,
        type=Epsilons(),
        help="Privacy budgets per word, comma-separated.",
    )
