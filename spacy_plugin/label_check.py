"""Reports labels in `sensitive` that no component of the pipeline sets: the words meant would stay in the clear."""

import gc
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import ENT_TYPE, TAG
from spacy.language import Language
from spacy.pipeline import AttributeRuler
from spacy.strings import get_string_id
from spacy.tokens import Doc

from custext_sql import PrivacyWarning, SettingError, suggest
from spacy_plugin.sensitive_tokens import ByAttribute, TokenChoice

_NOUNS = {ENT_TYPE: "label", TAG: "tag"}  # the attributes whose values depend on the pipeline
_ASSIGNED = {ENT_TYPE: {"doc.ents", "token.ent_type"}, TAG: {"token.tag"}}  # as components declare them
# Factories of spaCy that declare nothing and set no labels.
_SET_NO_LABELS = {"doc_cleaner", "merge_entities", "merge_noun_chunks", "merge_subtokens", "token_splitter"}


class Listed(NamedTuple):
    """The labels that components before custext list, and the components that set or may set labels but list none."""

    labels: frozenset[str]
    silent: tuple[str, ...]


class LabelCheck:
    """Reports labels of a choice that no component before custext sets, once a Doc reaches custext.

    Until then, labels can still be added. If all components that set labels list them, a missing label is an error, on
    every Doc until the pipeline is changed; else it is a warning, given once. It is also a warning if the Docs have a
    label that no component lists, because then other labels may come from the same place. Nothing is reported if no
    component before custext sets labels, or for Docs of another pipeline: their labels come from elsewhere. A pickle
    includes the labels listed at that time.
    """

    def __init__(self, choice: TokenChoice) -> None:
        self._attribute = 0
        self._chosen: Mapping[str, int] = {}
        if isinstance(choice, ByAttribute) and choice.attribute in _NOUNS:
            self._attribute, self._chosen = choice.attribute, choice.ids
        self._carried: Listed | None = None  # used once the pipeline is gone
        self._has_refused = False
        self._is_done = not self._chosen

    def check(self, find_pipeline: Callable[[], Language | None], component: object, docs: Sequence[Doc]) -> None:
        """Report labels that nothing sets, if these are the first Docs. find_pipeline: None if it is gone.

        Raise SettingError if it is certain that no component sets them, else give a PrivacyWarning.
        """
        listed = None if self._is_done else self._find_listed(find_pipeline(), component, docs)
        if listed is None:
            return
        present = {int(label) for doc in docs for label in np.unique(doc.to_array(self._attribute))} - {0}
        missing = [name for name, key in self._chosen.items() if name not in listed.labels and key not in present]
        knows_all = not listed.silent and present <= {get_string_id(label) for label in listed.labels}
        if missing and knows_all:
            if not self._has_refused:
                self._has_refused = True
                gc.collect()  # the component may have been taken from a pipeline that is gone but not yet collected
                if self._find_listed(find_pipeline(), component, docs) is None:
                    return
            raise SettingError(self._describe(missing[0], listed, "sets"))
        self._is_done = True
        for name in missing:
            described = self._describe(name, listed, "lists")
            others = " or ".join(listed.silent) or "something else"
            end = "" if described.endswith("?") else "."
            message = f"{described}{end} Its words stay in the clear unless {others} sets it"
            warnings.warn(message, PrivacyWarning, stacklevel=2)

    def for_pickle(self, nlp: Language | None, component: object) -> "LabelCheck":
        """Return a copy that includes the labels listed now."""
        other = copy(self)
        if nlp is not None and not self._is_done:
            other._carried = list_labels(nlp, component, self._attribute)
        return other

    def _find_listed(self, nlp: Language | None, component: object, docs: Sequence[Doc]) -> Listed | None:
        if nlp is None:
            return self._carried
        return list_labels(nlp, component, self._attribute) if docs[0].vocab is nlp.vocab else None

    def _describe(self, name: str, listed: Listed, verb: str) -> str:
        noun = _NOUNS[self._attribute]
        hint = f"; {suggest(name, listed.labels, f'{noun}s')}" if listed.labels else ""
        return f"sensitive: no component of the pipeline {verb} the {noun} {name!r}{hint}"


def list_labels(nlp: Language, component: object, attribute: int) -> Listed | None:
    """Return the labels that components before the given one list, for entities or tags.

    Return None if the component is not in the pipeline, or if no component before it sets labels.
    """
    names = [name for name, pipe in nlp.pipeline if pipe is component]
    if not names:
        return None
    labels: set[str] = set()
    silent: list[str] = []
    for name, pipe in nlp.pipeline[: nlp.pipe_names.index(names[0])]:
        if isinstance(pipe, AttributeRuler):
            labels |= {pipe.vocab.strings[rule[attribute]] for rule in pipe.attrs if attribute in rule}
        elif _sets_labels(nlp, name, pipe, attribute):
            own = _read_labels(pipe)
            labels |= own
            silent += [] if own else [name]
    return Listed(frozenset(labels), tuple(silent)) if labels or silent else None


def _sets_labels(nlp: Language, name: str, pipe: Any, attribute: int) -> bool:
    """Return whether a component sets labels, or may set them because it does not declare what it sets."""
    meta = nlp.get_pipe_meta(name)
    if not meta.assigns:
        return meta.factory not in _SET_NO_LABELS
    annotates = attribute == ENT_TYPE and bool(getattr(pipe, "annotate_ents", False))  # an option of span_ruler
    return annotates or not _ASSIGNED[attribute].isdisjoint(meta.assigns)


def _read_labels(pipe: Any) -> set[str]:
    """Return the labels that a component lists; empty if it lists none."""
    for name in ("labels", "label_data"):
        found = getattr(pipe, name, None)
        if isinstance(found, Iterable) and (labels := {label for label in found if isinstance(label, str)}):
            return labels
    return set()
