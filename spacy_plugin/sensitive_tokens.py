"""Which tokens of a Doc are sensitive, and at what privacy budget: choices that a pipeline's config can name.

`sensitive` in the component's config is one of the choices below, or your own: with `@spacy.registry.misc("NAME")`,
register a function that returns a function. The component calls the latter with a Doc. It must return a list or array
with one value per token: True (replace it, at the component's eps), False (keep it, in the clear), or an eps, a float.
Its attribute `budgets` must list every eps that it can return, so that the guarantee does not depend on the text.

A choice that depends on the text is itself visible in the output. Which words stayed, and how far words of a kind were
moved, shows what the pipeline took them for.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import StrictFloat, StrictInt
from spacy.attrs import ENT_TYPE, ORTH, POS, SPACY, TAG
from spacy.parts_of_speech import IDS
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.util import registry

from custext_sql import SettingError, WordList

Floats = npt.NDArray[np.float64]
Number = StrictFloat | StrictInt
Named = list[str] | dict[str, Number]  # names, or names with an eps each

_SETTERS = {  # how `doc.has_annotation` calls what an attribute of tokens holds, how we do, and components that set it
    ENT_TYPE: ("ENT_IOB", "entities", "ner or entity_ruler"),
    POS: ("POS", "parts of speech", "morphologizer or attribute_ruler"),
    TAG: ("TAG", "tags", "tagger or attribute_ruler"),
}
_INNER = "_'`\u00b4\u2018\u2019\u201b\u2032\uff07"  # underscores and apostrophes
_JOINING = {"Mn", "Mc", "Me", "Cf", "Co", "Cn"}  # marks, and what policies may drop
STAYS = float("nan")  # instead of an eps, for tokens that stay unchanged: NaN is never a valid budget


@dataclass(frozen=True, kw_only=True)
class TokenChoice:
    """A rule for which tokens are sensitive, with budgets that are known before any text is seen.

    named: an eps per name, None for the component's own. ids: the value that tokens of each name have. others: the eps
    of all other tokens, None if they stay unchanged. keeps_stopwords: as in CusText+.
    """

    named: Mapping[str, float | None] = field(default_factory=dict)
    ids: Mapping[str, int] = field(default_factory=dict)
    others: float | None = None
    keeps_stopwords: bool = False

    @property
    def listed(self) -> frozenset[str] | None:
        """The only words that are drawn, if there is a list of them."""
        return None

    def list_budgets(self, usual: float) -> set[float]:
        """Return every eps that can occur. usual: the component's own eps."""
        found = {usual if epsilon is None else epsilon for epsilon in self.named.values()}
        return found if self.others is None else {*found, self.others}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        """Return the eps of each token, NaN for tokens that stay unchanged. usual: the component's own eps."""
        values = self.find_values(doc)
        found = np.full(len(doc), STAYS if self.others is None else self.others)
        for name, epsilon in self.named.items():
            found[values == self.ids[name]] = usual if epsilon is None else epsilon
        return found

    def find_values(self, doc: Doc) -> npt.NDArray[Any]:
        """Return the value of each token, which is one of `ids` if the token has a name; by default, none has."""
        return np.zeros(len(doc))


@dataclass(frozen=True, kw_only=True)
class AllTokens(TokenChoice):
    """All tokens, at the component's eps."""

    def list_budgets(self, usual: float) -> set[float]:
        return {usual}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        return np.full(len(doc), usual)


@dataclass(frozen=True, kw_only=True)
class ByAttribute(TokenChoice):
    """Tokens selected by an attribute that earlier components of the pipeline set."""

    attribute: int

    def find_values(self, doc: Doc) -> npt.NDArray[Any]:
        annotation, what, setters = _SETTERS[self.attribute]
        if len(doc) and not doc.has_annotation(annotation):  # all tokens would stay in the clear
            raise SettingError(
                f"sensitive: no component has set {what} on this Doc; add one before custext, such as {setters}"
            )
        return doc.to_array(self.attribute)


@dataclass(frozen=True, kw_only=True)
class ByWord(TokenChoice):
    """Tokens that contain a listed word, in upper or lower case."""

    words: WordList

    @property
    def listed(self) -> frozenset[str] | None:
        return self.words.words if self.others is None else None

    def find_values(self, doc: Doc) -> npt.NDArray[Any]:
        orths, spaces = doc.to_array([ORTH, SPACY]).reshape(-1, 2).T
        distinct, number_of = np.unique(orths, return_inverse=True)
        texts = [doc.vocab.strings[int(orth)] for orth in distinct]
        found = self.words.find_in(texts)[number_of]
        # a word may span several tokens: look through all that have only letters and the like where they touch
        joins = np.array([(_may_join(text[0]), _may_join(text[-1])) for text in texts], dtype=bool).reshape(-1, 2)
        firsts, lasts = joins[number_of].T
        touching = np.flatnonzero((spaces[:-1] == 0) & lasts[:-1] & firsts[1:])
        for run in np.split(touching, np.flatnonzero(np.diff(touching) > 1) + 1) if len(touching) else ():
            start, end = int(run[0]), int(run[-1]) + 2
            found[start:end] |= self.words.find_in([doc[start:end].text])
        return found


@dataclass(frozen=True, kw_only=True)
class ByFunction(TokenChoice):
    """Tokens selected by a user's function, which takes a Doc and returns one value per token."""

    function: Callable[[Doc], Any]
    budgets: frozenset[float]

    @classmethod
    def of(cls, function: Callable[[Doc], Any]) -> "ByFunction":
        """Return the choice that a function makes. Raise SettingError if its attribute `budgets` is invalid."""
        declared = getattr(function, "budgets", ())
        if not isinstance(declared, Iterable):
            found = type(declared).__name__
            raise SettingError(f'sensitive: the attribute "budgets" of the function must be a list; found {found}')
        return cls(function=function, budgets=frozenset(_check_budget("budgets", epsilon) for epsilon in declared))

    def list_budgets(self, usual: float) -> set[float]:
        return {usual, *self.budgets}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        values = self.function(doc)
        if not isinstance(values, (list, tuple, np.ndarray)):
            raise SettingError(
                "sensitive: the function is called with a whole Doc, not with a token, and must return a list or an "
                f"array with one value per token; found {type(values).__name__}"
            )
        if len(values) != len(doc):
            raise SettingError(
                f"sensitive: the function must return one value per token: expected {len(doc):,}, found {len(values):,}"
            )
        found = np.array([_read_value(value, usual) for value in values], dtype=np.float64)
        if undeclared := set(found[~np.isnan(found)].tolist()) - self.list_budgets(usual):
            raise SettingError(
                f"sensitive: the function returned eps {min(undeclared):g}, which its attribute "
                '"budgets" does not list; list every eps that it can return'
            )
        return found


def choose_all() -> AllTokens:
    """Choose all tokens; the component's `plus` decides whether stopwords are kept."""
    return AllTokens()


def choose_all_but_stopwords() -> AllTokens:
    """Choose all tokens except the stopwords of the custext database (CusText+)."""
    return AllTokens(keeps_stopwords=True)


def choose_entities(labels: Named, others: Number | None = None) -> ByAttribute:
    """Choose the tokens of entities.

    labels: a list of entity labels, or a dict with an eps per label. others: the eps of all other tokens; if it is not
    given, they stay unchanged.
    """
    return _choose_by(ENT_TYPE, "labels", labels, others, get_string_id)


def choose_parts_of_speech(tags: Named, others: Number | None = None) -> ByAttribute:
    """Choose tokens by coarse part of speech (`token.pos_`: PROPN, NOUN, ...); tags and others as for entities."""
    return _choose_by(POS, "tags", tags, others, _find_part_of_speech)


def choose_tags(tags: Named, others: Number | None = None) -> ByAttribute:
    """Choose tokens by fine-grained tag (`token.tag_`: NNP, CD, ...); tags and others as for entities."""
    return _choose_by(TAG, "tags", tags, others, get_string_id)


def choose_words(
    words: list[str] | None = None,
    path: str | None = None,
    eps: Number | None = None,
    others: Number | None = None,
) -> ByWord:
    """Choose tokens that contain a listed word, or a part of one, in upper or lower case.

    words: a list, or path: a UTF-8 file with one word per line. eps: of these tokens; default: the component's.
    others: as for entities.
    """
    if (words is None) == (path is None):
        raise SettingError('sensitive: give either "words" (a list) or "path" (a file with one word per line)')
    given = [word.strip() for word in (words if words is not None else _read_words(str(path)))]
    if not given:
        where = '"words"' if path is None else f"path: {path}"
        raise SettingError(f"sensitive: {where} must list at least one word; found none")
    try:
        listed = WordList.read(given)
    except SettingError as error:
        advice = "for phrases, put an entity_ruler before custext and choose its labels with custext.entities.v1"
        raise SettingError(f"sensitive: {error}; {advice}") from None
    named = {"words": None if eps is None else _check_budget("eps", eps)}
    return ByWord(named=named, ids={"words": 1}, others=_check_others(others), words=listed)


def _choose_by(
    attribute: int, key: str, names: Named, others: float | None, find_id: Callable[[str], int]
) -> ByAttribute:
    """Return the choice by an attribute. key: the option that gives the names."""
    if not names or not all(names):
        raise SettingError(f'sensitive: "{key}" must list at least one name, and no empty ones')
    named: dict[str, float | None] = dict.fromkeys(names)
    if isinstance(names, Mapping):
        named = {name: _check_budget(f"{key}: {name}", epsilon) for name, epsilon in names.items()}
    others = _check_others(others)
    return ByAttribute(named=named, ids={name: find_id(name) for name in named}, others=others, attribute=attribute)


def _find_part_of_speech(tag: str) -> int:
    if tag not in IDS:
        known = ", ".join(sorted(name for name in IDS if name))
        raise SettingError(f'sensitive: "tags" must list universal parts of speech ({known}); found {tag!r}')
    return int(IDS[tag])


def _read_value(value: Any, usual: float) -> float:
    """Return the eps that a flag or an eps stands for. In NumPy's arrays, as spaCy makes them, 0 and 1 are flags."""
    if value is None:
        return STAYS
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, np.integer) and value in (0, 1)):
        return usual if value else STAYS
    is_float = isinstance(value, (float, np.floating))
    if is_float and not np.isnan(value):
        return float(value)
    found = "nan" if is_float else type(value).__name__
    raise SettingError(
        f"sensitive: the function must return True, False or an eps such as 2.0 for each token; found {found}"
    )


def _may_join(character: str) -> bool:
    """Return whether a word may go on after or before a character."""
    return character.isalnum() or character in _INNER or unicodedata.category(character) in _JOINING


def _read_words(path: str) -> list[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SettingError(f"sensitive: path: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingError(f"sensitive: path: {path} is not UTF-8 text") from None
    return [line.strip() for line in lines if line.strip()]


def _check_budget(key: str, epsilon: float) -> float:
    from custext_sql import Settings  # imports DuckDB, so only when a component is made

    try:
        return Settings(eps=epsilon).eps
    except SettingError as error:
        raise SettingError(f"sensitive: {key}: {error}") from None


def _check_others(others: float | None) -> float | None:
    return None if others is None else _check_budget("others", others)


registry.misc.register("custext.all.v1", func=choose_all)
registry.misc.register("custext.all_but_stopwords.v1", func=choose_all_but_stopwords)
registry.misc.register("custext.entities.v1", func=choose_entities)
registry.misc.register("custext.parts_of_speech.v1", func=choose_parts_of_speech)
registry.misc.register("custext.tags.v1", func=choose_tags)
registry.misc.register("custext.words.v1", func=choose_words)
