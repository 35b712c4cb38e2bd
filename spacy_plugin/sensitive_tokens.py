"""Which tokens of a Doc are sensitive, and with what privacy budget: choices that a pipeline's config can name.

`sensitive` in the component's config is one of those below, or what a function of your own makes that is registered
with `@spacy.registry.misc("NAME")`: something to be called with a Doc, which gives a value for each token: True
(replace it, at the component's eps), False (keep it, in clear), or an eps of its own, a float. Every eps that it may
give must be listed in its attribute `budgets`, so that what is promised does not depend on the text.

Where a choice selects tokens, unknown words and numbers among them are masked even if the policy would keep them,
unless `mask_unknown` is false. A label or tag that no component of the pipeline sets is reported at the first Doc.

A choice that depends on the text is itself visible to whoever reads the output: that a word stayed, or how far words
of its kind stray, tells what the pipeline took it for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import StrictFloat, StrictInt
from spacy.attrs import ENT_TYPE, ORTH, POS, TAG
from spacy.parts_of_speech import IDS
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.util import registry

from custext_sql import SettingError, WordList

Floats = npt.NDArray[np.float64]
Number = StrictFloat | StrictInt
Named = list[str] | dict[str, Number]  # names, or an eps for each

STAYS = float("nan")  # in place of an eps: no number is mistaken for it, nor it for a budget


class TokenChoice(Protocol):
    """What is sensitive, with budgets that are known beforehand."""

    @property
    def keeps_stopwords(self) -> bool:
        """Whether it is CusText+."""

    def list_budgets(self, usual: float) -> set[float]:
        """Return every eps that may occur. usual: the component's own."""

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        """Return the eps of each token, NaN for those that stay."""


@dataclass(frozen=True)
class AllTokens:
    """Every token, at the component's eps."""

    keeps_stopwords: bool = False

    def list_budgets(self, usual: float) -> set[float]:
        return {usual}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        return np.full(len(doc), usual)


@dataclass(frozen=True)
class Budgets:
    """An eps for each of some names, None for the component's own; and one for all other tokens, None if they stay."""

    named: Mapping[str, float | None]
    others: float | None

    @classmethod
    def check(cls, key: str, named: Sequence[str] | Mapping[str, float], others: float | None) -> "Budgets":
        if not named or not all(named):
            raise SettingError(f"sensitive: {key} must name at least one, and no empty name")
        budgets: dict[str, float | None] = dict.fromkeys(named)
        if isinstance(named, Mapping):
            budgets = {name: _check_budget(f"{key}, {name}", epsilon) for name, epsilon in named.items()}
        return cls(budgets, None if others is None else _check_budget("others", others))

    def list(self, usual: float) -> set[float]:
        found = {usual if epsilon is None else epsilon for epsilon in self.named.values()}
        return found if self.others is None else {*found, self.others}

    def find(self, values: npt.NDArray[Any], ids: Mapping[str, int], usual: float) -> Floats:
        """Return for each value the eps of the name whose id it is."""
        found = np.full(len(values), STAYS if self.others is None else self.others)
        for name, epsilon in self.named.items():
            found[values == ids[name]] = usual if epsilon is None else epsilon
        return found


@dataclass(frozen=True)
class ByAttribute:
    """Tokens by an attribute that earlier components of the pipeline set; annotation: what tells that they did."""

    attribute: int
    annotation: str
    ids: Mapping[str, int]
    budgets: Budgets
    keeps_stopwords: bool = False

    def list_budgets(self, usual: float) -> set[float]:
        return self.budgets.list(usual)

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        if len(doc) and not doc.has_annotation(self.annotation):  # else all of it would pass in clear
            raise SettingError(
                f"sensitive: no component has set {self.annotation} on this Doc; the one that finds entities or parts "
                "of speech must come before custext in the pipeline"
            )
        return self.budgets.find(doc.to_array(self.attribute), self.ids, usual)


@dataclass(frozen=True)
class ByWord:
    """Tokens that have a word of a list in them, in any case."""

    words: WordList
    budgets: Budgets
    keeps_stopwords: bool = False

    @property
    def listed(self) -> frozenset[str] | None:
        """Return the only words that are drawn; None if others are drawn too."""
        return self.words.words if self.budgets.others is None else None

    def list_budgets(self, usual: float) -> set[float]:
        return self.budgets.list(usual)

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        distinct, number_of = np.unique(doc.to_array(ORTH), return_inverse=True)
        texts = [doc.vocab.strings[int(orth)] for orth in distinct]
        return self.budgets.find(self.words.find_in(texts)[number_of], {"words": 1}, usual)


@dataclass(frozen=True)
class ByFunction:
    """What a function of the user's chooses."""

    function: Callable[[Doc], Any]
    budgets: frozenset[float]
    keeps_stopwords: bool = False

    @classmethod
    def of(cls, function: Callable[[Doc], Any]) -> "ByFunction":
        declared = getattr(function, "budgets", ())
        return cls(function, frozenset(_check_budget("budgets", epsilon) for epsilon in declared))

    def list_budgets(self, usual: float) -> set[float]:
        return {usual, *self.budgets}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        values = self.function(doc)
        if not isinstance(values, (list, tuple, np.ndarray)):
            raise SettingError(f"sensitive: expected a list or an array; found {type(values).__name__}")
        if len(values) != len(doc):
            raise SettingError(f"sensitive: expected a value for each of {len(doc):,} tokens; found {len(values):,}")
        found = np.array([_read_value(value, usual) for value in values], dtype=np.float64)
        if undeclared := set(found[~np.isnan(found)].tolist()) - self.list_budgets(usual):
            raise SettingError(
                f"sensitive: an eps of {min(undeclared):g} is not among the budgets that the choice declares; list "
                "every one in its attribute `budgets`"
            )
        return found


def choose_all() -> AllTokens:
    """Every token; the component's `plus` decides on stopwords."""
    return AllTokens()


def choose_all_but_stopwords() -> AllTokens:
    """CusText+: every token that is no stopword of the custext database."""
    return AllTokens(keeps_stopwords=True)


def choose_entities(labels: Named, others: Number | None = None) -> ByAttribute:
    """Tokens of entities. labels: a list, or an eps for each. others: the eps of other tokens, or they stay."""
    budgets = Budgets.check("labels", labels, others)
    return ByAttribute(ENT_TYPE, "ENT_IOB", {label: get_string_id(label) for label in budgets.named}, budgets)


def choose_parts_of_speech(tags: Named, others: Number | None = None) -> ByAttribute:
    """Tokens by coarse part of speech (`token.pos_`: PROPN, NOUN, ...); tags and others as for entities."""
    budgets = Budgets.check("tags", tags, others)
    for tag in budgets.named:
        if not tag or tag not in IDS:
            known = ", ".join(sorted(name for name in IDS if name))
            raise SettingError(f"sensitive: tags must be universal parts of speech ({known}); found {tag!r}")
    return ByAttribute(POS, "POS", {tag: IDS[tag] for tag in budgets.named}, budgets)


def choose_tags(tags: Named, others: Number | None = None) -> ByAttribute:
    """Tokens by fine-grained tag (`token.tag_`: NNP, CD, ...); tags and others as for entities."""
    budgets = Budgets.check("tags", tags, others)
    return ByAttribute(TAG, "TAG", {tag: get_string_id(tag) for tag in budgets.named}, budgets)


def choose_words(
    words: list[str] | None = None,
    path: str | None = None,
    eps: Number | None = None,
    others: Number | None = None,
    epsilon: Number | None = None,
) -> ByWord:
    """Tokens on a list, or in a file with one per line, in any case. eps: theirs. others: as for entities.

    epsilon: another name for eps.
    """
    if (words is None) == (path is None):
        raise SettingError("sensitive: give either words, a list, or path, a file with one per line")
    given = [word.strip() for word in (words if words is not None else _read_words(str(path)))]
    if not given:
        raise SettingError("sensitive: words must name at least one; found none")
    try:
        listed = WordList.read(given)
    except SettingError as error:
        advice = "for phrases put an entity_ruler before custext and choose by its labels"
        raise SettingError(f"sensitive: {error}; {advice}") from None
    key, budget = choose_eps(eps, epsilon, "sensitive: ")
    if budget is None:
        return ByWord(listed, Budgets.check("words", ["words"], others))
    return ByWord(listed, Budgets.check(key, {"words": budget}, others))


def choose_eps(eps: float | None, epsilon: float | None, prefix: str = "") -> tuple[str, float | None]:
    """Return the name by which a config gave an eps, and the eps. prefix: of the message if it gave two."""
    if eps is not None and epsilon is not None:
        raise SettingError(f"{prefix}eps and epsilon are two names of one setting; give one of them")
    return ("eps", eps) if epsilon is None else ("epsilon", epsilon)


def _read_value(value: Any, usual: float) -> float:
    """Return an eps for a flag or an eps; whole numbers 0 and 1 are flags, as in spaCy's arrays."""
    if value is None:
        return STAYS
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return usual if value else STAYS
    is_float = isinstance(value, (float, np.floating))
    if is_float and not np.isnan(value):
        return float(value)
    found = "nan" if is_float else type(value).__name__
    raise SettingError(f"sensitive: expected True, False or an eps such as 2.0 for each token; found {found}")


def _read_words(path: str) -> list[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"sensitive: path: {path} cannot be read: {type(error).__name__}") from None
    return [line.strip() for line in lines if line.strip()]


def _check_budget(key: str, epsilon: float) -> float:
    from custext_sql import Settings  # loads DuckDB, so not before there is a component to make

    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)):
        raise SettingError(f"sensitive: {key}: an eps must be a number; found {type(epsilon).__name__}")
    try:
        return Settings.settle(eps=epsilon).eps
    except SettingError as error:
        raise SettingError(f"sensitive: {key}: {error}") from None


for _name, _choice in {
    "custext.all.v1": choose_all,
    "custext.all_but_stopwords.v1": choose_all_but_stopwords,
    "custext.entities.v1": choose_entities,
    "custext.parts_of_speech.v1": choose_parts_of_speech,
    "custext.tags.v1": choose_tags,
    "custext.words.v1": choose_words,
}.items():
    registry.misc.register(_name, func=_choice)
