"""NumPy archives and Parquet files are read as they were written, and errors say what is wrong."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from custext_sql.errors import CusTextError
from custext_sql.vectors.opening import open_vectors
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
