"""Measurements that are saved and reused."""

import json
import logging
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from custext_sql.cli import main
from custext_sql.errors import SettingError
from custext_sql.experiments.measurements import (
    Measurement,
    Subject,
    drop_measurements,
    find_saved,
    measure_or_reuse,
    read_measurements,
    save_measurements,
    write_settings,
)
from tests.processes import hold_open

SUBJECT = Subject("bayes", "success", mapping="m", fingerprint="f", eps=1.0, settings=write_settings(plus=False))


def test_an_id_depends_on_what_the_value_depends_on() -> None:
    renamed = replace(SUBJECT, mapping="other", dataset="called otherwise")
    assert renamed.measurement_id == SUBJECT.measurement_id
    for other in (
        replace(SUBJECT, eps=2.0),
        replace(SUBJECT, fingerprint="g"),
        replace(SUBJECT, digest="d"),
        replace(SUBJECT, seed=1),
        replace(SUBJECT, settings=write_settings(plus=True)),
    ):
        assert other.measurement_id != SUBJECT.measurement_id


def test_what_is_saved_is_read_back(mapped_db: Path) -> None:
    kept = [Measurement(SUBJECT, 0.25, 0.01), Measurement(replace(SUBJECT, eps=2.0), None)]
    save_measurements(mapped_db, kept)
    save_measurements(mapped_db, [Measurement(SUBJECT, 0.5)])
    found = read_measurements(mapped_db, kind="bayes")
    assert {one.subject: (one.value, one.standard_error) for one in found} == {
        SUBJECT: (0.5, None),
        replace(SUBJECT, eps=2.0): (None, None),
    }
    assert read_measurements(mapped_db, kind="query") == []
    renamed = replace(SUBJECT, mapping="other", dataset="called otherwise")
    [again] = measure_or_reuse(mapped_db, [renamed], lambda subject, tell: (9.0, None))
    assert (again.subject, again.value) == (renamed, 0.5)  # the earlier value, with the current names
    assert list(find_saved(mapped_db, [SUBJECT, replace(SUBJECT, eps=3.0)])) == [SUBJECT]


def test_only_what_is_missing_is_measured(mapped_db: Path) -> None:
    subjects = [replace(SUBJECT, eps=float(eps)) for eps in (1, 2, 1, 3)]
    asked: list[float | None] = []
    shares: list[float] = []

    def measure(subject: Subject, tell: object) -> tuple[float, None]:
        asked.append(subject.eps)
        return 10.0 * (subject.eps or 0.0), None

    save_measurements(mapped_db, [Measurement(subjects[1], 7.0)])
    found = measure_or_reuse(mapped_db, subjects, measure, progress=shares.append)
    assert [one.value for one in found] == [10.0, 7.0, 10.0, 30.0]
    assert asked == [1.0, 3.0]
    assert shares == [0.0, 0.5]
    assert [one.value for one in measure_or_reuse(mapped_db, subjects, measure)] == [10.0, 7.0, 10.0, 30.0]
    assert asked == [1.0, 3.0]


@pytest.mark.parametrize("one_by_one", [True, False])
def test_an_interrupted_run_saves_what_it_has(mapped_db: Path, one_by_one: bool) -> None:
    subjects = [replace(SUBJECT, eps=float(eps)) for eps in (1, 2, 3)]

    def measure(subject: Subject, tell: object) -> tuple[float, None]:
        if subject.eps == 3.0:
            raise KeyboardInterrupt
        return 1.0, None

    with pytest.raises(KeyboardInterrupt):
        measure_or_reuse(mapped_db, subjects, measure, one_by_one=one_by_one)
    assert {one.subject.eps for one in read_measurements(mapped_db)} == {1.0, 2.0}


@pytest.mark.slow
def test_a_database_that_is_in_use_costs_no_result(mapped_db: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as held, caplog.at_level(logging.WARNING):

        def measure(subject: Subject, tell: object) -> tuple[float, None]:
            held.enter_context(hold_open(mapped_db))
            return 0.75, None

        [found] = measure_or_reuse(mapped_db, [SUBJECT], measure)
    assert found.value == 0.75
    assert "These results were not saved" in caplog.text and "in use by another process" in caplog.text
    assert read_measurements(mapped_db) == []


def save_named(database: Path) -> None:
    """Save measurements of two datasets and two mappings, and one of neither."""
    names = [("a.csv", "m"), ("a.csv", "n"), ("b.csv", "m"), (None, None)]
    save_measurements(
        database,
        [
            Measurement(replace(SUBJECT, dataset=dataset, mapping=mapping, eps=float(eps)), 0.5)
            for eps, (dataset, mapping) in enumerate(names, start=1)
        ],
    )


def left(database: Path) -> list[float]:
    return sorted(one.subject.eps or 0.0 for one in read_measurements(database))


def test_measurements_are_dropped_by_their_names(mapped_db: Path) -> None:
    save_named(mapped_db)
    assert drop_measurements(mapped_db, evaluated_on="a.csv", mapping="n") == 1
    assert left(mapped_db) == [1.0, 3.0, 4.0]
    assert drop_measurements(mapped_db, evaluated_on="a.csv") == 1
    assert left(mapped_db) == [3.0, 4.0]
    save_named(mapped_db)
    assert drop_measurements(mapped_db, mapping="m") == 2
    assert left(mapped_db) == [2.0, 4.0]
    assert drop_measurements(mapped_db, everything=True) == 2
    assert left(mapped_db) == []
    assert drop_measurements(mapped_db, everything=True) == 0


def test_measurements_are_not_dropped_by_mistake(mapped_db: Path) -> None:
    save_named(mapped_db)
    for names, message in (
        ({"evaluated_on": "a.cvs"}, r"has the dataset named by --evaluated-on \(in .*=...\); did you mean 'a.csv'\?"),
        ({"evaluated_on": "xyz"}, "; datasets: 'a.csv', 'b.csv'$"),
        ({"mapping": "xyz"}, r"has the mapping named by --mapping \(in Python: mapping=...\); mappings: m, n$"),
        ({}, r"--evaluated-on NAME or --mapping NAME, or else --all .*; found neither"),
        ({"evaluated_on": "a.csv", "everything": True}, "found names with --all"),
        ({"evaluated_on": 1}, r"--evaluated-on \(in Python: evaluated_on=...\) must be a name"),
    ):
        with pytest.raises(SettingError, match=message):
            drop_measurements(mapped_db, **names)
    assert len(left(mapped_db)) == 4


def test_the_command_says_how_many_measurements_it_dropped(mapped_db: Path) -> None:
    save_named(mapped_db)
    command = ["--db", str(mapped_db), "drop", "measurements"]
    assert CliRunner().invoke(main, [*command, "--evaluated-on", "b.csv"]).output == "dropped 1 measurement\n"
    done = CliRunner().invoke(main, [*command, "--all", "--json"])
    assert json.loads(done.output) == {"dropped": "measurements", "rows": 3}
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.output.startswith("Error: name the measurements to drop: --evaluated-on NAME")) == (
        1,
        True,
    )
