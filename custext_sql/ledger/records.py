"""Counts what a key has spent on each record of a dataset, from digests that the ledger keeps. Loads SQLAlchemy.

What a record has spent is the sum over its distinct texts, in whichever column they were; a text that was released
before gets the same draws again and costs nothing. The digests of a release go into the ledger in small transactions,
since there may be hundreds of megabytes of them. They count from the moment at which its entry is made: the row of the
key then names them, as a part. If another release by the same key came in between, they are counted again.
"""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from custext_sql.arrays import Flags, Hashes, Numbers
from custext_sql.errors import DatabaseError
from custext_sql.ledger.entries import new_id, now
from custext_sql.ledger.places import LedgerFile
from custext_sql.ledger.schema import keyed, records
from custext_sql.sanitizer.tally import DRAWN, PREFIXES, Drawn, RecordLog, find_prefixes, no_draws

MOST_PARTS = 32  # parts that are kept apart; more of them are joined
ROW_SIZE = 1 << 16  # draws in a row of the table, unless there are fewer
_LEFT = timedelta(days=1)  # after this time, digests that do not count were left by a killed process


class SpentRecords:
    """What the draws of a release add to what its key has spent on the records of its dataset.

    scope: the key and the dataset. eps: of each word. `largest` is then what the key has spent on one record.
    """

    def __init__(self, place: LedgerFile, scope: tuple[str, str], log: RecordLog, eps: Decimal) -> None:
        self._place, self._log, self._eps = place, log, eps
        self._part = new_id()  # not that of the release: one without a defined end may add several
        self._key_id, self._dataset = scope
        self._is_scope: ColumnElement[bool] = and_(keyed.c.key_id == self._key_id, keyed.c.dataset == self._dataset)
        self.largest = Decimal()

    def measure(self) -> None:
        """Count the records, and write the digests that are new."""
        with self._place.writing() as connection:
            self._version, before, parts = self._read_scope(connection)
            connection.execute(delete(records).where(records.c.part == self._part))
        self._rows = 0
        self._joins = len(parts) >= MOST_PARTS
        known, most = _KnownDraws(self._place, parts), 0
        waiting: list[Drawn] = []
        low = 0
        for prefix in range(PREFIXES):
            new = self._log.read(prefix)
            if len(new) or self._joins:
                largest, rest = _merge(known.read(prefix), new, keep_all=self._joins)
                most = max(most, largest)
                low = low if waiting else prefix
                waiting += [rest] if len(rest) else []
            if waiting and (sum(map(len, waiting)) >= ROW_SIZE or prefix == PREFIXES - 1):
                self._write(np.concatenate(waiting), low, prefix)
                waiting = []
        self.largest = max(before, self._eps * most)

    def enter(self, connection: Connection) -> bool:
        """Make the digests count, in the transaction of the entry; False if another release came in between."""
        version, _, earlier = self._read_scope(connection)
        rows = connection.execute(select(func.count()).where(records.c.part == self._part)).scalar_one()
        if version != self._version or rows != self._rows:
            return False  # another process may also have taken the digests for those of a killed one
        parts = [self._part] if self._joins else [*earlier, self._part]
        values = {"version": version + 1, "largest_row_eps": self.largest, "parts": parts}
        if version:
            connection.execute(update(keyed).where(self._is_scope).values(values))
        else:
            connection.execute(insert(keyed).values(key_id=self._key_id, dataset=self._dataset, **values))
        if self._joins:
            connection.execute(delete(records).where(records.c.part.in_(earlier)))
        counted = {part for (of_key,) in connection.execute(select(keyed.c.parts)) for part in of_key}
        was_left = records.c.written_at < now() - _LEFT
        connection.execute(delete(records).where(was_left, records.c.part.not_in(counted)))
        return True

    def forget(self) -> None:
        """Delete the digests, since the release is not made."""
        with suppress(DatabaseError), self._place.writing() as connection:  # if not now, they are deleted in a day
            connection.execute(delete(records).where(records.c.part == self._part))

    def _write(self, draws: Drawn, low: int, high: int) -> None:
        row = {"part": self._part, "low": low, "high": high, "written_at": now()}
        with self._place.writing() as connection:
            connection.execute(insert(records).values(drawn=draws.tobytes(), **row))
        self._rows += 1

    def _read_scope(self, connection: Connection) -> tuple[int, Decimal, list[str]]:
        """Return how often what the key has spent on the dataset changed, the most on one record, and the parts."""
        columns = select(keyed.c.version, keyed.c.largest_row_eps, keyed.c.parts)
        row = connection.execute(columns.where(self._is_scope)).first()
        return (0, Decimal(), []) if row is None else (row.version, row.largest_row_eps, row.parts)


class _KnownDraws:
    """The draws of earlier releases, read by prefix in ascending order; small parts stay in memory meanwhile."""

    def __init__(self, place: LedgerFile, parts: list[str]) -> None:
        self._place = place
        self._closed: list[tuple[int, int, int]] = []  # low, high and number of rows that are yet to be read
        self._open: list[tuple[int, Drawn, Numbers]] = []  # the last prefix of each row, its draws, and their places
        if parts:
            rows = select(records.c.low, records.c.high, records.c.number).where(records.c.part.in_(parts))
            with place.reading() as connection:
                assert connection is not None  # the parts are in it
                self._closed = sorted((low, high, number) for low, high, number in connection.execute(rows))

    def read(self, prefix: int) -> Drawn:
        """Return the draws with a prefix."""
        self._open = [row for row in self._open if row[0] >= prefix]
        opened = [row for row in self._closed if row[0] <= prefix]
        self._closed = self._closed[len(opened) :]
        if any(high >= prefix for _, high, _ in opened):
            with self._place.reading() as connection:
                assert connection is not None
                for _, high, number in opened:
                    content = connection.execute(select(records.c.drawn).where(records.c.number == number)).scalar()
                    if content is not None and high >= prefix:  # None: joined in between, so all is counted again
                        draws = np.frombuffer(content, dtype=DRAWN)
                        self._open.append((high, draws, find_prefixes(draws)))
        found = (draws[places[prefix] : places[prefix + 1]] for _, draws, places in self._open)
        return np.concatenate([no_draws(), *found])


def _merge(known: Drawn, new: Drawn, *, keep_all: bool) -> tuple[int, Drawn]:
    """Return the most words drawn for a record of the new draws, and the new draws that were not known.

    keep_all: return all draws instead, each once.
    """
    if not keep_all:
        known = known[np.isin(known["record"], new["record"], kind="sort")]  # NumPy 2.0 fails on large ones otherwise
    both = np.concatenate([known, new])
    is_new = np.arange(len(both)) >= len(known)
    order = np.lexsort((is_new, both["text"], both["record"]))
    both, is_new = both[order], is_new[order]
    first_of_record = _find_changes(both["record"])
    first_of_text = first_of_record | _find_changes(both["text"])
    words = np.where(first_of_text, both["words"], 0).astype(np.int64)
    starts = first_of_record.nonzero()[0]
    most = int(np.add.reduceat(words, starts).max()) if len(starts) else 0
    return most, both[first_of_text if keep_all else first_of_text & is_new]


def _find_changes(values: Hashes) -> Flags:
    """Return which values differ from the one before them."""
    changes = np.ones(len(values), dtype=bool)
    changes[1:] = values[1:] != values[:-1]
    return changes
