"""Bytes that are not UTF-8 are refused, and the error names the line."""

import pytest

from custext_sql.errors import SourceError
from custext_sql.text.utf8 import (
    decode_lines,
    decode_utf8,
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


@pytest.mark.parametrize(
    "content", [b"", b"a", b"\0", b"a\0", b"a\0b\0\0", b"a b\0c d e f g\n" * 9, "é\0日\n".encode() * 9]
)
def test_a_few_nuls_are_no_encoding(content: bytes) -> None:
    assert guess_wide_encoding(content) is None
    assert decode_utf8(content, "x") == content.decode()
