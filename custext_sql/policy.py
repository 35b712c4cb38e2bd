"""What becomes of words that are not in the vocabulary, and of the case of those that are."""

from dataclasses import dataclass

from custext_sql.errors import SettingError

UNKNOWN_MASK, NUMBER_MASK = "<unk>", "<num>"
_CHOICES = {
    "unknown": ("keep", "mask", "random"),
    "numbers": ("shape", "mask", "keep"),
    "case": ("lower", "match"),
}


@dataclass(frozen=True)
class Policy:
    """What a run does with words that it does not draw from the tables.

    unknown: words outside the vocabulary stay (`keep`, the paper), become <unk> (`mask`), or a word drawn uniformly
    from the vocabulary, whatever they were (`random`). Kept words leak; they are counted.

    numbers: words of digits only, outside the vocabulary, get a uniform digit for each of theirs (`shape`, the paper),
    become <num> (`mask`), or stay (`keep`).

    case: drawn words come out in lower case (`lower`), or in the case of the word they replace (`match`), which tells
    how that word was written.
    """

    unknown: str = "keep"
    numbers: str = "shape"
    case: str = "lower"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingError(f"policy: {name} must be one of {', '.join(choices)}; found {getattr(self, name)!r}")


POLICIES = {"paper": Policy(), "strict": Policy(unknown="mask", numbers="mask")}


def choose_policy(policy: str | Policy) -> Policy:
    """The policy of that name, or the one given."""
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        raise SettingError(f"policy must be one of {', '.join(POLICIES)} or a Policy; found {policy!r}")
    return POLICIES[policy]
