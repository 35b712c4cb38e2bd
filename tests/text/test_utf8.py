"""Bytes that are not UTF-8 are refused, and the error names the line."""

import pytest

from custext_sql.errors import SourceError
from custext_sql.text.utf8 import (
    SAMPLE,
    decode_lines,
    decode_utf8,
    explain_encoding,
    guess_narrow_encoding,
    guess_wide_encoding,
)

MARK = b"\xef\xbb\xbf"  # a byte order mark


@pytest.mark.parametrize("mark", [b"", MARK])
@pytest.mark.parametrize(
    ("lines", "wrong"), [([b"\xe9"], 1), ([b"a", b"\xe9"], 2), ([b"a\r", b"", b"b\xe9", b"\xe9"], 3)]
)
def test_the_first_wrong_line_is_named(mark: bytes, lines: list[bytes], wrong: int) -> None:
    content = mark + b"\n".join(lines)
    with pytest.raises(SourceError, match=f"^x, line {wrong}: not UTF-8; .*convert it to UTF-8 first"):
        decode_utf8(content, "x")
    with pytest.raises(SourceError, match=f"^x, line {wrong + 41}: "):
        decode_utf8(content, "x", first_line=42)


def test_lines_come_without_their_ends_and_marks() -> None:
    assert decode_lines(MARK + "naïve\r\nb\n\nc".encode(), "x") == ["naïve", "b", "", "c"]
    assert decode_utf8(bytearray(b"a\r\nb"), "x") == "a\r\nb"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_recognized(encoding: str) -> None:
    for text in ("a,b\n1,2\n", "the doctor went home\n" * 5000, "日本, x\n y\n z\n"):
        assert guess_wide_encoding(text.encode(encoding)[:SAMPLE]) == encoding
    with pytest.raises(SourceError, match="^x: not UTF-8; it looks like UTF-(16|32).*iconv -f UTF-(16|32)"):
        decode_utf8("a,b\n1,2\n".encode(encoding), "x")


@pytest.mark.parametrize(
    "content", [b"", b"a", b"\0", b"a\0", b"a\0b\0\0", b"a b\0c d e f g\n" * 9, "é\0日\n".encode() * 9]
)
def test_a_few_nuls_are_no_encoding(content: bytes) -> None:
    assert guess_wide_encoding(content) is None
    assert decode_utf8(content, "x") == content.decode()


def test_western_texts_are_told_from_others() -> None:
    assert guess_narrow_encoding("a café in town".encode("latin-1")) == "cp1252"
    assert guess_narrow_encoding("“a” café in town".encode("cp1252")) == "cp1252"
    assert guess_narrow_encoding(b"a caf\xe9 in \x81 town") == "latin-1"
    assert guess_narrow_encoding("привет, мир".encode("cp1251")) is None
    assert guess_narrow_encoding("日本語".encode("shift_jis")) is None
    assert explain_encoding("cp1252", has_option=True) == (
        "not UTF-8; it looks like Latin-1 or Windows-1252; to read it, use --encoding cp1252 "
        '(in Python: encoding="cp1252")'
    )
