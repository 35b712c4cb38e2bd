"""Counts words that are not replaced from the tables, by kind, in bounded memory however many there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Bytes, Flags, Numbers, Places
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.kinds import KINDS, Fate, Kind
from custext_sql.sanitizer.words import FoundWords
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_text
from custext_sql.text.characters import find_scripts
from custext_sql.text.encoded_text import EncodedText, find_distinct, join_lines, split_lines
from custext_sql.text.units import UNIT_TYPES
from custext_sql.text.word_boundaries import find_symbols, fold_word

LISTED = {  # kinds whose words are listed, and their names
    kind: kind.name.lower()
    for kind, entry in KINDS.items()
    if kind is not Kind.UNIT and entry.treatments[0].fate not in (Fate.REPLACED, Fate.KEPT)
}
UNKNOWN, OTHER_SCRIPT, NUMBER, SYMBOL = LISTED[Kind.UNKNOWN], "other script", LISTED[Kind.NUMBER], "symbol"
LEAKED_KINDS = tuple(dict.fromkeys([UNKNOWN, OTHER_SCRIPT, NUMBER, *UNIT_TYPES, *LISTED.values(), SYMBOL]))
_MOST_ROWS = 4_000_000  # rows of counts before those of equal words are added up
_LENGTHS = np.array([1] * 0xC0 + [2] * 0x20 + [3] * 0x10 + [4] * 0x10)  # bytes of a character, by its first byte


class WordCounts:
    """Counts of words by kind, in folded form. Words are in a private instance of DuckDB, which spills if need be.

    scripts: the usual ones; an unknown word without a letter of these is of the kind OTHER_SCRIPT.
    `words` is the number of all words, `by_kind` that of each Kind.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, scripts: frozenset[str]) -> None:
        self._connection, self._scripts = connection, scripts
        self._rows = 0
        self.by_kind: Numbers = np.zeros(len(Kind), dtype=np.int64)
        connection.execute("CREATE TABLE counts (kind UTINYINT, word VARCHAR, n BIGINT)")

    @property
    def words(self) -> int:
        """The number of all words, whatever their kind."""
        return int(self.by_kind.sum())

    def add(self, text: EncodedText, found: FoundWords) -> None:
        """Count the words of a block."""
        self.by_kind += np.bincount(found.kinds, minlength=len(Kind))
        for kind, name in LISTED.items():
            places = found.at(kind)
            self._add_words(text, found.starts[places], found.ends[places], name)
        if found.unit_types is not None:
            units = found.at(Kind.UNIT)
            for number in np.unique(found.unit_types).tolist():
                chosen = units[found.unit_types == number]
                self._add_spans(text.lowered, found.starts[chosen], found.ends[chosen], UNIT_TYPES[number])
        symbols = find_symbols(text, found.starts, found.ends)
        self._add_spans(text.content, symbols, symbols + _LENGTHS[text.content[symbols]], SYMBOL)

    def count(self, kind: str) -> tuple[int, int]:
        """Return how many words of a kind there are, and how many distinct ones."""
        [(count, distinct)] = self._run(
            "SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM totals WHERE kind = ?", [LEAKED_KINDS.index(kind)]
        )
        return int(count), int(distinct)

    def list_most_frequent(self, kind: str, most: int | None) -> list[tuple[str, int]]:
        """Return the most frequent words of a kind with their counts. most: how many; None: all."""
        limit = "" if most is None else f" LIMIT {most}"
        return self._run(
            f"SELECT word, n FROM totals WHERE kind = ? ORDER BY n DESC, word{limit}", [LEAKED_KINDS.index(kind)]
        )

    def write(self, path: Path, fates: dict[str, str]) -> None:
        """Write all words to a CSV file, by kind and frequency. fates: what becomes of the words of each kind."""
        rows = ", ".join(
            f"({number}, {quote_text(kind)}, {quote_text(fates[kind])}, {str(kind == SYMBOL).upper()})"
            for number, kind in enumerate(LEAKED_KINDS)
        )
        share = f"CASE WHEN is_symbol THEN NULL ELSE n / {max(1, self.words)} END"
        query = (
            f"SELECT word, name AS kind, n AS count, {share} AS share, fate AS becomes FROM totals JOIN "
            f"(VALUES {rows}) AS known (kind, name, fate, is_symbol) USING (kind) ORDER BY totals.kind, n DESC, word"
        )
        copy = f"COPY ({query}) TO {quote_text(str(path))} ({choose_copy_options('csv')})"
        with safe_errors():
            assert self._totals
            fetch(self._connection, copy, writes=path)

    def _add_words(self, text: EncodedText, starts: Places, ends: Places, kind: str) -> None:
        if not len(starts):
            return
        spans = find_distinct(text.lowered, starts, ends)
        content, offsets, counts = spans.content, spans.offsets, np.bincount(spans.numbers)
        if content.max(initial=0) >= 0x80:  # ASCII letters are in lower case already
            folded, offsets = split_lines(fold_word(join_lines(content, offsets[:-1], offsets[1:])))
            content = folded.content
        words = pa.LargeStringArray.from_buffers(len(counts), pa.py_buffer(offsets), pa.py_buffer(content))
        foreign = self._find_foreign(words, offsets) if kind == UNKNOWN else np.zeros(len(counts), dtype=bool)
        names = np.where(foreign, LEAKED_KINDS.index(OTHER_SCRIPT), LEAKED_KINDS.index(kind))
        self._insert(names, words, counts)

    def _add_spans(self, content: Bytes, starts: Places, ends: Places, kind: str) -> None:
        if len(starts):
            spans = find_distinct(content, starts, ends)
            buffers = pa.py_buffer(spans.offsets), pa.py_buffer(spans.content)
            counts = np.bincount(spans.numbers)
            self._insert(
                np.full(len(counts), LEAKED_KINDS.index(kind)),
                pa.LargeStringArray.from_buffers(len(counts), *buffers),
                counts,
            )

    def _find_foreign(self, words: pa.LargeStringArray, offsets: Places) -> Flags:
        """Return which words have letters, but none of a usual script."""
        found = np.zeros(len(words), dtype=bool)
        bytes_ = np.frombuffer(words.buffers()[2] or b"", dtype=np.uint8)
        before = np.append(0, np.cumsum(bytes_ >= 0x80))
        wide = (before[offsets[1:]] > before[offsets[:-1]]).nonzero()[0]
        places = wide if "LATIN" in self._scripts else np.arange(len(words))
        for place in places.tolist():
            scripts = find_scripts(words[place].as_py())
            found[place] = bool(scripts) and not scripts & self._scripts
        return found

    def _insert(self, kinds: Places, words: pa.Array, counts: Numbers) -> None:
        columns = [pa.array(kinds.astype(np.uint8)), words, pa.array(counts.astype(np.int64))]
        self._connection.from_arrow(pa.table(columns, names=["kind", "word", "n"])).insert_into("counts")
        self._rows += len(counts)
        if self._rows > _MOST_ROWS:
            self._connection.execute(f"CREATE TABLE added AS {_TOTALS}; DROP TABLE counts")
            self._connection.execute("ALTER TABLE added RENAME TO counts")
            self._rows = 0

    @cached_property
    def _totals(self) -> str:
        """The table of totals, which is made when the first one is asked for; nothing may be added afterwards."""
        self._connection.execute(f"CREATE TABLE totals AS {_TOTALS}; DROP TABLE counts")
        return "totals"

    def _run(self, query: str, values: list[object] | None = None) -> list[tuple[str, int]]:
        with safe_errors():
            assert self._totals
            return self._connection.execute(query, values or []).fetchall()


_TOTALS = "SELECT kind, word, sum(n)::BIGINT AS n FROM counts GROUP BY kind, word"


@contextmanager
def counting_words(scripts: frozenset[str]) -> Iterator[WordCounts]:
    """Yield empty counts; what they hold is deleted at the end."""
    with open_instance() as connection, safe_errors():
        yield WordCounts(connection, scripts)
