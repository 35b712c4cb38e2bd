"""Reads a file of public words that a policy keeps."""

import os
from pathlib import Path

from custext_sql.errors import SourceError
from custext_sql.parameters import check_path
from custext_sql.text.utf8 import decode_lines
from custext_sql.text.word_boundaries import are_words

_LARGEST = 1 << 20  # bytes


def read_keep_words(path: str | os.PathLike[str]) -> list[str]:
    """Return the words in a file of one word per line, for `Policy(keep_words=...)`. Empty lines are skipped.

    SourceError if the file cannot be read, is larger than 1 MB, or a line is not a single word.
    """
    check_path(path, "the file of words to keep")
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise SourceError(f"cannot read {str(path)!r}: {reason}") from None
    if len(content) > _LARGEST:
        raise SourceError(f"{path}: expected a short list of words, one per line; found more than 1 MB")
    lines = [line.strip() for line in decode_lines(content, str(path))] if content.strip() else []
    if not any(lines):
        raise SourceError(f"{path}: expected one word per line; found none")
    for number, (line, is_word) in enumerate(zip(lines, are_words(lines), strict=True), start=1):
        if line and not is_word:
            raise SourceError(f"{path}, line {number}: expected a single word; found something else")
    return [line for line in lines if line]
