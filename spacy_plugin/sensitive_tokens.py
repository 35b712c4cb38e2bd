"""Which tokens are replaced, at what privacy budget: choices that a config can name, and a check of their labels.

`sensitive` in the component's config is one of the choices below, or your own: with `@spacy.registry.misc("NAME")`,
register a function that returns a function of a Doc. That must return a list or array with one value per token: True
(replace it, at the component's eps), False (keep it, in the clear), or an eps, a float. Its attribute `budgets` must
list every eps that it can return, so that the guarantee does not depend on the text.
"""

import gc
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import StrictFloat, StrictInt
from spacy.attrs import ENT_TYPE, ORTH, POS, SPACY, TAG
from spacy.language import Language
from spacy.parts_of_speech import IDS
from spacy.pipeline import AttributeRuler
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.util import registry

from custext_sql.errors import CusTextError, PrivacyWarning, SettingError
from custext_sql.parameters import check_type, suggest
from custext_sql.text.word_boundaries import WordList, read_word_file

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Number = StrictFloat | StrictInt
Named = list[str] | dict[str, Number]  # names, or names with an eps each

STAYS = float("nan")  # instead of an eps, for tokens that stay unchanged: NaN is never a valid budget
_INNER = "_'`\u00b4\u2018\u2019\u201b\u2032\uff07"  # underscores and apostrophes
_JOINING = {"Mn", "Mc", "Me", "Cf", "Co", "Cn"}  # marks, and what policies may drop
_SETTERS = {  # how `doc.has_annotation` calls what an attribute of tokens holds, how we do, and components that set it
    ENT_TYPE: ("ENT_IOB", "entities", "ner or entity_ruler"),
    POS: ("POS", "parts of speech", "morphologizer or attribute_ruler"),
    TAG: ("TAG", "tags", "tagger or attribute_ruler"),
}
_NOUNS = {ENT_TYPE: "label", TAG: "tag"}  # the attributes whose values depend on the pipeline
_ASSIGNED = {ENT_TYPE: {"doc.ents", "token.ent_type"}, TAG: {"token.tag"}}  # as components declare them
# Factories of spaCy that declare nothing and set no labels.
_SET_NO_LABELS = {"doc_cleaner", "merge_entities", "merge_noun_chunks", "merge_subtokens", "token_splitter"}


@dataclass(frozen=True, kw_only=True)
class TokenChoice:
    """A rule for which tokens are sensitive, with budgets that are known before any text is seen: here, all tokens.

    keeps_stopwords: as in CusText+. listed: the only words that are drawn, if there is a list.
    """

    keeps_stopwords: bool = False
    listed: frozenset[str] | None = None

    def list_budgets(self, usual: float) -> set[float]:
        """Return every eps that can occur. usual: the component's own eps."""
        return {usual}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        """Return the eps of each token, NaN for tokens that stay unchanged. usual: the component's own eps."""
        return np.full(len(doc), usual)


@dataclass(frozen=True, kw_only=True)
class ByName(TokenChoice):
    """Tokens that have a name. named: an eps per name, None for the component's own. others: of all other tokens."""

    named: Mapping[str, float | None]
    others: float | None = None

    def list_budgets(self, usual: float) -> set[float]:
        found = {usual if epsilon is None else epsilon for epsilon in self.named.values()}
        return found if self.others is None else {*found, self.others}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        found = np.full(len(doc), STAYS if self.others is None else self.others)
        for name, has_name in self.find_named(doc).items():
            found[has_name] = usual if self.named[name] is None else self.named[name]
        return found

    def find_named(self, doc: Doc) -> dict[str, Flags]:
        """Return for each name which tokens have it."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ByAttribute(ByName):
    """Tokens selected by an attribute that earlier components of the pipeline set."""

    attribute: int

    def find_named(self, doc: Doc) -> dict[str, Flags]:
        annotation, what, setters = _SETTERS[self.attribute]
        if len(doc) and not doc.has_annotation(annotation):  # all tokens would stay in the clear
            raise SettingError(
                f"sensitive: no component has set {what} on this Doc; add one before custext, such as {setters}"
            )
        values = doc.to_array(self.attribute)
        find_id = IDS.__getitem__ if self.attribute == POS else get_string_id
        return {name: values == find_id(name) for name in self.named}


@dataclass(frozen=True, kw_only=True)
class ByWord(ByName):
    """Tokens that contain a listed word, in upper or lower case."""

    words: WordList

    def find_named(self, doc: Doc) -> dict[str, Flags]:
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
        return dict.fromkeys(self.named, found)


@dataclass(frozen=True, kw_only=True)
class ByFunction(TokenChoice):
    """Tokens selected by a user's function, which takes a Doc and returns one value per token."""

    function: Callable[[Doc], Any]
    budgets: Set[float]

    def list_budgets(self, usual: float) -> set[float]:
        return {usual, *self.budgets}

    def find_budgets(self, doc: Doc, usual: float) -> Floats:
        values = self.function(doc)
        expected = "is called with a whole Doc, not with a token, and must return a list or an array"
        check_type(values, (list, tuple, np.ndarray), f"sensitive: the function {expected} with one value per token")
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


def read_choice(sensitive: Any) -> TokenChoice:
    """Return the choice that `sensitive` stands for: all tokens for None; a function is wrapped as a choice."""
    if sensitive is None:
        return TokenChoice()
    if isinstance(sensitive, TokenChoice):
        return sensitive
    if callable(sensitive):
        declared = getattr(sensitive, "budgets", ())
        check_type(declared, Iterable, 'sensitive: the attribute "budgets" of the function must be a list')
        return ByFunction(function=sensitive, budgets={_check_budget("budgets", epsilon) for epsilon in declared})
    found = 'a dict without "@misc"' if isinstance(sensitive, dict) else type(sensitive).__name__
    raise SettingError(
        'sensitive must name a registered choice, as in {"@misc": "custext.entities.v1", "labels": ["PERSON"]}; '
        f"found {found}"
    )


def choose_all() -> TokenChoice:
    """Choose all tokens; the component's `plus` decides whether stopwords are kept."""
    return TokenChoice()


def choose_all_but_stopwords() -> TokenChoice:
    """Choose all tokens except the stopwords of the custext database (CusText+)."""
    return TokenChoice(keeps_stopwords=True)


def choose_entities(labels: Named, others: Number | None = None) -> ByAttribute:
    """Choose tokens of entities by label, or with an eps per label. others: the eps of all other tokens, else kept."""
    return _choose_by(ENT_TYPE, "labels", labels, others)


def choose_parts_of_speech(tags: Named, others: Number | None = None) -> ByAttribute:
    """Choose tokens by coarse part of speech (`token.pos_`: PROPN, NOUN, ...); tags and others as for entities."""
    chosen = _choose_by(POS, "tags", tags, others)
    if unknown := chosen.named.keys() - IDS.keys():
        known = ", ".join(sorted(name for name in IDS if name))
        raise SettingError(f'sensitive: "tags" must list universal parts of speech ({known}); found {min(unknown)!r}')
    return chosen


def choose_tags(tags: Named, others: Number | None = None) -> ByAttribute:
    """Choose tokens by fine-grained tag (`token.tag_`: NNP, CD, ...); tags and others as for entities."""
    return _choose_by(TAG, "tags", tags, others)


def choose_words(
    words: list[str] | None = None, path: str | None = None, eps: Number | None = None, others: Number | None = None
) -> ByWord:
    """Choose tokens that contain a listed word, or a part of one, in any case. path: a file with one word per line."""
    if (words is None) == (path is None):
        raise SettingError('sensitive: give either "words" (a list) or "path" (a file with one word per line)')
    if words == []:
        raise SettingError('sensitive: "words" must list at least one word; found none')
    try:
        listed = WordList.read(read_word_file(str(path)) if words is None else [word.strip() for word in words])
    except CusTextError as error:
        raise SettingError(
            f"sensitive: {'path: ' if path else ''}{error}; for phrases, put an entity_ruler before custext and choose "
            "its labels with custext.entities.v1"
        ) from None
    return ByWord(
        named={"words": _check_budget("eps", eps)},
        others=_check_budget("others", others),
        words=listed,
        listed=listed.words if others is None else None,
    )


for _choose in (
    choose_all,
    choose_all_but_stopwords,
    choose_entities,
    choose_parts_of_speech,
    choose_tags,
    choose_words,
):
    registry.misc.register(f"custext.{_choose.__name__.removeprefix('choose_')}.v1", func=_choose)


def _choose_by(attribute: int, key: str, names: Named, others: float | None) -> ByAttribute:
    """Return the choice by an attribute. key: the option that gives the names."""
    if not names or not all(names):
        raise SettingError(f'sensitive: "{key}" must list at least one name, and no empty ones')
    given = names if isinstance(names, Mapping) else dict.fromkeys(names)
    budgets = {name: _check_budget(f"{key}: {name}", epsilon) for name, epsilon in given.items()}
    return ByAttribute(named=budgets, others=_check_budget("others", others), attribute=attribute)


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


def _check_budget(key: str, epsilon: float | None) -> Any:
    """Return an eps as it was given, or None for one that was not given; SettingError if it is invalid."""
    from custext_sql.sanitizer.settings import Settings  # imports DuckDB, so only when a component is made

    try:
        return None if epsilon is None else Settings(eps=epsilon).eps
    except SettingError as error:
        raise SettingError(f"sensitive: {key}: {error}") from None


class LabelCheck:
    """Reports labels of a choice that no component before custext sets: their words would stay in the clear.

    Labels can be added until the first Doc comes. If all components that set labels list them, a missing label is an
    error, on every Doc until the pipeline is changed. It is only a warning, given once, if a component lists none, or
    if the Docs have a label that no component lists. Nothing is reported if no component before custext sets labels, or
    for Docs of another pipeline: their labels come from elsewhere.
    """

    def __init__(self, choice: TokenChoice) -> None:
        self._attribute, self._chosen = 0, list[str]()
        if isinstance(choice, ByAttribute) and choice.attribute in _NOUNS:
            self._attribute, self._chosen = choice.attribute, list(choice.named)
        self._carried: dict[str, set[str]] = {}  # used once the pipeline is gone
        self._is_done = not self._chosen

    def check(self, find_pipeline: Callable[[], Language | None], component: object, docs: Sequence[Doc]) -> None:
        """Raise SettingError, or give a PrivacyWarning, about labels that nothing sets, if these are the first Docs."""
        if self._is_done or not (listed := self._find_listed(find_pipeline(), component, docs)):
            return
        known = set().union(*listed.values())
        silent = [name for name, labels in listed.items() if not labels]
        present = {doc.vocab.strings[label] for doc in docs for label in set(doc.to_array(self._attribute).tolist())}
        missing = [name for name in self._chosen if name not in known | present]
        if missing and not silent and present <= {*known, ""}:
            gc.collect()  # the component may have been taken from a pipeline that is gone but not yet collected
            if self._find_listed(find_pipeline(), component, docs):
                raise SettingError(self._describe(missing[0], known, "sets"))
            return
        self._is_done = True
        for name in missing:
            described = self._describe(name, known, "lists")
            end = "" if described.endswith("?") else "."
            others = " or ".join(silent) or "something else"
            message = f"{described}{end} Its words stay in the clear unless {others} sets it"
            warnings.warn(message, PrivacyWarning, stacklevel=2)

    def for_pickle(self, nlp: Language | None, component: object) -> "LabelCheck":
        """Return a copy that includes the labels listed now."""
        other = copy(self)
        if nlp is not None and not self._is_done:
            other._carried = _list_labels(nlp, component, self._attribute)
        return other

    def _find_listed(self, nlp: Language | None, component: object, docs: Sequence[Doc]) -> dict[str, set[str]]:
        if nlp is None:
            return self._carried
        return _list_labels(nlp, component, self._attribute) if docs[0].vocab is nlp.vocab else {}

    def _describe(self, name: str, known: set[str], verb: str) -> str:
        noun = _NOUNS[self._attribute]
        hint = f"; {suggest(name, known, f'{noun}s')}" if known else ""
        return f"sensitive: no component of the pipeline {verb} the {noun} {name!r}{hint}"


def _list_labels(nlp: Language, component: object, attribute: int) -> dict[str, set[str]]:
    """Return the labels listed by each component before the given one that sets labels, or may set some.

    attribute: of entities or tags. There are none if the component is not in the pipeline.
    """
    found: dict[str, set[str]] = {}
    for name, pipe in nlp.pipeline:
        if pipe is component:
            return found
        meta: Any = nlp.get_pipe_meta(name)
        if isinstance(pipe, AttributeRuler):
            if labels := {pipe.vocab.strings[rule[attribute]] for rule in pipe.attrs if attribute in rule}:
                found[name] = labels
        elif (
            (not meta.assigns and meta.factory not in _SET_NO_LABELS)
            or not _ASSIGNED[attribute].isdisjoint(meta.assigns)
            or (attribute == ENT_TYPE and getattr(pipe, "annotate_ents", False))  # an option of span_ruler
        ):
            listed = (getattr(pipe, names, None) for names in ("labels", "label_data"))
            several = [
                {one for one in names if isinstance(one, str)} for names in listed if isinstance(names, Iterable)
            ]
            found[name] = next(filter(None, several), set())
    return {}
