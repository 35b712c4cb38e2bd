"""GloVe, word2vec and fastText text: a word and its numbers on each line, parsed by Arrow's CSV reader."""

import re
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from custext_sql.errors import SourceError
from custext_sql.vector_files.source import Batch, row_error
from custext_sql.vector_files.streams import Stream

BLOCK = 4 << 20  # bytes parsed at a time
_WORKERS = 2  # Arrow parses outside the interpreter lock while the main thread stores
_LONGEST_LINE = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_HEADER = re.compile(rb"(\d+)[ \t]+(\d+)[ \t]*\r?\n")


@dataclass(frozen=True)
class Header:
    """The first line of word2vec and fastText files."""

    words: int
    dimension: int


def find_header(head: bytes) -> Header | None:
    match = _HEADER.match(head.removeprefix(_BYTE_ORDER_MARK))
    return Header(int(match[1]), int(match[2])) if match else None


def read_text(stream: Stream, *, has_header: bool) -> Generator[Batch, None, None]:
    """Batches of a text file. Errors name the line."""
    header, number = None, 1
    if has_header:
        header = find_header(stream.peek(1 << 12))
        if header is None:
            raise row_error(stream.label, "line", 1, "expected a header of two numbers, the words and their dimension")
        number = 2
        stream.read(stream.peek(1 << 12).index(b"\n") + 1)
    parser = _Parser(stream.label, header.dimension if header else _first_dimension(stream))
    rows = 0
    for batch in parser.parse_ahead(_blocks(stream), number):
        rows += len(batch.words)
        yield batch
    if rows == 0:
        raise SourceError(f"{stream.label}: expected lines of a word and its numbers, found no rows")
    if header is not None and rows != header.words:
        raise row_error(stream.label, "line", 1, f"the header promises {header.words} words, the file has {rows}")


def _first_dimension(stream: Stream) -> int:
    size = 1 << 16
    while b"\n" not in (head := stream.peek(size)) and len(head) == size < _LONGEST_LINE:
        size *= 4
    if not head.strip():
        raise SourceError(f"{stream.label}: expected lines of a word and its numbers, found no rows")
    fields = _fields(head.removeprefix(_BYTE_ORDER_MARK).partition(b"\n")[0])
    if len(fields) < 2:
        raise row_error(
            stream.label, "line", 1, "expected a word and its numbers, separated by single spaces, found one field"
        )
    return len(fields) - 1


def _fields(line: bytes) -> list[bytes]:
    return line.removesuffix(b"\r").removesuffix(b" ").split(b" ")


def _blocks(stream: Stream) -> Iterator[bytes]:
    """Whole lines, about BLOCK bytes at a time; blank lines at the end of the file are dropped."""
    rest = b""
    first = True
    while chunk := stream.read(BLOCK):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            if len(rest) > _LONGEST_LINE:
                raise SourceError(f"{stream.label}: expected lines of text, found none in {len(rest)} bytes")
            continue
        block, rest = rest + chunk[:cut], chunk[cut:]
        if block.startswith(_BYTE_ORDER_MARK) and not first:
            block = _BYTE_ORDER_MARK + block  # Arrow drops one at the front of what it reads; this one is a word's
        first = False
        if not stream.peek(1) and not rest:
            block = block.rstrip(b"\r\n")
        yield block
    if rest.strip(b"\r\n"):
        yield rest


class _Parser:
    """Parses blocks of lines that all have one word and `dimension` numbers."""

    def __init__(self, label: str, dimension: int) -> None:
        self.label, self.dimension = label, dimension
        names = [str(column) for column in range(dimension + 1)]
        types = [pa.string()] + [pa.float32()] * dimension
        self._names = names
        self._parse_options = csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False)
        self._convert_options = csv.ConvertOptions(
            column_types=dict(zip(names, types, strict=True)), null_values=[], strings_can_be_null=False
        )

    def parse_ahead(self, blocks: Iterator[bytes], number: int) -> Generator[Batch, None, None]:
        """Batches in order, a few blocks being parsed ahead; `number` is the first line's."""
        pending: deque[Future[Batch]] = deque()
        with ThreadPoolExecutor(_WORKERS) as workers:
            try:
                for block in blocks:
                    pending.append(workers.submit(self._parse_block, block, number))
                    number += block.count(b"\n")
                    if len(pending) > _WORKERS:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()

    def _parse_block(self, block: bytes, number: int) -> Batch:
        if b" \n" in block or block.endswith(b" "):  # word2vec and fastText end their lines with a space
            block = block.replace(b" \n", b"\n").removesuffix(b" ")
        if b" \r\n" in block:
            block = block.replace(b" \r\n", b"\r\n")
        try:
            words, vectors = self._parse(block)
        except pa.ArrowInvalid:
            raise self._explain(block, number) from None
        return Batch(words, vectors, number)

    def _parse(self, block: bytes) -> tuple[list[str], npt.NDArray[np.float32]]:
        read_options = csv.ReadOptions(column_names=self._names, use_threads=False, block_size=len(block) + 1)
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=read_options,
            parse_options=self._parse_options,
            convert_options=self._convert_options,
        )
        columns = np.empty((self.dimension, table.num_rows), dtype=np.float32)
        for index in range(self.dimension):
            columns[index] = table.column(index + 1).to_numpy()
        return table.column(0).to_pylist(), np.ascontiguousarray(columns.T)

    def _explain(self, block: bytes, number: int) -> SourceError:
        """The error for the first line that Arrow rejects, found by bisection."""
        lines = block.removesuffix(b"\n").split(b"\n")
        good, bad = 0, len(lines)
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self._parse(b"\n".join(lines[good:middle]) + b"\n")
                good = middle
            except pa.ArrowInvalid:
                bad = middle
        return row_error(self.label, "line", number + good, self._fault(lines[good]))

    def _fault(self, line: bytes) -> str:
        fields = _fields(line)
        expected = f"expected a word and {self.dimension} numbers, separated by single spaces"
        if not line.strip():
            return f"{expected}, found an empty line"
        if len(fields) != self.dimension + 1:
            return f"{expected}, found {len(fields) - 1} after the word"
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return f"expected UTF-8, found an invalid byte at column {error.start + 1}"
        for column, field in enumerate(fields[1:], start=1):
            if not _NUMBER.fullmatch(field) or field.startswith(b"+"):
                return f"expected a number in field {column + 1}, found {field[:40].decode()!r}"
        return f"{expected}, found a line that does not parse"
