"""Policies: what happens to units, unknown words, numbers, listed words, case and invisible characters."""

import hashlib
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from custext_sql.errors import SettingError
from custext_sql.kinds import NUMBER_MASK, UNKNOWN_MASK, Kind, Treatment, find_treatments
from custext_sql.parameters import check_type, count_of
from custext_sql.text.units import UNIT_TYPES
from custext_sql.text.word_boundaries import WordList, normalize_words

UNIT_MASKS = tuple(f"<{name}>" for name in UNIT_TYPES)
_MOST_KEPT = 10_000  # words; a longer list would be a vocabulary
_CHOICES = {
    "unknown": ("keep", "mask", "random"),
    "numbers": ("shape", "mask", "keep"),
    "case": ("lower", "match"),
    "invisible": ("drop", "keep"),
    "units": ("mask", "keep"),
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

    units: e-mail addresses, URLs, phone numbers, dates of at least two numbers and the like become one mask each, such
    as <email> (`mask`), or their words and numbers are treated like any other (`keep`, as in the paper).

    keep_words: words that stay, such as the labels of speakers: at most 10,000 words, in any case. They are in the
    clear, receipts count them as kept, and other words do not hide among them. The list must not depend on private
    texts.

    Raises SettingError if a field has another value.
    """

    UNKNOWN_MASK: ClassVar[str] = UNKNOWN_MASK  # the text of a masked word
    NUMBER_MASK: ClassVar[str] = NUMBER_MASK
    UNIT_MASKS: ClassVar[tuple[str, ...]] = UNIT_MASKS  # the texts of masked units, one per type

    unknown: str = "mask"
    numbers: str = "mask"
    case: str = "lower"
    invisible: str = "drop"
    units: str = "mask"
    keep_words: Collection[str] = field(default=frozenset())

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep_words", _read_keep_words(self.keep_words))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingError(f"policy: {name} must be one of {', '.join(choices)}; found {getattr(self, name)!r}")

    @cached_property
    def treatments(self) -> dict[Kind, Treatment]:
        """What becomes of each kind of word."""
        return find_treatments(vars(self))

    def to_dict(self) -> dict[str, Any]:
        """Return every field, ready for JSON."""
        return asdict(self) | {"keep_words": sorted(self.keep_words)}

    def describe(self) -> str:
        """Return every field on one line; kept words are given by their number and a digest of the list."""
        parts = [f"{name}={getattr(self, name)}" for name in _CHOICES]
        if self.keep_words:
            digest = hashlib.sha256("\n".join(sorted(self.keep_words)).encode()).hexdigest()
            parts.append(f"keep_words={len(self.keep_words)}:{digest[:16]}")
        return " ".join(parts)

    def mask_kept_words(self) -> "Policy":
        """Return this policy, but with unknown words and numbers masked instead of kept."""
        return replace(
            self,
            unknown="mask" if self.unknown == "keep" else self.unknown,
            numbers="mask" if self.numbers == "keep" else self.numbers,
        )


def _read_keep_words(words: Collection[str]) -> frozenset[str]:
    is_list = isinstance(words, Collection) and not isinstance(words, str)
    if not is_list or not all(isinstance(word, str) for word in words):
        raise SettingError("policy: keep_words must be a list of words")
    try:
        WordList.read(list(words))
    except SettingError as error:
        raise SettingError(f"policy: keep_words: {error}") from None
    except UnicodeEncodeError:
        raise SettingError("policy: keep_words has characters that cannot be written in UTF-8") from None
    found = frozenset(map(normalize_words, words))
    if len(found) > _MOST_KEPT:
        raise SettingError(f"policy: keep_words may have {_MOST_KEPT:,} words at most; found {len(found):,}")
    return found


POLICIES = {"strict": Policy(), "paper": Policy(unknown="keep", numbers="shape", invisible="keep", units="keep")}
DEFAULT_POLICY = "strict"


def name_policy(policy: Policy) -> str:
    """Return the name of a policy, or, if it has none, what distinguishes it from the strict one."""
    for name, known in POLICIES.items():
        if policy == known:
            return name
    strict, own = vars(POLICIES["strict"]), vars(policy)
    changes = [f"{name}={own[name]}" for name in _CHOICES if own[name] != strict[name]]
    if policy.keep_words:
        changes.append(count_of(len(policy.keep_words), "kept word"))
    return f"strict, except {', '.join(changes)}"


def choose_policy(policy: str | Policy) -> Policy:
    """Return the policy of that name, or the given one. Raise SettingError if it is neither."""
    if isinstance(policy, Policy):
        return policy
    expected = f"policy must be one of {', '.join(POLICIES)} or a Policy"
    hint = 'to change parts of the strict one: Policy(unknown="keep", ...)' if isinstance(policy, dict) else ""
    check_type(policy, str, expected, hint)
    if policy not in POLICIES:
        raise SettingError(f"{expected}; found {policy!r}")
    return POLICIES[policy]
