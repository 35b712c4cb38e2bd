"""Embeddings are stored exactly as read, all or nothing, and counted."""

import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from custext_sql import CusTextError, drop_embedding, load_embeddings
from custext_sql.store.contents import list_embeddings
from custext_sql.vectors import text_files
from tests.vector_samples import glove_text, gzipped, stored_vectors, write_glove


def contents(path: Path) -> list[object]:
    with duckdb.connect(path, read_only=True) as connection:
        return [
            connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
            for table in ("embeddings", "tokens", "vectors", "settings")
        ]


def test_words_and_vectors_come_back_as_they_were(db_path: Path, glove_file: Path, words: list[str]) -> None:
    seen: list[float] = []
    report = load_embeddings(db_path, glove_file, name="small", progress=seen.append)
    assert seen[-1] == 1.0
    tokens, vectors = stored_vectors(db_path, "small")
    assert tokens == words
    assert glove_text(tokens, vectors) == glove_file.read_bytes()
    embedding = report.embedding
    assert (embedding.name, embedding.source, embedding.format) == ("small", "small.txt", "glove")
    assert (embedding.dimension, embedding.size, report.rows_read) == (5, 16, 16)
    assert list_embeddings(db_path) == [embedding]
    start = load_embeddings(db_path, glove_file, name="start", limit=2).embedding
    assert start.size == 2 and stored_vectors(db_path, "start")[0] == words[:2]
    assert start.sha256 == embedding.sha256 == hashlib.sha256(glove_file.read_bytes()).hexdigest()


def test_words_are_folded_and_the_first_row_stays(db_path: Path, tmp_path: Path) -> None:
    names = ["The", "don’t", "the", "DON'T", "THE", "at\xa0Name@domain.com"]
    vectors = np.arange(12, dtype=np.float32).reshape(6, 2)
    report = load_embeddings(db_path, write_glove(tmp_path / "v.txt", names, vectors), name="folded")
    tokens, stored = stored_vectors(db_path, "folded")
    assert tokens == ["the", "don't", "at\xa0name@domain.com"]
    assert stored.tolist() == [[0, 1], [2, 3], [10, 11]]
    assert (report.rows_read, report.folded) == (6, 3)


@pytest.mark.parametrize("kind", ["list", "vectors", "words"])
def test_vocabulary_keeps_only_its_words(db_path: Path, glove_file: Path, tmp_path: Path, kind: str) -> None:
    wanted = ["Judy", "bob", "zoe"]
    vocabulary: list[str] | Path = wanted
    if kind == "words":
        vocabulary = tmp_path / "words.txt"
        vocabulary.write_text("Judy\r\nbob\r\n\r\nzoe\r\n")
    elif kind == "vectors":
        vocabulary = gzipped(tmp_path / "v.gz", glove_text(wanted, np.ones((3, 4), dtype=np.float32)))
    report = load_embeddings(db_path, glove_file, name="some", vocabulary=vocabulary)
    assert stored_vectors(db_path, "some")[0] == ["bob", "judy"]
    assert (report.outside_vocabulary, report.not_found) == (14, 1)


def test_a_name_that_is_taken_needs_replace(loaded_db: Path, tmp_path: Path) -> None:
    other = write_glove(tmp_path / "other.txt", ["x", "y"], np.eye(2, dtype=np.float32))
    before = contents(loaded_db)
    with pytest.raises(CusTextError, match="embedding 'small' already exists; to replace it, use --replace"):
        load_embeddings(loaded_db, other, name="small")
    assert contents(loaded_db) == before
    load_embeddings(loaded_db, other, name="small", replace=True)
    assert stored_vectors(loaded_db, "small")[0] == ["x", "y"]
    assert [embedding.size for embedding in list_embeddings(loaded_db)] == [2]


def test_dropping_removes_every_trace(loaded_db: Path, glove_file: Path) -> None:
    load_embeddings(loaded_db, glove_file, name="other")
    drop_embedding(loaded_db, name="small")
    assert [embedding.name for embedding in list_embeddings(loaded_db)] == ["other"]
    assert stored_vectors(loaded_db, "small")[0] == []
    with pytest.raises(CusTextError, match="embedding 'oter' does not exist; did you mean 'other'"):
        drop_embedding(loaded_db, name="oter")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": name}, "name of an embedding must have 1 to 100 characters")
        for name in ("", " ", "a b", "-x", "a'b", "x" * 101, "a\n")  # names stand in commands without quoting
    ]
    + [
        ({"limit": 0}, "limit must be at least 1; found 0"),
        ({"limit": 1.5}, "limit must be a whole number; found 1.5"),
        ({"vocabulary": ["zoe"]}, r"small\.txt: no word was kept; .*16 rows not in the vocabulary"),
    ],
)
def test_bad_settings_are_named(db_path: Path, glove_file: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        load_embeddings(db_path, glove_file, **{"name": "v", **options})
    assert not db_path.exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"c 1 nan\n", "expected finite float32 numbers, found nan as number 2"),
        (b"c 1 -inf\n", "expected finite float32 numbers, found -inf as number 2"),
        (b" 3 4\n", "expected a word, found an empty field"),
    ],
)
def test_bad_rows_are_named(loaded_db: Path, tmp_path: Path, line: bytes, message: str) -> None:
    before = contents(loaded_db)
    (tmp_path / "v.txt").write_bytes(b"a 1 2\nb 1 2\n" + line)
    with pytest.raises(CusTextError, match=rf"v\.txt, line 3: {message}"):
        load_embeddings(loaded_db, tmp_path / "v.txt", name="bad")
    assert contents(loaded_db) == before


def test_a_lone_surrogate_in_a_row_that_is_left_out_is_no_fault(db_path: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b\ud800", "c"]), matrix=np.eye(3))
    assert load_embeddings(db_path, tmp_path / "v.npz", name="v", vocabulary=["a", "c"]).embedding.size == 2


def test_a_file_name_that_is_no_unicode_is_shown_as_well_as_can_be(db_path: Path, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9\n.txt"))
    path.write_text("a 1\nb 2\n")
    assert load_embeddings(db_path, path, name="v").embedding.source == "caf\ufffd\ufffd.txt"


def test_an_earlier_fault_is_named_before_later_damage(
    db_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "BLOCK", 1000)
    content = b"a 1 2\nb 1 x\n" + b"".join(b"w%d 1 2\n" % number for number in range(20_000))
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(content, compresslevel=0)[:-2000])
    with pytest.raises(CusTextError, match="line 2: expected a number in field 3, found something else"):
        load_embeddings(db_path, tmp_path / "v.txt.gz", name="bad")


def test_a_fault_after_many_stored_blocks_leaves_the_database_as_it_was(
    loaded_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "BLOCK", 1000)
    content = b"".join(b"w%d 1 2 3\n" % number for number in range(5000)) + b"last 1 2\n"
    before = contents(loaded_db)
    for path in (gzipped(tmp_path / "v.txt.gz", content), tmp_path / "v.txt"):
        if path.suffix == ".txt":
            path.write_bytes(content)
        with pytest.raises(CusTextError, match=r"line 5001: expected a word and 3 numbers"):
            load_embeddings(loaded_db, path, name="bad")
        assert contents(loaded_db) == before
