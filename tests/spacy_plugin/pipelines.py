"""Pipelines for the tests of the component, their copies, and what is read from their Docs."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

PATTERNS = [{"label": "PERSON", "pattern": "Alice"}, {"label": "GPE", "pattern": "Boston"}]
CUTS = {  # tokens and the space after each, by tokenizers that differ from spaCy's
    "at spaces": r"([^ ]+| )( ?)",
    "at the ends of words": r"(\w+|[^\w ]| )( ?)",
    "everywhere": r"(?s)(.)()",
}


def make_pipeline(
    database: Path, *before: str, code: str = "en", cut: str | None = None, patterns: Any = PATTERNS, **config: Any
) -> Language:
    """Return a pipeline with these components, followed by custext.

    code: of the language. cut: one of CUTS. patterns: for a ruler. config: of custext.
    """
    nlp = spacy.blank(code)
    for name in before:
        pipe: Any = nlp.add_pipe(name, config={"annotate_ents": True} if name == "span_ruler" else {})
        if name in ("entity_ruler", "span_ruler", "future_entity_ruler"):
            pipe.add_patterns(patterns)
    nlp.add_pipe("custext", config={"database": str(database), **config})
    if cut is not None:
        nlp.tokenizer = make_cutter(nlp.vocab, cut)
    return nlp


def make_cutter(vocab: Vocab, cut: str) -> Callable[[str], Doc]:
    """Return one of the tokenizers of CUTS."""

    def tokenize(text: str) -> Doc:
        pieces = re.findall(CUTS[cut], text)
        return Doc(vocab, words=[word for word, _ in pieces], spaces=[bool(space) for _, space in pieces])

    return tokenize


def copy_pipeline(nlp: Language, folder: Path) -> dict[str, Language]:
    """Return copies of a pipeline, by the way in which they were made."""
    nlp.to_disk(folder)
    return {
        "disk": spacy.load(folder),
        "bytes": spacy.blank("en", config=nlp.config).from_bytes(nlp.to_bytes()),
        "pickle": pickle.loads(pickle.dumps(nlp)),
        "config": type(nlp).from_config(spacy.util.load_config_from_str(nlp.config.to_str())).from_disk(folder),
    }


def give_records(nlp: Language, *texts: str) -> list[Doc]:
    """Return Docs for keyed draws, which have their numbers as records."""
    docs = [nlp.make_doc(text) for text in texts]
    for number, doc in enumerate(docs):
        doc._.custext_record = str(number)
    return docs


def tokens_of(doc: Doc) -> list[str]:
    return [token.text for token in doc]


def words_of(doc: Doc) -> list[str]:
    return [token._.custext for token in doc]


def kinds_of(doc: Doc) -> list[str]:
    return [token._.custext_kind for token in doc]
