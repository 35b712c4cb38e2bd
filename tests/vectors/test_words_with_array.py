"""Words with an array are a source, just like a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custext_sql import CusTextError, build_mapping, list_embeddings, load_embeddings, load_mapping
from tests.vector_samples import stored_vectors, write_glove

WORDS = ["Alice", "bob", "carol", "dave"]
VECTORS = np.array([[1, 2], [3, 4], [5, 6], [7, 8.5]], dtype=np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, lambda matrix: matrix.astype(np.float64)])
def test_words_and_vectors_are_stored_as_from_a_file(db_path: Path, tmp_path: Path, kind: Any) -> None:
    report = load_embeddings(db_path, (WORDS, kind(VECTORS)), name="mine")
    assert (report.embedding.source, report.embedding.format, report.embedding.size) == ("the array", "array", 4)
    load_embeddings(db_path, write_glove(tmp_path / "v.txt", WORDS, VECTORS), name="file")
    (words, vectors), (of_file, from_file) = stored_vectors(db_path, "mine"), stored_vectors(db_path, "file")
    assert words == of_file == ["alice", "bob", "carol", "dave"]
    assert vectors.tolist() == from_file.tolist() == VECTORS.tolist()
    for name in ("mine", "file"):
        build_mapping(db_path, embedding=name, k=2)
    one, other = (load_mapping(db_path, f"{name}-euclidean-k2").info for name in ("mine", "file"))
    assert one.fingerprint == other.fingerprint


def test_the_digest_tells_other_words_and_other_numbers(db_path: Path) -> None:
    load_embeddings(db_path, (WORDS, VECTORS), name="one")
    load_embeddings(db_path, (WORDS, VECTORS), name="same")
    load_embeddings(db_path, (WORDS, VECTORS + 1), name="numbers")
    load_embeddings(db_path, ([*WORDS[:3], "eve"], VECTORS), name="words")
    digests = {embedding.name: embedding.sha256 for embedding in list_embeddings(db_path)}
    assert digests["one"] == digests["same"]
    assert len(set(digests.values())) == 3


def test_limit_and_vocabulary_apply(db_path: Path) -> None:
    report = load_embeddings(db_path, (WORDS, VECTORS), name="mine", limit=2, vocabulary=["bob", "carol", "dave"])
    assert stored_vectors(db_path, "mine")[0] == ["bob", "carol"]
    assert report.outside_vocabulary == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, vectors, message",
    [
        (WORDS, VECTORS[:3], "one row for each of 4 words; found 3 x 2"),
        (WORDS, VECTORS[0], "one row for each of 4 words; found 2"),
        (WORDS, 7, "found a single number"),
        (WORDS, [[1, 2], [3]], "an array of numbers"),
        (WORDS, [["a", "b"]] * 4, "an array of numbers"),
        ([b"alice", "bob"], VECTORS[:2], "words as strings; found bytes"),
        (WORDS, np.where(VECTORS > 8, np.nan, VECTORS), "row 4: expected finite float32 numbers"),
        (WORDS, np.where(VECTORS > 8, 1e300, VECTORS.astype(np.float64)), "row 4: expected finite float32 numbers"),
        (["a", "", "b", "c"], VECTORS, "row 2: expected a word, found an empty field"),
        (["a", "\ud800", "b", "c"], VECTORS, "row 2: expected valid Unicode"),
        ([], np.zeros((0, 2)), "no word was kept"),
        (WORDS, [[10**400, 1]] * 4, "an array of numbers"),
        (WORDS, VECTORS + 1j, "an array of numbers"),
        (WORDS, np.ma.masked_greater(VECTORS, 8), "an array of numbers"),
        ({*WORDS}, VECTORS, "a sequence of words; found set"),
        ("abcd", VECTORS, "a sequence of words; found str"),
    ],
)
def test_what_cannot_be_loaded_is_said(db_path: Path, words: Any, vectors: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        load_embeddings(db_path, (words, vectors), name="mine")
    assert not db_path.exists()


@pytest.mark.parametrize("source", [[WORDS, VECTORS], (WORDS,), 5, None])
def test_what_is_no_source_is_said(db_path: Path, source: Any) -> None:
    with pytest.raises(CusTextError, match=r"source must be a file or words with an array: \(words, vectors\); found"):
        load_embeddings(db_path, source, name="mine")


def test_files_alone_have_formats_and_members(db_path: Path) -> None:
    with pytest.raises(CusTextError, match="format and member apply to files only"):
        load_embeddings(db_path, (WORDS, VECTORS), name="mine", format="glove")
