"""The kinds of words: what becomes of each, how it is counted, and how pages show it. Everything else reads this table.

A new kind needs a member of `Kind`, its line in `KINDS`, and the code that finds such words (`sanitizer/words.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # NumPy takes a moment to import
    from custext_sql.arrays import Flags, Kinds

UNKNOWN_MASK, NUMBER_MASK = "<unk>", "<num>"
IN_CLEAR = "in the clear"


class Kind(IntEnum):
    """The kind of a word, which decides what happens to it. Arrays of counts have one column per kind, in this order.

    REPLACED: in the mapping; replaced by a word of its group. STOPWORD: kept because of `plus`. NUMBER: only digits,
    and not in the mapping. UNKNOWN: any other word that is not in the mapping. ENDING: an English ending after an
    apostrophe; kept. KEPT: not selected as sensitive, or listed as a word to keep; kept. ALONE: the only word of its
    group that would be replaced, so no other would hide it; masked. UNIT: an e-mail address, a number, a date or the
    like, which the policy masks as a whole.
    """

    REPLACED = 0
    STOPWORD = 1
    NUMBER = 2
    UNKNOWN = 3
    ENDING = 4
    KEPT = 5
    ALONE = 6
    UNIT = 7

    def find_in(self, kinds: "Kinds") -> "Flags":
        """Return which words are of this kind."""
        found: Flags = kinds == self.value  # comparing with the enum member would make NumPy widen the array
        return found


class Fate(Enum):
    """What becomes of a word. KEPT: in the clear on purpose. EXPOSED: in the clear, though not in the vocabulary."""

    REPLACED = "replaced from its group"
    ALTERED = "replaced at random"
    MASKED = "masked"
    KEPT = "kept"
    EXPOSED = "exposed"

    @property
    def in_clear(self) -> bool:
        """Whether the word is in the clear."""
        return self in (Fate.KEPT, Fate.EXPOSED)


@dataclass(frozen=True)
class Treatment:
    """What becomes of the words of a kind, and how they are counted.

    name: what receipts, the ledger and JSON call their count. becomes: the mask that replaces them, or else what they
    become, in words. choice: the choice of the policy for which this holds, if the policy has a choice. suffix: what is
    added to the label of the kind.
    """

    name: str
    fate: Fate
    becomes: str = IN_CLEAR
    choice: str | None = None
    suffix: str = ""


@dataclass(frozen=True)
class KindEntry:
    """One kind of word in the table.

    label, labels: for one such word, and for several. mark: its color on pages and in terminals: green, gray, yellow,
    orange, red or purple. weight: if a token has several kinds, the heaviest is shown. about: a sentence for people.
    treatments: what becomes of it; one for each choice of the policy, if `setting` names a field of `Policy`.
    """

    label: str
    labels: str
    mark: str
    weight: int
    about: str
    treatments: tuple[Treatment, ...]
    setting: str | None = None


KINDS = {  # in the order in which they are shown
    Kind.REPLACED: KindEntry(
        *("replaced", "replaced", "green", 3, "Drawn from the words of its group."),
        (Treatment("replaced", Fate.REPLACED, "a word of its group"),),
    ),
    Kind.STOPWORD: KindEntry(
        *("stopword kept", "stopwords kept", "gray", 2, "A stopword; stopwords are kept (plus)."),
        (Treatment("stopwords", Fate.KEPT),),
    ),
    Kind.UNKNOWN: KindEntry(
        *("unknown word", "unknown words", "red", 6),
        "Not in the vocabulary, so it has no group. The policy decides what becomes of it.",
        (
            Treatment("unknown_kept", Fate.EXPOSED, choice="keep", suffix=" kept"),
            Treatment("unknown_masked", Fate.MASKED, UNKNOWN_MASK, choice="mask", suffix=" masked"),
            Treatment("unknown_random", Fate.ALTERED, "a random word", choice="random", suffix=" replaced at random"),
        ),
        setting="unknown",
    ),
    Kind.NUMBER: KindEntry(
        *("number", "numbers", "yellow", 4),
        "A number outside the vocabulary. The policy decides what becomes of it.",
        (
            Treatment("numbers", Fate.EXPOSED, choice="keep"),
            Treatment("numbers", Fate.MASKED, NUMBER_MASK, choice="mask"),
            Treatment("numbers", Fate.ALTERED, "random digits", choice="shape"),
        ),
        setting="numbers",
    ),
    Kind.ENDING: KindEntry(
        *("ending kept", "endings kept", "gray", 1, "An English ending such as 's, which is kept."),
        (Treatment("endings", Fate.KEPT),),
    ),
    Kind.KEPT: KindEntry(
        *("other word kept", "other words kept", "purple", 0),
        "Kept, because it is on a list of public words, or was not selected as sensitive.",
        (Treatment("kept", Fate.KEPT),),
    ),
    Kind.UNIT: KindEntry(
        *("unit masked", "units masked", "orange", 7),
        "An e-mail address, a phone number, a date or the like, masked as a whole.",
        (Treatment("units", Fate.MASKED, "its type, such as <email>"),),
    ),
    Kind.ALONE: KindEntry(
        *("word alone in its group masked", "words alone in their groups masked", "red", 5),
        "No other word of its group would be replaced, so nothing would hide it.",
        (Treatment("alone_masked", Fate.MASKED, UNKNOWN_MASK),),
    ),
}
COUNTS = tuple(dict.fromkeys(one.name for entry in KINDS.values() for one in entry.treatments))  # names of all counts


def find_treatments(choices: Mapping[str, str]) -> dict[Kind, Treatment]:
    """Return what becomes of each kind under the choices of a policy, such as {"unknown": "mask", ...}."""
    return {
        kind: next(one for one in entry.treatments if one.choice == (entry.setting and choices[entry.setting]))
        for kind, entry in KINDS.items()
    }


def list_treatments(numbers: str) -> Iterator[tuple[KindEntry, Treatment]]:
    """Yield each count once, with its kind. numbers: the policy's choice for numbers, which share one count."""
    for entry in KINDS.values():
        for one in entry.treatments:
            if entry.setting != "numbers" or one.choice == numbers:
                yield entry, one


class Counted:
    """Has the number of words of each kind in `counts`, by name, and also as attributes, such as `replaced`."""

    counts: Mapping[str, int] | None  # None: unknown

    def __getattr__(self, name: str) -> Any:
        if name not in COUNTS or (self.counts is not None and name not in self.counts):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return None if self.counts is None else self.counts[name]


def spread_counts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record, with one field per count in place of `counts`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= {name: value} if name != "counts" else dict.fromkeys(COUNTS) if value is None else value
    return found
