"""What the component uses of the pipeline that it is part of."""

import weakref
from collections.abc import Callable

from spacy.language import Language

from spacy_plugin.tokenizing import Tokenizer

_SENTENCES = {"token.is_sent_start", "doc.sents"}


class HeldPipeline:
    """Holds a pipeline weakly, since it holds the component. Once it is gone, or in a pickle, there is none."""

    def __init__(self, nlp: Language | None) -> None:
        self.find: Callable[[], Language | None] = _find_none if nlp is None else weakref.ref(nlp)

    def __reduce__(self) -> tuple[type["HeldPipeline"], tuple[None]]:
        return HeldPipeline, (None,)


class Surroundings:
    """What was last seen of the pipeline around the component.

    tokenizer: the pipeline's. finds_sentences: whether a pipe in front of the component declares that it finds
    sentences. Once the pipeline is gone, as when the component was sourced from it or comes out of a pickle, nothing
    changes any more. A pickle takes the tokenizer along, and with it the vocabulary, which has every word that the
    pipeline has met.
    """

    def __init__(self, nlp: Language, name: str) -> None:
        self._pipeline = HeldPipeline(nlp)
        self.tokenizer: Tokenizer
        self.finds_sentences: bool
        self.look(name)

    def look(self, name: str) -> None:
        """See what the pipeline is now. name: the component's, which is the last one while it is being added."""
        nlp = self._pipeline.find()
        if nlp is None:
            return
        self.tokenizer = nlp.tokenizer
        before = nlp.pipe_names[: nlp.pipe_names.index(name) if name in nlp.pipe_names else None]
        self.finds_sentences = any(_SENTENCES.intersection(nlp.get_pipe_meta(pipe).assigns) for pipe in before)


def _find_none() -> None:
    """Stand for a pipeline that is gone."""
