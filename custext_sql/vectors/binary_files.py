"""Reads word2vec's binary format: a header, then for each word its bytes, a space, and float32 values."""

from collections.abc import Generator

import numpy as np

from custext_sql.errors import SourceError
from custext_sql.parameters import count_of
from custext_sql.vectors.source import Batch, row_error
from custext_sql.vectors.streams import Stream
from custext_sql.vectors.text_files import find_header

_BLOCK = 4 << 20
_LONGEST_WORD = 1 << 16


def read_binary(stream: Stream) -> Generator[Batch, None, None]:
    """Yield the batches of a word2vec binary file. Errors give the number of the word."""
    header = find_header(stream.peek(1 << 12))
    if header is None or header.dimension < 1:
        raise SourceError(f"{stream.label}: expected a header of two numbers, the word count and the dimension")
    stream.read(header.length)
    if header.words == 0:
        raise SourceError(f"{stream.label}: expected words; found a header that declares none")
    done, rest = 0, b""
    while done < header.words:
        chunk = stream.read(_BLOCK)
        buffer = rest + chunk
        words, values, end = _split(buffer, header.words - done, 4 * header.dimension)
        if words:
            yield _batch(stream.label, words, values, header.dimension, done + 1)
        done, rest = done + len(words), buffer[end:]
        if done < header.words and not chunk:
            expected = f"{count_of(header.words, 'word')} of {count_of(header.dimension, 'number')}"
            raise row_error(stream.label, "word", done + 1, f"the header declares {expected}; the file ends here")
        if len(rest) > _LONGEST_WORD + 4 * header.dimension and b" " not in rest[:_LONGEST_WORD]:
            raise row_error(stream.label, "word", done + 1, "expected a word that ends with a space")
    if (rest + stream.read(16)).strip(b"\r\n"):
        raise SourceError(
            f"{stream.label}: the header declares {count_of(header.words, 'word')}; found more data after them"
        )


def _split(buffer: bytes, count: int, width: int) -> tuple[list[bytes], list[bytes], int]:
    """Return up to `count` whole records, as words and value bytes, and where the last one ends."""
    words: list[bytes] = []
    values: list[bytes] = []
    position = 0
    while len(words) < count:
        space = buffer.find(b" ", position)
        end = space + 1 + width
        if space < 0 or end > len(buffer):
            break
        words.append(buffer[position:space])
        values.append(buffer[space + 1 : end])
        position = end
    return words, values, position


def _batch(label: str, words: list[bytes], values: list[bytes], dimension: int, first: int) -> Batch:
    vectors = np.frombuffer(b"".join(values), dtype="<f4").reshape(len(words), dimension).astype(np.float32, copy=False)
    decoded = []
    for index, word in enumerate(words):
        try:
            decoded.append(word.lstrip(b"\n").decode())  # some writers end each record with a newline
        except UnicodeDecodeError:
            raise row_error(label, "word", first + index, "expected UTF-8, found other bytes") from None
    return Batch(decoded, vectors, first)
