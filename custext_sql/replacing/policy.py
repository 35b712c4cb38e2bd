"""Policies: what happens to unknown words, numbers, case and invisible characters."""

from dataclasses import dataclass, replace
from typing import ClassVar

from custext_sql.errors import SettingError

UNKNOWN_MASK, NUMBER_MASK = "<unk>", "<num>"
_CHOICES = {
    "unknown": ("keep", "mask", "random"),
    "numbers": ("shape", "mask", "keep"),
    "case": ("lower", "match"),
    "invisible": ("drop", "keep"),
}


@dataclass(frozen=True)
class Policy:
    """What happens to words that are not replaced from the tables. The default, `strict`, keeps none of them.

    unknown: words outside the vocabulary become <unk> (`mask`), become a uniformly random word of the vocabulary
    (`random`), or stay (`keep`, as in the paper). Kept words are in the clear, and receipts count them.

    numbers: words that consist of digits and are outside the vocabulary become <num> (`mask`), get a random digit for
    each digit (`shape`, as in the paper), which keeps their length, or stay (`keep`).

    case: replacements are in lower case (`lower`), or have the case of the word they replace (`match`), which reveals
    that case.

    invisible: invisible characters, such as format characters, and private-use characters are removed before words are
    found (`drop`), or stay (`keep`, as in the paper). Receipts count those that stay as symbols.

    Raises SettingError if a field has another value.
    """

    UNKNOWN_MASK: ClassVar[str] = UNKNOWN_MASK  # the text of a masked word
    NUMBER_MASK: ClassVar[str] = NUMBER_MASK

    unknown: str = "mask"
    numbers: str = "mask"
    case: str = "lower"
    invisible: str = "drop"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingError(f"policy: {name} must be one of {', '.join(choices)}; found {getattr(self, name)!r}")

    def mask_kept_words(self) -> "Policy":
        """Return this policy, but with unknown words and numbers masked instead of kept."""
        return replace(
            self,
            unknown="mask" if self.unknown == "keep" else self.unknown,
            numbers="mask" if self.numbers == "keep" else self.numbers,
        )


POLICIES = {"strict": Policy(), "paper": Policy(unknown="keep", numbers="shape", invisible="keep")}
DEFAULT_POLICY = "strict"


def choose_policy(policy: str | Policy) -> Policy:
    """Return the policy of that name, or the given one. Raise SettingError if there is none of that name."""
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        raise SettingError(f"policy must be one of {', '.join(POLICIES)} or a Policy; found {policy!r}")
    return POLICIES[policy]
