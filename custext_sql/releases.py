"""A release from files or a table, end to end: checked beforehand, counted, written whole, entered in the ledger."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from custext_sql import ledger
from custext_sql.database import Database, when_free
from custext_sql.drafts import draft_of
from custext_sql.errors import BudgetError, CusTextError, DatabaseError, OutputError, SettingError, SourceError
from custext_sql.files import (
    Source,
    choose_reader,
    identifier,
    list_files,
    open_files,
    quote,
    read_record,
    write_options,
)
from custext_sql.lines import find_spending, open_lines, read_lines, sanitize_lines
from custext_sql.mechanism import check_epsilon
from custext_sql.queries import choose_options, fetch, open_data, write_result
from custext_sql.query_errors import safe_errors
from custext_sql.receipt import Receipt, Tally
from custext_sql.row_functions import RELEASE, SPEND, RowFunctions
from custext_sql.sanitizer import Sanitizer
from custext_sql.sql_functions import Usage, watch
from custext_sql.text_columns import open_column

MEMORY = "400MB"  # that DuckDB may use; what does not fit is spilled beside the output

Progress = Callable[[float, int, int], None]  # the share done, rows and words so far


@dataclass(frozen=True)
class Settings:
    """How texts are released. max_row_eps, budget_total: what a row may spend in this release, and in all of them."""

    sanitizer: Sanitizer
    eps: float
    plus: bool
    columns: Sequence[str]
    record_column: str | None = None
    max_row_eps: float | None = None
    budget_total: float | None = None

    @property
    def limits_rows(self) -> bool:
        return self.max_row_eps is not None or self.budget_total is not None

    def check(self) -> None:
        """Refuse what cannot be, before anything is read."""
        check_epsilon(self.eps)
        for name, limit in (("--max-row-eps", self.max_row_eps), ("--budget-total", self.budget_total)):
            if limit is not None and not 0 < limit < math.inf:
                raise SettingError(f"{name} must be greater than 0 and finite; found {limit:g}")
        if self.sanitizer.key is not None:
            self.sanitizer.key.check_setting("eps", self.eps)
            self.sanitizer.key.check_setting("plus", self.plus)


@dataclass(frozen=True)
class Outcome:
    """What came of a release. note: what the user should know of the ledger, if something went wrong with it."""

    rows: int
    receipt: Receipt
    note: str | None = None


class Entry:
    """A release in the ledger: pending before its output appears, complete when it is there."""

    def __init__(self, database: Database, settings: Settings, dataset: str, *, beside: Path | None) -> None:
        sanitizer = settings.sanitizer
        self._database = database
        self._budget_total = settings.budget_total
        self._beside = beside
        self.note: str | None = None
        self.release = ledger.new_release(
            dataset=dataset,
            text_columns=", ".join(settings.columns),
            mapping=sanitizer.mapping.info.name,
            fingerprint=sanitizer.mapping.info.fingerprint,
            eps=settings.eps,
            plus=settings.plus,
            policy=ledger.describe_policy(sanitizer.policy),
            calibration=sanitizer.calibration,
            draws=sanitizer.draws,
            key_id=None if sanitizer.key is None else sanitizer.key.key.name,
            record_column=settings.record_column,
        )

    def use(self, usage: Usage) -> None:
        """Say what a query called the functions with."""
        plus = next(iter(usage.plus)) if len(usage.plus) == 1 else None
        self.release = replace(self.release, plus=plus, eps=max(usage.epsilons, default=None))

    def check(self, largest_row_eps: float) -> None:
        """Refuse early what the budget does not allow; `begin` decides."""
        if self._budget_total is not None:
            release = replace(self.release, largest_row_eps=largest_row_eps)
            ledger.check_budget(ledger.list_releases(self._database), release, self._budget_total)

    def begin(self, receipt: Receipt | None = None) -> None:
        if receipt is not None:
            self.release = self.release.with_counts(receipt)
        try:
            ledger.begin(self._database, self.release, budget_total=self._budget_total)
        except DatabaseError as error:
            if self._budget_total is not None:
                raise
            self._write_beside(error)

    def complete(self, receipt: Receipt) -> None:
        self.release = ledger.finish(self.release.with_counts(receipt))
        if self.note is not None:
            self._write_receipt()
            return
        try:
            ledger.update(self._database, self.release)
        except DatabaseError as error:
            self._write_beside(error)

    def break_off(self, receipt: Receipt) -> None:
        """Enter what was released so far, though not all of it was."""
        self.release = self.release.with_counts(receipt)
        if self.note is None:
            with suppress(DatabaseError):
                ledger.update(self._database, self.release)

    def withdraw(self) -> None:
        if self.note is None:
            ledger.withdraw(self._database, self.release)

    def _write_beside(self, error: CusTextError) -> None:
        """The ledger cannot be written: leave the receipt where the output is."""
        self.note = f"the ledger was not written: {error}"
        if self._beside is not None:
            self._write_receipt()
            self.note += f"; the receipt is in {self._beside}"

    def _write_receipt(self) -> None:
        if self._beside is not None:
            self._beside.write_text(ledger.to_json(self.release), encoding="utf-8")


@contextmanager
def open_instance(data: Path | None = None, *, spill: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB within bounded memory, alone or on a file that it may write."""
    config: dict[str, Any] = {"memory_limit": MEMORY, "autoinstall_known_extensions": False}
    if spill is not None:
        config["temp_directory"] = str(spill)
    with safe_errors():
        if data is None:
            connection = duckdb.connect(config=config)
        else:
            connection = when_free(data, lambda: duckdb.connect(data, config=config))
    try:
        yield connection
    finally:
        connection.close()


def release_to_file(
    open_source: Callable[[duckdb.DuckDBPyConnection], Source],
    target: Path,
    target_format: str,
    settings: Settings,
    database: Database,
    dataset: str,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Sanitize columns of files, into a new file."""
    entry = Entry(database, settings, dataset, beside=_receipt_beside(target))
    with draft_of(target, force=force) as draft:
        with open_instance(spill=draft.spill) as connection:
            source = open_source(connection)
            options = write_options(target, target_format, source)
            query, tally = prepare(connection, source, target_format, settings, entry)
            rows = _run(connection, f"COPY ({query}) TO {quote(str(draft.path))} ({options})", tally, progress)
        receipt = settings.sanitizer.receipt(tally, settings.eps)
        _publish(draft.publish, entry, receipt)
    return Outcome(rows, receipt, entry.note)


def release_to_table(
    data: Path,
    open_source: Callable[[duckdb.DuckDBPyConnection], Source],
    table: str,
    settings: Settings,
    database: Database,
    dataset: str,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Sanitize columns of a table, into a new table of the same DuckDB file, within one transaction."""
    entry = Entry(database, settings, dataset, beside=data.with_name(f"{data.name}.{table}.receipt.json"))
    create = "CREATE OR REPLACE TABLE" if force else "CREATE TABLE"
    with open_instance(data) as connection:
        source = open_source(connection)
        _check_new_table(connection, source, table, force=force)
        query, tally = prepare(connection, source, "table", settings, entry)
        connection.execute("BEGIN")
        rows = _run(connection, f"{create} {identifier(table)} AS {query}", tally, progress)
        receipt = settings.sanitizer.receipt(tally, settings.eps)
        with safe_errors():
            _publish(lambda: connection.execute("COMMIT"), entry, receipt)
    return Outcome(rows, receipt, entry.note)


def release_lines(
    files: Sequence[Path],
    target: Path,
    settings: Settings,
    database: Database,
    dataset: str,
    *,
    name: str,
    force: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Sanitize the lines of files, into a new file."""
    entry = Entry(database, settings, dataset, beside=_receipt_beside(target))
    with draft_of(target, force=force) as draft:
        _check_lines(files, settings, entry, name)
        tally, size, done = Tally(), sum(file.stat().st_size for file in files), 0
        with open_lines(draft.path, "wb", zipped=target.suffix.lower() == ".gz") as written:
            for file in files:
                with _open_text(file) as lines:
                    told = progress and partial(_tell_lines, progress, tally, lines, done, size)
                    _sanitize(lines, written, settings, name, tally, told)
                done += file.stat().st_size
        receipt = settings.sanitizer.receipt(tally, settings.eps)
        _publish(draft.publish, entry, receipt)
    return Outcome(tally.rows, receipt, entry.note)


def release_stream(source: BinaryIO, target: BinaryIO, settings: Settings, database: Database, dataset: str) -> Outcome:
    """Sanitize lines as they come. The ledger knows of it from the beginning, and its counts in the end."""
    entry = Entry(database, settings, dataset, beside=None)
    _check_lines([], settings, entry, "standard input")
    tally = Tally()
    entry.begin()
    try:
        _sanitize(source, target, settings, "standard input", tally, None)
        target.flush()
    except BaseException:
        entry.break_off(settings.sanitizer.receipt(tally, settings.eps))
        raise
    receipt = settings.sanitizer.receipt(tally, settings.eps)
    entry.complete(receipt)
    return Outcome(tally.rows, receipt, entry.note)


def release_text(text: str, settings: Settings, database: Database, dataset: str) -> tuple[str, Outcome]:
    """Sanitize one text."""
    entry = Entry(database, settings, dataset, beside=None)
    _check_lines([], settings, entry, "the text")
    if settings.limits_rows:
        [spent] = settings.sanitizer.spend(open_column([text])[0], settings.eps, settings.plus).tolist()
        refuse_over("the text", settings.max_row_eps, spent, int(spent > (settings.max_row_eps or spent)))
    [result], receipt = settings.sanitizer.release([text], settings.eps, settings.plus)
    _publish(lambda: None, entry, receipt)
    return result, Outcome(1, receipt, entry.note)


def release_query(
    query: str,
    target: Path,
    database: Database,
    data: str | None,
    dataset: str,
    *,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
    **settings: Any,
) -> tuple[int, str | None]:
    """Write what a query gives to a new file; returns the number of rows, and a note if the ledger was not written.

    settings are those of `register`. The ledger has what the functions did, whatever of it the query gives.
    """
    options = choose_options(target)
    sanitizer = Sanitizer.load(database, **settings)
    with draft_of(target, force=force) as draft:
        with open_data(database, data, **settings) as connection:
            usage = watch(connection)
            rows = write_result(connection, query, draft.path, options, progress=progress)
        entry = Entry(database, _settings_of(sanitizer, usage), dataset, beside=_receipt_beside(target))
        entry.use(usage)
        guarantee = sanitizer.guarantee({max(usage.epsilons, default=1.0)})
        _publish(draft.publish, entry, usage.tally.receipt(sanitizer.policy, guarantee))
    return rows, entry.note


def _settings_of(sanitizer: Sanitizer, usage: Usage) -> Settings:
    eps = max(usage.epsilons, default=1.0)
    used = sanitizer if usage.key_id is not None and not usage.was_fresh else sanitizer.with_fresh_draws()
    return Settings(used, eps, usage.plus == {True}, ())


def _sanitize(
    lines: BinaryIO,
    written: BinaryIO,
    settings: Settings,
    name: str,
    tally: Tally,
    progress: Callable[[], None] | None,
) -> None:
    sanitizer, eps, plus = settings.sanitizer, settings.eps, settings.plus
    sanitize_lines(lines, written, sanitizer, eps, plus, name=name, tally=tally, progress=progress)


def _open_text(file: Path) -> BinaryIO:
    return open_lines(file, "rb", zipped=file.suffix.lower() == ".gz")


def _tell_lines(progress: Progress, tally: Tally, lines: BinaryIO, before: int, size: int) -> None:
    """How far we are, by the bytes read (of a gzipped file, those that it unpacks to, so at most all)."""
    progress(min(1.0, (before + lines.tell()) / max(size, 1)), tally.rows, tally.words)


def _check_lines(files: Sequence[Path], settings: Settings, entry: Entry, name: str) -> None:
    """Check what the settings ask of lines."""
    if settings.sanitizer.key is not None:
        raise SettingError(f"{name}: lines have no ids by which a key could know them; use a format with columns")
    if settings.columns:
        raise SettingError(f"{name}: lines have no columns; leave --column out, or say another --format")
    if not settings.limits_rows or not files:
        return
    largest, over = 0.0, 0
    for file in files:
        with _open_text(file) as lines:
            for spent in find_spending(lines, settings.sanitizer, settings.eps, settings.plus, name=name):
                largest = max(largest, float(spent.max(initial=0.0)))
                over += 0 if settings.max_row_eps is None else int((spent > settings.max_row_eps).sum())
    refuse_over(name, settings.max_row_eps, largest, over)
    entry.check(largest)


def _receipt_beside(target: Path) -> Path:
    return target.with_name(f"{target.name}.receipt.json")


def _publish(publish: Callable[[], object], entry: Entry, receipt: Receipt) -> None:
    """Let an output appear, between the two entries in the ledger."""
    entry.begin(receipt)
    try:
        publish()
    except BaseException:
        entry.withdraw()
        raise
    entry.complete(receipt)


def prepare(
    connection: duckdb.DuckDBPyConnection, source: Source, target_format: str, settings: Settings, entry: Entry
) -> tuple[str, Tally]:
    """Check everything that can be checked before; returns the query, and what will have counted when it has run."""
    chosen = _check_columns(source, settings)
    column = None if settings.record_column is None else source.find_column(settings.record_column)
    reader = choose_reader(source, chosen, column, target_format)
    record = None if column is None else read_record(source, column, target_format)
    if column is not None and record is not None:
        _check_records(connection, source.name, column, f"SELECT {record} AS custext_record FROM {reader}")
    functions = RowFunctions(settings.sanitizer, settings.eps, settings.plus, chosen, keyed=bool(record))
    functions.register(connection)
    if settings.sanitizer.draws == "seeded":
        connection.execute("SET threads = 1")  # in the order of the rows, so that the draws repeat
    fields = [f"c{number} := CAST({identifier(column)} AS VARCHAR)" for number, column in enumerate(chosen)]
    fields += [f"record := {record}"] if record else []
    packed = f"struct_pack({', '.join(fields)})"
    if settings.limits_rows:
        entry.check(_check_spending(connection, source, f"SELECT {SPEND}({packed}) AS spent FROM {reader}", settings))
    made = "custext_released"
    while made in {name.lower() for name in source.columns}:
        made += "_"
    new = ", ".join(f"{made}.c{number} AS {identifier(column)}" for number, column in enumerate(chosen))
    query = f"SELECT * EXCLUDE ({made}) REPLACE ({new}) FROM (SELECT *, {RELEASE}({packed}) AS {made} FROM {reader})"
    return query, functions.tally


def _run(connection: duckdb.DuckDBPyConnection, statement: str, tally: Tally, progress: Progress | None) -> int:
    told = None if progress is None else lambda share: progress(share, tally.rows, tally.words)
    with safe_errors():
        [(rows,)] = fetch(connection, statement, progress=told)
    return int(rows)


def _check_columns(source: Source, settings: Settings) -> list[str]:
    chosen = [source.find_text_column(column) for column in settings.columns]
    if not chosen:
        raise SettingError(f"{source.name}: name the columns to sanitize: --column NAME; {source.tell_columns()}")
    if len(set(chosen)) < len(chosen):
        raise SettingError("a column is named twice")
    if settings.sanitizer.key is not None and settings.record_column is None:
        raise SettingError("draws from a key need a record for each row: --record-column NAME, a column of ids")
    if settings.sanitizer.key is None and settings.record_column is not None:
        raise SettingError("--record-column is for draws from a key: --key-file PATH")
    return chosen


def _check_records(connection: duckdb.DuckDBPyConnection, name: str, column: str, query: str) -> None:
    """Every row must have an id of its own."""
    with safe_errors():
        [(missing, repeated)] = fetch(
            connection,
            "SELECT coalesce(sum(n) FILTER (custext_record IS NULL), 0), "
            "count(*) FILTER (n > 1 AND custext_record IS NOT NULL) FROM "
            f"(SELECT custext_record, count(*) AS n FROM ({query}) GROUP BY custext_record)",
        )
    if missing:
        raise SourceError(f"{name}: column {column} is NULL in {int(missing):,} rows; every record needs an id")
    if repeated:
        raise SourceError(
            f"{name}: {int(repeated):,} values of column {column} occur more than once; every record needs an id of "
            "its own"
        )


def _check_spending(connection: duckdb.DuckDBPyConnection, source: Source, query: str, settings: Settings) -> float:
    """The most that a row would spend, if it may."""
    limit = settings.max_row_eps
    with safe_errors():
        [(largest, over)] = fetch(
            connection,
            f"SELECT max(spent), count(*) FILTER (spent > {repr(limit) if limit else 'NULL'}) FROM ({query})",
        )
    refuse_over(source.name, limit, largest or 0.0, over)
    return float(largest or 0.0)


def refuse_over(name: str, limit: float | None, largest: float, over: int) -> None:
    """Refuse rows that would spend more than they may."""
    if limit is not None and over:
        raise BudgetError(
            f"{name}: {over:,} rows would spend more than --max-row-eps {limit:g}, up to {largest:g}; "
            "nothing was written"
        )


def _check_new_table(connection: duckdb.DuckDBPyConnection, source: Source, table: str, *, force: bool) -> None:
    if source.reader.rpartition(".")[2].lower() == identifier(table).lower():
        raise OutputError(f"{table} is the input; name another output")
    for kind in ("table", "view"):
        listed = f"SELECT 1 FROM duckdb_{kind}s() WHERE NOT internal AND lower({kind}_name) = lower(?)"
        if connection.execute(listed, [table]).fetchall() and (kind == "view" or not force):
            raise OutputError(
                f"there is a {kind} {table} already" + ("; --force replaces it" if kind == "table" else "")
            )
    is_view = "SELECT 1 FROM duckdb_views() WHERE NOT internal AND lower(view_name) = lower(?)"
    if force and connection.execute(is_view, [source.reader.rpartition(".")[2].strip('"')]).fetchall():
        raise OutputError("the input is a view, which may read the table that --force would replace; name a new one")


def read_texts(given: str, column: str | None, rows: int) -> list[str | None]:
    """The first texts of a column of files, or of lines."""
    files = list_files(given)
    with open_instance() as connection:
        source = open_files(connection, given, files)
        if source.format == "text":
            if column is not None:
                raise SettingError(f"{given}: lines have no columns; leave --column out")
            with _open_text(files[0]) as lines:
                first = next(read_lines(lines, given), None)
            return [] if first is None else [line.rstrip("\r\n") for line in first.to_arrow().to_pylist()[:rows]]
        if column is None:
            raise SettingError(f"{given}: name the column to show: --column NAME; {source.tell_columns()}")
        name = identifier(source.find_text_column(column))
        with safe_errors():
            found = fetch(connection, f"SELECT CAST({name} AS VARCHAR) FROM {source.reader} LIMIT {rows}")
    return [text for (text,) in found]
