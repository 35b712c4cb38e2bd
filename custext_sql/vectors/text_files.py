"""Reads GloVe, word2vec and fastText text files: one word and its numbers per line, parsed by Arrow's CSV reader."""

import os
import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from custext_sql.arrays import Points
from custext_sql.errors import SourceError
from custext_sql.parameters import count_of
from custext_sql.text.word_boundaries import fold_word
from custext_sql.vectors.source import Batch, Stream, read_all_lines

BLOCK = 4 << 20  # bytes parsed at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WORKERS = 2  # Arrow parses without the interpreter lock while the main thread stores
_LONGEST_LINE = 64 << 20
_LARGEST_DIMENSION = 1 << 16
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?(?:\n|\Z)")


@dataclass(frozen=True)
class Header:
    """The first line of word2vec and fastText files."""

    words: int
    dimension: int
    length: int  # in bytes, with the line end


def find_header(head: bytes) -> Header | None:
    """Return the header at the start of these bytes, or None."""
    match = _HEADER.match(head)
    return Header(int(match[1]), int(match[2]), match.end()) if match else None


def read_vocabulary(vocabulary: str | os.PathLike[str] | Iterable[str]) -> frozenset[str]:
    """Return the words of a vocabulary in lower case. From a file, take the first field of each line."""
    if not isinstance(vocabulary, str | os.PathLike):
        return frozenset(map(fold_word, vocabulary))
    label, lines = read_all_lines(Path(vocabulary))
    if find_header(lines[0].encode()) and any(len(line.split()) > 2 for line in lines[1:2]):
        del lines[0]  # the header of a word2vec or fastText file
    words = frozenset(fold_word(line.partition(" ")[0].partition("\t")[0]) for line in lines) - {""}
    if not words:
        raise SourceError(f"{label}: expected one word per line; found no words")
    return words


def skip_byte_order_mark(stream: Stream) -> None:
    """Consume the byte order mark at the start of a stream, if there is one."""
    if stream.peek(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
        stream.read(len(BYTE_ORDER_MARK))


def read_text(stream: Stream, *, has_header: bool) -> Generator[Batch, None, None]:
    """Yield the batches of a text file. Errors name the line."""
    header, number = None, 1
    if has_header:
        header, number = find_header(stream.peek(1 << 12)), 2
        if header is None:
            raise stream.line_error(1, "expected a header of two numbers, the word count and the dimension")
        stream.read(header.length)
    dimension = _first_dimension(stream, number)
    if header is not None and header.dimension != dimension:
        expected = count_of(header.dimension, "number")
        raise stream.line_error(number, f"expected {expected} as in the header, found {dimension}")
    rows = 0
    for batch in _Parser(stream, dimension).parse_ahead(_blocks(stream), number):
        rows += len(batch.words)
        yield batch
    if header is not None and rows != header.words:
        raise stream.line_error(1, f"the header declares {count_of(header.words, 'word')}, found {rows:,}")


def _first_dimension(stream: Stream, number: int) -> int:
    """Return how many numbers the next line has."""
    size = 1 << 16
    while b"\n" not in (head := stream.peek(size)) and len(head) == size < _LONGEST_LINE:
        size *= 4
    if not head.strip():
        raise SourceError(f"{stream.label}: expected lines of a word and its numbers; found no lines")
    line = head.partition(b"\n")[0]
    dimension = len(_fields(line)) - 1
    if dimension < 1:
        found = "tabs" if b"\t" in line else "commas" if b"," in line else "one field"
        raise stream.line_error(number, f"expected a word and its numbers, separated by single spaces; found {found}")
    if dimension > _LARGEST_DIMENSION:
        raise stream.line_error(number, f"expected at most {_LARGEST_DIMENSION:,} numbers, found {dimension:,}")
    return dimension


def _fields(line: bytes) -> list[bytes]:
    return line.removesuffix(b"\r").removesuffix(b" ").split(b" ")


def _blocks(stream: Stream) -> Iterator[bytes]:
    """Yield whole lines, about BLOCK bytes at a time, ended by \\n; drop blank lines at the end of the file."""
    rest, blank = b"", b""
    while chunk := stream.read(BLOCK):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            if len(rest) > _LONGEST_LINE:
                raise SourceError(
                    f"{stream.label}: expected lines of text; found a line of more than {_LONGEST_LINE:,} bytes"
                )
            continue
        block, rest = blank + _unix_lines(rest + chunk[:cut]), chunk[cut:]
        lines = block.rstrip(b"\n")
        blank = block[len(lines) + 1 :]  # the next block decides whether they end the file
        if lines:
            yield lines + b"\n"
        else:
            blank = block
    last = _unix_lines(rest + b"\n").rstrip(b"\n")
    if last:
        yield blank + last + b"\n"


def _unix_lines(block: bytes) -> bytes:
    """Return a block without the spaces and carriage returns that some writers put before the line end."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    return block.replace(b" \n", b"\n") if b" \n" in block else block


class _Parser:
    """A parser of blocks of lines that each have one word and `dimension` numbers."""

    def __init__(self, stream: Stream, dimension: int) -> None:
        self._stream, self.dimension = stream, dimension
        self._names = [str(column) for column in range(dimension + 1)]
        types = [pa.string()] + [pa.float32()] * dimension
        self._parse_options = csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False)
        self._convert_options = csv.ConvertOptions(
            column_types=dict(zip(self._names, types, strict=True)), null_values=[], strings_can_be_null=False
        )

    def parse_ahead(self, blocks: Iterator[bytes], number: int) -> Iterator[Batch]:
        """Yield batches in order while a few more blocks are parsed. number: that of the first line."""
        pending: deque[Future[Batch]] = deque()
        with ThreadPoolExecutor(_WORKERS) as workers:
            try:
                for block in blocks:
                    pending.append(workers.submit(self._parse_block, block, number))
                    number += block.count(b"\n")
                    if len(pending) > _WORKERS:
                        yield pending.popleft().result()
            except SourceError:
                for future in pending:  # report an error in an earlier line first
                    future.result()
                raise
            while pending:
                yield pending.popleft().result()

    def _parse_block(self, block: bytes, number: int) -> Batch:
        stray = block.find(b"\r")
        if stray >= 0:
            line = number + block.count(b"\n", 0, stray)
            raise self._stream.line_error(line, "expected line ends LF or CRLF, found CR alone")
        try:
            words, vectors = self._parse(block)
        except pa.ArrowInvalid:
            raise self._explain(block, number) from None
        return Batch(words, vectors, number)

    def _parse(self, block: bytes) -> tuple[list[str], Points]:
        if block.startswith(BYTE_ORDER_MARK):  # it belongs to a word, but Arrow drops one at the start of its input
            block = BYTE_ORDER_MARK + block
        read_options = csv.ReadOptions(column_names=self._names, use_threads=False, block_size=len(block) + 1)
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=read_options,
            parse_options=self._parse_options,
            convert_options=self._convert_options,
        )
        columns = np.array([column.to_numpy() for column in table.columns[1:]])
        return table.column(0).to_pylist(), np.ascontiguousarray(columns.T)

    def _explain(self, block: bytes, number: int) -> SourceError:
        """Return the error for the first line that Arrow rejects, found by bisection."""
        lines = block.removesuffix(b"\n").split(b"\n")
        good, bad = 0, len(lines)
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self._parse(b"\n".join(lines[good:middle]) + b"\n")
                good = middle
            except pa.ArrowInvalid:
                bad = middle
        return self._stream.line_error(number + good, self._fault(lines[good]))

    def _fault(self, line: bytes) -> str:
        fields = _fields(line)
        expected = f"expected a word and {count_of(self.dimension, 'number')}, separated by single spaces"
        if not line.strip():
            return f"{expected}, found an empty line"
        if len(fields) != self.dimension + 1:
            return f"{expected}, found {len(fields) - 1} after the word"
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return f"expected UTF-8, found an invalid byte at column {error.start + 1}"
        for column, field in enumerate(fields[1:], start=2):
            if not _NUMBER.fullmatch(field.decode()):
                return f"expected a number in field {column}, found something else"
        return f"{expected}, found a line that does not parse"
