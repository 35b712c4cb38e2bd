"""What becomes of words that are not in the vocabulary, and of the case of those that are."""

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
    """What a run does with words that it does not draw from the tables. The default, `strict`, lets none through.

    unknown: words outside the vocabulary become <unk> (`mask`), or a word drawn uniformly from the vocabulary, whatever
    they were (`random`), or stay (`keep`, the paper). Kept words leak; they are counted.

    numbers: words of digits only, outside the vocabulary, become <num> (`mask`), or get a uniform digit for each of
    theirs (`shape`, the paper), which keeps the number of digits, or stay (`keep`).

    case: drawn words come out in lower case (`lower`), or in the case of the word they replace (`match`), which tells
    how that word was written.

    invisible: characters that nobody sees, such as format characters, and those for private use, are left out before
    words are found (`drop`), or stay (`keep`, the paper). Those that stay are counted as symbols.
    """

    UNKNOWN_MASK: ClassVar[str] = UNKNOWN_MASK  # what masked words become
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
        """Return this policy, except that it masks unknown words and numbers if it would keep them."""
        return replace(
            self,
            unknown="mask" if self.unknown == "keep" else self.unknown,
            numbers="mask" if self.numbers == "keep" else self.numbers,
        )


POLICIES = {"strict": Policy(), "paper": Policy(unknown="keep", numbers="shape", invisible="keep")}
DEFAULT_POLICY = "strict"


def choose_policy(policy: str | Policy) -> Policy:
    """The policy of that name, or the one given."""
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        raise SettingError(f"policy must be one of {', '.join(POLICIES)} or a Policy; found {policy!r}")
    return POLICIES[policy]
