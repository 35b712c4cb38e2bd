"""Every format is read as it was written, and every error names the place."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql.errors import CusTextError
from custext_sql.vectors import text_files
from custext_sql.vectors.opening import open_vectors
from custext_sql.vectors.source import Batch
from tests.vector_samples import Matrix, glove_text, gzipped, word2vec_binary, word2vec_text, zipped

VECTORS = np.array([[0.5, -1.25, 3e-5], [1e10, 0.0, -0.0], [1.1, 2.2, 3.3], [7.0, 8.0, 9.0]], dtype=np.float32)
NAMES = ["the", "at\xa0name@domain.com", "null", "naïve"]


def read_all(path: Path | str, **options: str) -> tuple[list[str], Matrix]:
    with open_vectors(str(path), **options) as source:
        batches: list[Batch] = list(source.batches)
    return [word for batch in batches for word in batch.words], np.concatenate([batch.vectors for batch in batches])


def assert_read(path: Path, format: str, names: Sequence[str] = NAMES, vectors: Matrix = VECTORS) -> None:
    with open_vectors(str(path)) as source:
        assert source.format == format
    words, found = read_all(path)
    assert words == list(names)
    assert found.dtype == np.float32
    assert found.tobytes() == vectors.tobytes()


STREAMS = {
    "glove": glove_text(NAMES, VECTORS),
    "word2vec": word2vec_text(NAMES, VECTORS),
    "fasttext": word2vec_text(NAMES, VECTORS, ending="\n"),
    "word2vec-binary": word2vec_binary(NAMES, VECTORS),
}
SUFFIX = {"fasttext": ".vec", "word2vec-binary": ".bin"}


@pytest.mark.parametrize("format", STREAMS)
@pytest.mark.parametrize("packing", ["plain", "gz", "zip"])
def test_streams_are_recognized_and_read(tmp_path: Path, format: str, packing: str) -> None:
    content, name = STREAMS[format], "vectors" + SUFFIX.get(format, ".txt")
    path = tmp_path / name
    if packing == "gz":
        path = gzipped(tmp_path / f"{name}.gz", content)
    elif packing == "zip":
        path = zipped(tmp_path / "vectors.zip", {name: content})
    else:
        path.write_bytes(content)
    assert_read(path, format)


@pytest.mark.parametrize("ending", ["\n", "\r\n", " \n", " \r\n"])
def test_line_endings(tmp_path: Path, ending: str) -> None:
    for content in (glove_text(NAMES, VECTORS, ending=ending), glove_text(NAMES, VECTORS, ending=ending).rstrip()):
        path = tmp_path / "vectors.txt"
        path.write_bytes(content)
        assert_read(path, "glove")


def test_blank_lines_at_the_end_are_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.txt"
    for end in (b"\n\r\n\n", b"\r\n", b"\r", b""):
        path.write_bytes(STREAMS["word2vec"] + end)
        for size in (1, 2, 3, 5, 8, 50):
            monkeypatch.setattr(text_files, "BLOCK", size)
            assert_read(path, "word2vec")


def test_blank_lines_in_the_middle_are_named_wherever_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "v.txt").write_bytes(b"a 1\nb 2\n\r\n\nc 3\n")
    for size in range(1, 20):
        monkeypatch.setattr(text_files, "BLOCK", size)
        with pytest.raises(CusTextError, match=r"v\.txt, line 3: expected a word .*found an empty line"):
            read_all(tmp_path / "v.txt")


def test_concatenated_gzip_members_are_read_through(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    half = glove_text(NAMES[:2], VECTORS[:2])
    path.write_bytes(gzip.compress(half) + gzip.compress(glove_text(NAMES[2:], VECTORS[2:])))
    assert_read(path, "glove")


def test_words_that_look_like_syntax_are_words(tmp_path: Path) -> None:
    names = [
        '"',
        "'",
        ",",
        "#",
        "NaN",
        "null",
        "-inf",
        "\\",
        "a\\n",
        "\ufeff",
        '"a',
        "1",
        "😀",
        "\u2028",
        "\x85",
        "a\tb",
    ]
    vectors = np.arange(len(names) * 3, dtype=np.float32).reshape(-1, 3)
    path = tmp_path / "vectors.txt"
    path.write_bytes(glove_text(names, vectors))
    assert_read(path, "glove", names, vectors)


def test_words_may_begin_with_what_marks_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    for first in ("PK", "PKK", "PAR1", "\ufeffa"):
        names = [first, "b", "\ufeffc"]
        content = glove_text(names, VECTORS[:3]).removesuffix(b"\n")
        path.write_bytes(content if first[0] == "P" else b"\xef\xbb\xbf" + content)
        assert_read(path, "glove", names, VECTORS[:3])
        path.write_bytes(b"3 3\n" + content)
        assert_read(path, "word2vec", names, VECTORS[:3])


def test_short_binary_files_are_recognized(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    random = np.random.default_rng(0)
    recognized = 0
    for _ in range(60):
        path.write_bytes(word2vec_binary(["a", "b"], random.normal(size=(2, 2)).astype(np.float32)))
        with open_vectors(str(path)) as source:
            recognized += source.format == "word2vec-binary"
    assert recognized >= 56
    path.write_bytes(word2vec_binary(NAMES, VECTORS, newline=b"\n"))  # as some writers do
    assert_read(path, "word2vec-binary")
    path.write_bytes(word2vec_binary(["a", "b"], np.full((2, 50), 0.1, dtype=np.float32)))
    assert_read(path, "word2vec-binary", ["a", "b"], np.full((2, 50), 0.1, dtype=np.float32))


def test_a_control_character_in_a_word_makes_no_binary_file(tmp_path: Path) -> None:
    names = ["a\x01", *NAMES[1:]]
    (tmp_path / "vectors.txt").write_bytes(word2vec_text(names, VECTORS))
    assert_read(tmp_path / "vectors.txt", "word2vec", names)


def test_a_byte_order_mark_at_the_start_is_no_part_of_a_word(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    for format in ("glove", "word2vec"):
        path.write_bytes(b"\xef\xbb\xbf" + STREAMS[format])
        assert_read(path, format)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_blocks_of_any_size_read_alike(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    characters = st.characters(exclude_categories=["Cs"], exclude_characters=" \n\r\0")
    names = data.draw(st.lists(st.text(characters, min_size=1, max_size=6), min_size=1, max_size=20))
    if names[0].startswith("\ufeff"):
        names[0] = "first"
    dimension = data.draw(st.integers(1, 5))
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    cells = data.draw(st.lists(numbers, min_size=len(names) * dimension, max_size=len(names) * dimension))
    vectors = np.array(cells, dtype=np.float32).reshape(len(names), dimension)
    path = tmp_path_factory.mktemp("blocks") / "vectors.txt"
    path.write_bytes(glove_text(names, vectors, ending=data.draw(st.sampled_from(["\n", "\r\n", " \n"]))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "BLOCK", data.draw(st.integers(1, 200)))
        words, found = read_all(path, format="glove")
    assert words == names
    assert found.tobytes() == vectors.tobytes()


def test_a_zip_of_several_files_needs_a_member(tmp_path: Path) -> None:
    path = zipped(tmp_path / "glove.zip", {"glove.50d.txt": b"a 1\n", "glove.3d.txt": STREAMS["glove"]})
    with pytest.raises(CusTextError, match=r"name one with --member .*; found glove\.50d\.txt, glove\.3d\.txt"):
        open_vectors(str(path))
    assert read_all(path, member="glove.3d.txt")[0] == NAMES
    with pytest.raises(CusTextError, match=r"member 'other' does not exist; members: glove\.50d\.txt"):
        open_vectors(str(path), member="other")


def test_a_given_format_overrides_what_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    path.write_bytes(b"4 1\n5 2\n6 3\n")
    with open_vectors(str(path)) as source:
        assert source.format == "word2vec"
    words, vectors = read_all(path, format="glove")
    assert words == ["4", "5", "6"]
    assert vectors.tolist() == [[1.0], [2.0], [3.0]]


GOOD = glove_text(NAMES, VECTORS)
HEADED = word2vec_text(NAMES, VECTORS)
FAULTS = {
    "missing number": (GOOD + b"word 1 2\n", "line 5: expected a word and 3 numbers, .*found 2 after the word"),
    "cut in the middle": (GOOD[:-5], "line 4: expected a word and 3 numbers"),
    "no number": (GOOD + b"word 1 x2 3\n", "line 5: expected a number in field 3, found something else"),
    "empty line": (GOOD + b"\nword 1 2 3\n", "line 5: expected a word .*found an empty line"),
    "other encoding": (GOOD + b"na\xefve 1 2 3\n", "line 5: expected UTF-8, found an invalid byte at column 3"),
    "nothing": (b"", "found no lines"),
    "only words": (b"the\nand\n", "line 1: expected a word and its numbers, .*found one field"),
    "header cut off": (b"4 3", "found no lines"),
    "absurd header": (b"2 100000000\na 1 2\n", "line 2: expected 100,000,000 numbers as in the header, found 2"),
    "absurd line": (b"a" + b" 1" * 70_000 + b"\n", "line 1: expected at most 65,536 numbers, found 70,000"),
    "tabs": (b"the\t1\t2\n", "line 1: expected .*separated by single spaces; found tabs"),
    "commas": (b"the,1,2\n", "line 1: expected .*separated by single spaces; found commas"),
    "lone CR": (GOOD + b"a 1 2 3\rb 1 2 3\n", "line 5: expected line ends LF or CRLF, found CR alone"),
    "plus is no fault": (GOOD + b"a +1 2 x\n", "line 5: expected a number in field 4, found something else"),
    "too many declared": (HEADED.replace(b"4 3", b"5 3", 1), "line 1: the header declares 5 words, found 4"),
    "too few declared": (HEADED.replace(b"4 3", b"3 3", 1), "line 1: the header declares 3 words, found 4"),
    "other dimension": (HEADED.replace(b"4 3", b"4 2", 1), "line 2: expected 2 numbers as in the header, found 3"),
    "fault below header": (HEADED + b"word 1 x 3\n", "line 6: expected a number in field 3, found something else"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_text_files_name_the_line(tmp_path: Path, fault: str) -> None:
    content, message = FAULTS[fault]
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(CusTextError, match=r"^bad\.txt[,:].*" + message):
        read_all(path)


BINARY = word2vec_binary(NAMES, VECTORS)
BINARY_FAULTS = {
    "cut in the last vector": (BINARY[:-1], "word 4: the header declares 4 words of 3 numbers; the file ends here"),
    "more declared": (BINARY.replace(b"4 3", b"6 3", 1), "word 5: the header declares 6 words"),
    "fewer declared": (BINARY.replace(b"4 3", b"3 3", 1), "declares 3 words; found more data after them"),
    "none declared": (BINARY.replace(b"4 3", b"0 3", 1), "found a header that declares none"),
    "no dimension": (BINARY.replace(b"4 3", b"4 0", 1), "expected a header of two numbers"),
    "other encoding": (BINARY.replace(b"the ", b"\xff\xfe ", 1), "word 1: expected UTF-8"),
    "no header": (BINARY[4:], "expected a header"),
}


@pytest.mark.parametrize("fault", BINARY_FAULTS)
def test_faults_of_binary_files_name_the_word(tmp_path: Path, fault: str) -> None:
    content, message = BINARY_FAULTS[fault]
    (tmp_path / "bad.bin").write_bytes(content)
    with pytest.raises(CusTextError, match=r"^bad\.bin[,:].*" + message):
        read_all(tmp_path / "bad.bin", format="word2vec-binary")


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    content = glove_text([f"w{i}" for i in range(2000)], np.random.default_rng(0).random((2000, 9), dtype=np.float32))
    for path in (gzipped(tmp_path / "vectors.gz", content), zipped(tmp_path / "vectors.zip", {"v.txt": content})):
        whole = path.read_bytes()
        for broken in (whole[: len(whole) // 2], whole[:-4], whole[:5000] + b"\xff" * 40 + whole[5040:]):
            path.write_bytes(broken)
            with pytest.raises(CusTextError, match=rf"^{path.name}"):
                read_all(path)


def test_a_source_that_is_no_file_is_an_error(tmp_path: Path) -> None:
    for source, message in (
        ("nowhere.txt", "nowhere.txt does not exist"),
        (str(tmp_path), "is a folder"),
        ("/dev/zero", "is not a regular file"),
        ("", "a file without a name does not exist"),
        ("x" * 5000, "cannot read xxx.*: File name too long"),
    ):
        with pytest.raises(CusTextError, match=message):
            open_vectors(source)
    with pytest.raises(CusTextError, match="format must be one of glove"):
        open_vectors("nowhere.txt", format="gensim")
