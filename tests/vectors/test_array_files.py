"""NumPy archives, Parquet files and arrays in memory are read as they are, and errors say what is wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from custext_sql import build_mapping, load_embeddings, load_mapping
from custext_sql.errors import CusTextError
from custext_sql.store.contents import list_embeddings
from custext_sql.vectors.opening import open_vectors
from tests.vector_samples import stored_vectors, write_glove
from tests.vectors.test_vector_files import NAMES, VECTORS, assert_read, read_all


def test_npz(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "vectors.npz", vocabulary=np.array(NAMES), table=VECTORS.astype(np.float64))
    assert_read(tmp_path / "vectors.npz", "npz")
    np.savez(tmp_path / "bytes.npz", words=np.array([name.encode() for name in NAMES]), matrix=VECTORS)
    assert_read(tmp_path / "bytes.npz", "npz")


PARQUET = {
    "list": pa.array(VECTORS.tolist(), pa.list_(pa.float32())),
    "large_list": pa.array(VECTORS.tolist(), pa.large_list(pa.float64())),
    "fixed": pa.array(VECTORS.tolist(), pa.list_(pa.float32(), 3)),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_parquet_with_a_column_of_lists(tmp_path: Path, kind: str) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3, 4], "word": NAMES, "v": PARQUET[kind]}), tmp_path / "v.parquet")
    assert_read(tmp_path / "v.parquet", "parquet")


def test_parquet_with_a_column_for_each_dimension(tmp_path: Path) -> None:
    columns = {f"d{index}": VECTORS[:, index] for index in range(3)}
    words = pa.array(NAMES).dictionary_encode()
    table = pa.table({"__index_level_0__": [9, 8, 7, 6], "word": words, **columns, "frequency": [4, 3, 2, 1]})
    pq.write_table(table, tmp_path / "v.parquet", row_group_size=2)
    assert_read(tmp_path / "v.parquet", "parquet")


def test_a_flipped_bit_is_found_where_parquet_has_checksums(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    vectors = np.random.default_rng(0).normal(size=(500, 3))
    table = pa.table({"word": [f"w{index}" for index in range(500)], "v": list(vectors)})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[content.index(vectors[250].tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(CusTextError, match=r"v\.parquet: the file is damaged"):
        read_all(path)


def test_faults_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    for arrays, message in (
        ({"words": np.array(NAMES)}, "found 1 array of words and 0 matrices"),
        ({"words": np.array(NAMES[:3]), "matrix": VECTORS}, "found 3 words and 4 rows"),
        ({"words": np.array(NAMES, dtype=object), "matrix": VECTORS}, "expected a NumPy .npz archive of plain arrays"),
        ({"words": np.array([b"a", b"\xff"]), "matrix": VECTORS[:2]}, "expected words in UTF-8"),
        ({"words": np.array([], dtype=str), "matrix": VECTORS[:0]}, "found no rows"),
    ):
        np.savez(path, allow_pickle=True, **arrays)
        with pytest.raises(CusTextError, match=r"^v\.npz[,:].*" + message):
            read_all(path, format="npz")
    np.save(tmp_path / "single.npy", VECTORS)
    with pytest.raises(CusTextError, match="expected a NumPy .npz archive, found a single array"):
        read_all(tmp_path / "single.npy", format="npz")
    with pytest.raises(CusTextError, match="member applies to text"):
        open_vectors(str(path), format="npz", member="words.npy")
    np.savez(path, words=np.array(NAMES), matrix=VECTORS)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(CusTextError, match=r"^v\.npz"):
        read_all(path)


def test_faults_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    for table, message in (
        ({"a": NAMES, "b": NAMES}, "expected one text column"),
        ({"word": NAMES}, "expected one text column and one column of number lists"),
        ({"word": ["a", None], "v": [[1.0], [2.0]]}, "row 2: expected a word in column 'word', found NULL"),
        ({"word": ["a", "b"], "v": [[1.0], None]}, "row 2: expected a list in column 'v', found NULL"),
        ({"word": ["a", "b"], "v": [[1.0], [1.0, 2.0]]}, "row 2: expected 1 number, found 2"),
        ({"word": ["a", "b"], "v": [[1.0], [None]]}, "row 2: expected numbers in column 'v', found NULL"),
        ({"word": ["a", "b"], "d0": [1.0, None]}, "row 2: expected a number in column 'd0', found NULL"),
        ({"word": ["a"] * 8192 + ["b"], "v": [[1.0, 2.0]] * 8192 + [[1.0]]}, "row 8193: expected 2 numbers, found 1"),
        ({"word": pa.array([], pa.string()), "v": pa.array([], pa.list_(pa.float32()))}, "found no rows"),
    ):
        pq.write_table(pa.table(table), path)
        with pytest.raises(CusTextError, match=r"^v\.parquet[,:].*" + message):
            read_all(path)
    path.write_bytes(b"PAR1" + b"\0" * 50)
    with pytest.raises(CusTextError, match=r"^v\.parquet: cannot read the Parquet file"):
        read_all(path)


WORDS = ["Alice", "bob", "carol", "dave"]
NUMBERS = np.array([[1, 2], [3, 4], [5, 6], [7, 8.5]], dtype=np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, lambda matrix: matrix.astype(np.float64)])
def test_words_and_vectors_are_stored_as_from_a_file(db_path: Path, tmp_path: Path, kind: Any) -> None:
    report = load_embeddings(db_path, (WORDS, kind(NUMBERS)), name="mine")
    assert (report.embedding.source, report.embedding.format, report.embedding.size) == ("the array", "array", 4)
    load_embeddings(db_path, write_glove(tmp_path / "v.txt", WORDS, NUMBERS), name="file")
    (words, vectors), (of_file, from_file) = stored_vectors(db_path, "mine"), stored_vectors(db_path, "file")
    assert words == of_file == ["alice", "bob", "carol", "dave"]
    assert vectors.tolist() == from_file.tolist() == NUMBERS.tolist()
    for name in ("mine", "file"):
        build_mapping(db_path, embedding=name, k=2)
    one, other = (load_mapping(db_path, f"{name}-euclidean-k2").info for name in ("mine", "file"))
    assert one.fingerprint == other.fingerprint


def test_the_digest_tells_other_words_and_other_numbers(db_path: Path) -> None:
    load_embeddings(db_path, (WORDS, NUMBERS), name="one")
    load_embeddings(db_path, (WORDS, NUMBERS), name="same")
    load_embeddings(db_path, (WORDS, NUMBERS + 1), name="numbers")
    load_embeddings(db_path, ([*WORDS[:3], "eve"], NUMBERS), name="words")
    digests = {embedding.name: embedding.sha256 for embedding in list_embeddings(db_path)}
    assert digests["one"] == digests["same"]
    assert len(set(digests.values())) == 3


@pytest.mark.parametrize(
    "words, vectors, message",
    [
        (WORDS, NUMBERS[:3], "one row for each of 4 words; found 3 x 2"),
        (WORDS, 7, "found a single number"),
        (WORDS, [[1, 2], [3]], "an array of numbers"),
        (WORDS, [["a", "b"]] * 4, "an array of numbers"),
        ([b"alice", "bob"], NUMBERS[:2], "words as strings; found bytes"),
        (WORDS, np.where(NUMBERS > 8, np.nan, NUMBERS), "row 4: expected finite float32 numbers"),
        (WORDS, np.where(NUMBERS > 8, 1e300, NUMBERS.astype(np.float64)), "row 4: expected finite float32 numbers"),
        (["a", "\ud800", "b", "c"], NUMBERS, "row 2: expected valid Unicode"),
        ([], np.zeros((0, 2)), "no word was kept"),
        (WORDS, [[10**400, 1]] * 4, "an array of numbers"),
        (WORDS, NUMBERS + 1j, "an array of numbers"),
        (WORDS, np.ma.masked_greater(NUMBERS, 8), "an array of numbers"),
        ("abcd", NUMBERS, "a sequence of words; found str"),
    ],
)
def test_what_cannot_be_loaded_is_said(db_path: Path, words: Any, vectors: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        load_embeddings(db_path, (words, vectors), name="mine")
    assert not db_path.exists()


@pytest.mark.parametrize("source", [[WORDS, NUMBERS], (WORDS,), 5, None])
def test_what_is_no_source_is_said(db_path: Path, source: Any) -> None:
    with pytest.raises(CusTextError, match=r"source must be a file or words with an array: \(words, vectors\); found"):
        load_embeddings(db_path, source, name="mine")
    with pytest.raises(CusTextError, match="format and member apply to files only"):
        load_embeddings(db_path, (WORDS, NUMBERS), name="mine", format="glove")
