"""Decodes bytes that should be UTF-8; for those that are not, errors name the line and the likely encoding."""

import codecs

from custext_sql.errors import SourceError

SAMPLE = 1 << 16  # bytes at the start of a file that show whether it is in UTF-16 or UTF-32
_MARKS = {"utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}
_NAMES = {
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 without a byte order mark",
    "utf-16-be": "UTF-16 without a byte order mark",
    "utf-32": "UTF-32",
    "cp1252": "Latin-1 or Windows-1252",
    "latin-1": "Latin-1",
}
_ICONV = {"utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE", "latin-1": "LATIN1"}  # where its name is not Python's
_UNDEFINED = bytes.maketrans(b"\x81\x8d\x8f\x90\x9d", b"\0\0\0\0\0")  # bytes without a meaning in Windows-1252


def decode_utf8(content: bytes | bytearray, label: str, *, first_line: int = 1, has_option: bool = False) -> str:
    """Return bytes as text, without a byte order mark. A SourceError names the first line that is not UTF-8.

    label: what errors call the bytes. first_line: the number of their first line. has_option: whether the caller can be
    given an encoding.
    """
    start = bytes(content[:SAMPLE]) if first_line == 1 else b""
    wide = guess_wide_encoding(start)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = first_line + error.object.count(b"\n", 0, error.start)  # the object has no byte order mark any more
        where = label if wide else f"{label}, line {line}"
        guess = wide or guess_narrow_encoding(bytes(content))
        raise SourceError(f"{where}: {explain_encoding(guess, has_option=has_option)}") from None
    if wide:  # without a mark, and all in ASCII: this is also valid UTF-8, with a NUL beside each letter
        raise SourceError(f"{label}: {explain_encoding(wide, has_option=has_option)}")
    return text


def decode_lines(content: bytes | bytearray, label: str) -> list[str]:
    """Return the lines of a file, without their ends and without a byte order mark; see `decode_utf8`."""
    return [line.rstrip("\r") for line in decode_utf8(content, label).split("\n")]


def guess_wide_encoding(start: bytes) -> str | None:
    """Return Python's name for the encoding if a file starts like UTF-16 or UTF-32, else None."""
    marked = next((name for name, marks in _MARKS.items() if start.startswith(marks)), None)
    if marked is not None or b"\0" not in start:
        return marked
    pairs = len(start) // 2  # without a mark, UTF-16 has a NUL in most of them, always at the same place
    even, odd = start[0 : 2 * pairs : 2].count(0), start[1 : 2 * pairs : 2].count(0)
    if max(even, odd) < max(3, pairs // 3) or min(even, odd) > max(even, odd) // 20:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def guess_narrow_encoding(content: bytes) -> str | None:
    """Return Python's name for the likely encoding of bytes that are not UTF-8, None if that is unclear."""
    # In Western European text, bytes above 127 are much rarer than ASCII; in other scripts they are the majority
    high = len(content.translate(None, bytes(range(128))))
    if b"\0" in content or 4 * high > len(content):
        return None
    return "latin-1" if b"\0" in content.translate(_UNDEFINED) else "cp1252"


def explain_encoding(guess: str | None, *, has_option: bool = False) -> str:
    """Return what an error says about bytes that are not UTF-8, and how to read them. guess: the likely encoding."""
    looks = "" if guess is None else f"; it looks like {_NAMES[guess]}"
    if has_option and guess is not None:
        return f'not UTF-8{looks}; to read it, use --encoding {guess} (in Python: encoding="{guess}")'
    if has_option:
        return "not UTF-8; to read it, name its encoding: --encoding NAME (in Python: encoding=...)"
    example = "" if guess is None else f", for example: iconv -f {_ICONV.get(guess, guess.upper())} -t UTF-8 FILE > NEW"
    return f"not UTF-8{looks}; convert it to UTF-8 first{example}"
