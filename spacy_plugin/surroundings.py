"""The parts of the surrounding pipeline that the component uses."""

import weakref
from collections.abc import Callable

from spacy.language import Language

from spacy_plugin.tokenizing import Tokenizer

_SENTENCES = {"token.is_sent_start", "doc.sents"}


class HeldPipeline:
    """A weak reference to a pipeline, because the pipeline holds the component; empty in a pickle."""

    def __init__(self, nlp: Language | None) -> None:
        self.find: Callable[[], Language | None] = _find_none if nlp is None else weakref.ref(nlp)

    def __reduce__(self) -> tuple[type["HeldPipeline"], tuple[None]]:
        return HeldPipeline, (None,)


class Surroundings:
    """The pipeline around the component, as it was when last looked at.

    tokenizer: the pipeline's. finds_sentences: whether a component before this one declares that it finds sentences.
    Both stay the same once the pipeline is gone, which happens if the component was sourced from it or was pickled.
    A pickle includes the tokenizer and its vocabulary, which has every word that the pipeline has seen.
    """

    def __init__(self, nlp: Language, name: str) -> None:
        self._pipeline = HeldPipeline(nlp)
        self.tokenizer: Tokenizer
        self.finds_sentences: bool
        self.look(name)

    def look(self, name: str) -> None:
        """Look at the pipeline again.

        name: the component's. While it is being added, it is not in the pipeline yet: all others come before it.
        """
        nlp = self._pipeline.find()
        if nlp is None:
            return
        self.tokenizer = nlp.tokenizer
        before = nlp.pipe_names[: nlp.pipe_names.index(name) if name in nlp.pipe_names else None]
        self.finds_sentences = any(_SENTENCES.intersection(nlp.get_pipe_meta(pipe).assigns) for pipe in before)


def _find_none() -> None:
    """Return None, in place of a weak reference whose pipeline is gone."""
