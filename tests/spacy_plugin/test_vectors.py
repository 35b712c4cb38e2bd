"""The vectors of a spaCy pipeline load like those of a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.vectors import Vectors

from custext_sql import CusTextError, build_mapping, load_embeddings
from tests.vector_samples import stored_vectors

NAMES = ["The", "cat", "the", "naïve", "don't"]
VECTORS = np.arange(15, dtype=np.float32).reshape(5, 3) + 1


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """Return the folder of a saved pipeline with word vectors."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    for name, row in zip(NAMES, VECTORS, strict=True):
        nlp.vocab.set_vector(name, row)  # type: ignore[arg-type]
    nlp.to_disk(tmp_path / "pipeline")
    return tmp_path / "pipeline"


def test_vectors_of_a_saved_pipeline_load(db_path: Path, pipeline: Path) -> None:
    report = load_embeddings(db_path, f"spacy:{pipeline}", name="pipeline")
    assert (report.embedding.format, report.folded) == ("spacy", 1)
    tokens, stored = stored_vectors(db_path, "pipeline")
    found = dict(zip(tokens, stored.tolist(), strict=True))
    assert (found["cat"], found["the"]) == (VECTORS[1].tolist(), VECTORS[0].tolist())
    assert sorted(tokens) == ["cat", "don't", "naïve", "the"]
    assert build_mapping(db_path, embedding="pipeline", k=2).info.words == 4


def test_what_has_no_table_of_word_vectors_is_an_error(db_path: Path, pipeline: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.to_disk(tmp_path / "blank")
    data = np.zeros((10, 3), dtype=np.float32)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, mode="floret", hash_count=1, minn=1, maxn=2)
    nlp.to_disk(tmp_path / "floret")
    (pipeline / "config.cfg").write_text("[nlp]\nlang = 3\n")
    cases: list[tuple[str | Path, dict[str, Any], str]] = [
        ("en_nothing", {}, "spacy:en_nothing: no spaCy pipeline or folder of that name exists"),
        (pipeline, {}, "spaCy cannot load it"),
        ("numpy", {}, "spaCy cannot load it"),
        (pipeline, {"format": "glove"}, "format and member apply to files only, not to spacy:"),
        (tmp_path / "floret", {}, "expected a table with one vector per word, found mode floret"),
        (tmp_path / "blank", {}, "the pipeline has no word vectors"),
    ]
    for source, options, message in cases:
        with pytest.raises(CusTextError, match=message):
            load_embeddings(db_path, f"spacy:{source}", name="none", **options)
