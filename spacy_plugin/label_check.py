"""Labels that no component of the pipeline sets: words that are chosen by such a label would all pass in clear."""

import gc
import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.attrs import ENT_TYPE, TAG
from spacy.language import Language
from spacy.pipeline import AttributeRuler
from spacy.strings import get_string_id
from spacy.tokens import Doc

from custext_sql import PrivacyWarning, SettingError, suggest
from spacy_plugin.sensitive_tokens import ByAttribute, TokenChoice
from spacy_plugin.surroundings import HeldPipeline

_NOUNS = {ENT_TYPE: "label", TAG: "tag"}  # of the attributes whose values depend on the pipeline
_ASSIGNED = {ENT_TYPE: {"doc.ents", "token.ent_type"}, TAG: {"token.tag"}}  # as components declare it
_SET_NO_LABELS = {"doc_cleaner", "merge_entities", "merge_noun_chunks", "merge_subtokens", "token_splitter"}  # of spaCy


@dataclass(frozen=True)
class Listed:
    """What the components in front of custext say of the labels that they set.

    labels: all that are listed. silent: names of components that set labels, or may, and list none.
    """

    labels: frozenset[str]
    silent: tuple[str, ...]


class LabelCheck:
    """Reports labels of a choice that no component in front of custext sets, when a Doc has come that far.

    Before that, labels may still be added. It is an error if all components that set labels list them: on the first
    Doc and on all others, until the pipeline is changed. Else it is a warning, once. Nothing is reported if no
    component in front sets labels, nor on a Doc of another pipeline: then they come from somewhere else. A label that
    these Docs have and nobody lists tells the same of the others. A pickle takes along what was listed by then.
    """

    def __init__(self, choice: TokenChoice, nlp: Language | None) -> None:
        self._attribute = 0
        self._chosen: Mapping[str, int] = {}
        if isinstance(choice, ByAttribute) and choice.attribute in _NOUNS:
            self._attribute, self._chosen = choice.attribute, choice.ids
        self._pipeline = HeldPipeline(nlp)
        self._carried: Listed | None = None  # where the pipeline is gone
        self._has_refused = False
        self._is_done = not self._chosen

    def check(self, component: object, docs: Sequence[Doc]) -> None:
        """Report labels that nothing sets, if these are the first Docs."""
        listed = None if self._is_done else self._find_listed(component, docs)
        if listed is None:
            return
        present = {int(label) for doc in docs for label in np.unique(doc.to_array(self._attribute))} - {0}
        missing = [name for name, key in self._chosen.items() if name not in listed.labels and key not in present]
        knows_all = not listed.silent and present <= {get_string_id(label) for label in listed.labels}
        if missing and knows_all:
            if not self._has_refused:
                self._has_refused = True
                gc.collect()  # it may be a pipeline that is gone, and that the component was only taken from
                if self._find_listed(component, docs) is None:
                    return
            raise SettingError(self._describe(missing[0], listed, "sets"))
        self._is_done = True
        for name in missing:
            others = ", ".join(listed.silent) or "something else"
            message = f"{self._describe(name, listed, 'lists')} Such words pass in clear unless {others} finds them"
            warnings.warn(message, PrivacyWarning, stacklevel=2)

    def for_pickle(self, component: object) -> "LabelCheck":
        """Return the same with what is listed now."""
        other, nlp = copy(self), self._pipeline.find()
        if nlp is not None and not self._is_done:
            other._carried = list_labels(nlp, component, self._attribute)
        return other

    def _find_listed(self, component: object, docs: Sequence[Doc]) -> Listed | None:
        nlp = self._pipeline.find()
        if nlp is None:
            return self._carried
        return list_labels(nlp, component, self._attribute) if docs[0].vocab is nlp.vocab else None

    def _describe(self, name: str, listed: Listed, verb: str) -> str:
        hint = f"; {suggest(name, listed.labels)}" if listed.labels else "."
        return f"sensitive: no component of the pipeline {verb} the {_NOUNS[self._attribute]} {name!r}{hint}"


def list_labels(nlp: Language, component: object, attribute: int) -> Listed | None:
    """Return what is listed in front of a component, for entities or tags; None if that cannot be told."""
    names = [name for name, pipe in nlp.pipeline if pipe is component]
    if not names:
        return None
    labels: set[str] = set()
    silent: list[str] = []
    for name, pipe in nlp.pipeline[: nlp.pipe_names.index(names[0])]:
        if isinstance(pipe, AttributeRuler):
            labels.update(_read_rules(pipe, attribute))
        elif _sets_labels(nlp, name, pipe, attribute):
            own = _read_labels(pipe)
            labels.update(own)
            silent += [] if own else [name]
    return Listed(frozenset(labels), tuple(silent)) if labels or silent else None


def _sets_labels(nlp: Language, name: str, pipe: Any, attribute: int) -> bool:
    """Whether a component sets labels, or may, since it does not declare what it sets."""
    meta = nlp.get_pipe_meta(name)
    if not meta.assigns:
        return meta.factory not in _SET_NO_LABELS
    annotates = attribute == ENT_TYPE and bool(getattr(pipe, "annotate_ents", False))  # a span_ruler, if it is asked to
    return annotates or not _ASSIGNED[attribute].isdisjoint(meta.assigns)


def _read_labels(pipe: Any) -> set[str]:
    """Return the labels that a component lists; none if it does not."""
    for name in ("labels", "label_data"):
        found = getattr(pipe, name, None)
        if isinstance(found, Iterable) and (labels := {label for label in found if isinstance(label, str)}):
            return labels
    return set()


def _read_rules(ruler: AttributeRuler, attribute: int) -> set[str]:
    """Return the labels that the rules of an attribute_ruler set."""
    return {ruler.vocab.strings[rule[attribute]] for rule in ruler.attrs if attribute in rule}
