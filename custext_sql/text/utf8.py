"""Bytes that must be UTF-8; errors name the line."""

from custext_sql.errors import SourceError


def decode_utf8(content: bytes | bytearray, label: str, *, first_line: int = 1) -> str:
    """Return bytes as text, without a byte order mark. label: what errors call them; first_line: its number.

    A SourceError names the first line that is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = first_line + error.object.count(b"\n", 0, error.start)  # the object has no byte order mark any more
        raise SourceError(f"{label}, line {line}: expected UTF-8, found other bytes") from None


def decode_lines(content: bytes | bytearray, label: str) -> list[str]:
    """Return the lines of a file, without their ends and without a byte order mark; see `decode_utf8`."""
    return [line.rstrip("\r") for line in decode_utf8(content, label).split("\n")]
