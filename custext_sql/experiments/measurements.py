"""The table `measurements`: every value that an experiment found.

Values are saved so that none is computed twice, and so that each number in a report can be traced to its row.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import duckdb

from custext_sql.errors import DatabaseError, SettingError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.parameters import check_type, suggest
from custext_sql.store.database import Database, reading, writing
from custext_sql.store.digests import TextDigest

ShareDone = Callable[[float], None]

_log = logging.getLogger(__name__)
_PATIENCE = 600.0  # seconds to wait for another process that has the database open, before a result is lost
_NAMES = ("embedding", "mapping", "dataset")  # for readers; values do not depend on them
_VERSION = 2  # raise it when the same subject would give a different value, so that older values are not reused


@dataclass(frozen=True)
class Subject:
    """What is measured: everything that the value depends on.

    settings: JSON of the settings that only this kind of experiment has. embedding, mapping and dataset are names for
    readers; a value depends on fingerprint and digest instead.
    """

    kind: str  # utility, query, bayes, mask, policy or certificate
    metric: str
    mechanism: str | None = None
    embedding: str | None = None
    mapping: str | None = None
    fingerprint: str | None = None
    k: int | None = None
    eps: float | None = None
    calibration: str | None = None
    seed: int | None = None
    word: str | None = None
    dataset: str | None = None
    digest: str | None = None
    settings: str = "{}"

    @cached_property
    def measurement_id(self) -> str:
        """An ID that is equal for equal subjects, whatever their names."""
        known = {name: value for name, value in asdict(self).items() if name not in _NAMES}
        return hashlib.sha256(json.dumps([_VERSION, known], sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Measurement:
    """A row of the table: a subject and its value.

    value: None if there is none, such as the number of draws for a word that no number of draws identifies.
    """

    subject: Subject
    value: float | None
    standard_error: float | None = None
    measured_at: datetime | None = None

    @property
    def measurement_id(self) -> str:
        """The ID of the subject."""
        return self.subject.measurement_id


_SUBJECT = [field.name for field in fields(Subject)]
_FOUND = [field.name for field in fields(Measurement) if field.name != "subject"]
_COLUMNS = ["measurement_id", *_SUBJECT, *_FOUND]


def describe_mapping(
    mapping: Mapping, kind: str, metric: str, epsilon: float | None, calibration: str | None
) -> Subject:
    """Return the subject of a measurement on the tables of a mapping."""
    return Subject(
        kind,
        metric,
        embedding=mapping.info.embedding,
        mapping=mapping.info.name,
        fingerprint=mapping.info.fingerprint,
        k=mapping.info.k,
        eps=None if epsilon is None else check_epsilon(epsilon),
        calibration=None if calibration is None else check_calibration(calibration),
    )


def write_settings(**settings: Any) -> str:
    """Return the settings of a subject as JSON; equal settings give equal JSON."""
    return json.dumps(settings, sort_keys=True)


def digest_texts(texts: Iterable[str]) -> str:
    """Return a keyed digest that identifies texts without revealing them."""
    found = TextDigest()
    for text in texts:
        found.update(text.encode())
    return found.hexdigest()


def save_measurements(database: Database, measurements: Iterable[Measurement], *, patience: float = 5.0) -> None:
    """Save measurements, replacing earlier ones of the same subjects. patience: seconds to wait for other processes."""
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    rows = [
        [one.measurement_id, *astuple(one.subject), one.value, one.standard_error, one.measured_at or now]
        for one in measurements
    ]
    if not rows:
        return
    marks = ", ".join("?" for _ in _COLUMNS)
    with writing(database, patience=patience) as connection:
        connection.executemany(f"INSERT OR REPLACE INTO measurements ({', '.join(_COLUMNS)}) VALUES ({marks})", rows)


def read_measurements(database: Database = None, *, kind: str | None = None) -> list[Measurement]:
    """Return all measurements, or those of one kind, oldest first."""
    condition = "" if kind is None else "WHERE kind = $kind"
    with reading(database) as connection:
        rows = connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM measurements {condition} ORDER BY measured_at, measurement_id",
            {} if kind is None else {"kind": kind},
        ).fetchall()
    end = 1 + len(_SUBJECT)
    return [Measurement(Subject(*row[1:end]), *row[end:]) for row in rows]


def drop_measurements(
    database: Database = None, *, evaluated_on: str | None = None, mapping: str | None = None, everything: bool = False
) -> int:
    """Delete saved results of experiments, and return how many; what is needed again is measured again.

    evaluated_on, mapping: only results on this data, or with this mapping, by the names that reports show; with both,
    only results that fit both. everything: all results. SettingError if nothing is named, or no result has the name;
    DatabaseError if the database cannot be written.
    """
    named = {column: name for column, name in (("dataset", evaluated_on), ("mapping", mapping)) if name is not None}
    if everything == bool(named):
        raise SettingError(
            "name the measurements to drop: --evaluated-on NAME or --mapping NAME, or else --all (in Python: "
            f"evaluated_on, mapping or everything=True); found {'names with --all' if everything else 'neither'}"
        )
    condition = " AND ".join([f"{column} = ?" for column in named] or ["true"])
    with writing(database) as connection:
        for column, name in named.items():
            _check_known(connection, column, name)
        dropped = connection.execute(
            f"DELETE FROM measurements WHERE {condition} RETURNING measurement_id", list(named.values())
        )
        return len(dropped.fetchall())


def _check_known(connection: duckdb.DuckDBPyConnection, column: str, name: str) -> None:
    parameter = "evaluated_on" if column == "dataset" else column
    option = f"--{parameter.replace('_', '-')} (in Python: {parameter}=...)"
    check_type(name, str, f"{option} must be a name")
    rows = connection.execute(f"SELECT DISTINCT {column} FROM measurements WHERE {column} IS NOT NULL").fetchall()
    known = [str(row[0]) for row in rows]
    if name not in known:
        hint = suggest(name, known, f"{column}s", quoted=column == "dataset")
        raise SettingError(f"no saved measurement has the {column} named by {option}; {hint}")


def find_saved(database: Database, subjects: Sequence[Subject]) -> dict[Subject, Measurement]:
    """Return the saved measurements of the subjects that were measured before."""
    known = {
        one.measurement_id: one
        for kind in sorted({subject.kind for subject in subjects})
        for one in read_measurements(database, kind=kind)
    }
    return {
        subject: replace(known[subject.measurement_id], subject=subject)  # with its current names
        for subject in subjects
        if subject.measurement_id in known
    }


def measure_or_reuse(
    database: Database,
    subjects: Sequence[Subject],
    measure: Callable[[Subject, ShareDone], tuple[float | None, float | None]],
    *,
    progress: ShareDone | None = None,
    one_by_one: bool = False,
) -> list[Measurement]:
    """Return a measurement for each subject: a saved one, or one that is measured now and saved.

    measure: returns a value and its standard error, and may report the share of its work that is done.
    one_by_one: save each value as soon as it is measured, because each takes long. Otherwise all are saved at the end;
        if the database cannot be written then, this logs a warning and raises no error.
    """
    known = find_saved(database, subjects)
    missing = [subject for subject in dict.fromkeys(subjects) if subject not in known]
    fresh: list[Measurement] = []
    if missing and one_by_one:
        with writing(database, patience=_PATIENCE):  # fail now rather than after hours of work
            pass
    try:
        for number, subject in enumerate(missing):
            tell = part_of(progress, number, len(missing))
            tell(0.0)
            known[subject] = Measurement(subject, *measure(subject, tell))
            if one_by_one:
                save_measurements(database, [known[subject]], patience=_PATIENCE)
            else:
                fresh.append(known[subject])
    except KeyboardInterrupt:
        _log.warning("Finished results are saved; run the same command again to resume.")
        raise
    finally:
        try:
            save_measurements(database, fresh)
        except DatabaseError as error:
            _log.warning("These results were not saved: %s", error)
    return [known[subject] for subject in subjects]


def part_of(progress: ShareDone | None, number: int, count: int) -> ShareDone:
    """Return a function that reports the progress of one of several equal parts of some work."""
    return lambda share: None if progress is None else progress((number + share) / count)
