"""What the component uses of the pipeline that it is part of."""

import weakref
from collections.abc import Callable
from typing import Any

from spacy.language import Language

from spacy_plugin.tokenizing import Tokenizer

_SENTENCES = {"token.is_sent_start", "doc.sents"}


class Surroundings:
    """What was last seen of the pipeline around the component.

    tokenizer: the pipeline's. finds_sentences: whether a pipe in front of the component declares that it finds
    sentences. The pipeline is held weakly, since it holds the component. Once it is gone, as when the component was
    sourced from it or comes out of a pickle, nothing changes any more. A pickle takes the tokenizer along, and with it
    the vocabulary, which has every word that the pipeline has met.
    """

    def __init__(self, nlp: Language, name: str) -> None:
        self._find_pipeline: Callable[[], Language | None] = weakref.ref(nlp)
        self.tokenizer: Tokenizer
        self.finds_sentences: bool
        self.look(name)

    def look(self, name: str) -> None:
        """See what the pipeline is now. name: the component's, which is the last one while it is being added."""
        nlp = self._find_pipeline()
        if nlp is None:
            return
        self.tokenizer = nlp.tokenizer
        before = nlp.pipe_names[: nlp.pipe_names.index(name) if name in nlp.pipe_names else None]
        self.finds_sentences = any(_SENTENCES.intersection(nlp.get_pipe_meta(pipe).assigns) for pipe in before)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_find_pipeline": _find_none}


def _find_none() -> None:
    """Stand for a pipeline that is gone."""
