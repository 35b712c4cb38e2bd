"""Outputs of releases: whole or absent, and never in the place of anything else."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from custext_sql import read_ledger
from custext_sql.errors import OutputError
from tests.spark import MARKS
from tests.spark.reviews import list_left, read_rows

pytestmark = MARKS


@pytest.mark.parametrize(
    "number, after, kept, error",
    [
        (1, False, 50, OutputError("cannot move")),
        (1, True, 50, KeyboardInterrupt()),
        (2, False, 50, KeyboardInterrupt()),
        (2, True, 20, OutputError("cannot move")),
    ],
)
def test_a_move_that_fails_or_is_interrupted_leaves_one_whole_output(
    frame: Any,
    own_db: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    number: int,
    after: bool,
    kept: int,
) -> None:
    from custext_sql.spark import sanitize
    from custext_sql.spark.folders import DraftFolder

    move, calls = DraftFolder._rename, itertools.count(1)

    def move_or_fail(*arguments: Any) -> None:
        fails = next(calls) == number
        if after or not fails:
            move(*arguments)
        if fails:
            raise error

    known: dict[str, Any] = {"output": tmp_path / "out", "dataset": "reviews", "database": own_db}
    sanitize(frame.limit(50), "body", 0.0, **known)
    monkeypatch.setattr(DraftFolder, "_rename", move_or_fail)
    with pytest.raises(type(error)):
        sanitize(frame.limit(20), "body", 0.0, force=True, **known)
    assert len(read_rows(tmp_path / "out")) == kept
    assert list_left(tmp_path) == ["out", "own.duckdb", "own.ledger.sqlite"]
    states = [release.state for release in read_ledger(own_db).releases]
    assert states == (["complete", "pending"] if isinstance(error, KeyboardInterrupt) else ["complete"])


def test_the_previous_output_stays_if_somebody_else_takes_its_place(
    frame: Any, own_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from custext_sql.spark import sanitize
    from custext_sql.spark.folders import DraftFolder

    known: dict[str, Any] = {"output": tmp_path / "out", "dataset": "reviews", "database": own_db}
    sanitize(frame.limit(50), "body", 0.0, **known)
    move = DraftFolder._rename

    def move_late(folder: DraftFolder, source: Any, target: Any) -> None:
        if target == folder._target and not (tmp_path / "out").exists():
            (tmp_path / "out").mkdir()
        move(folder, source, target)

    monkeypatch.setattr(DraftFolder, "_rename", move_late)
    with pytest.raises(OutputError, match="already exists"):
        sanitize(frame.limit(20), "body", 0.0, force=True, **known)
    [previous] = [path for path in tmp_path.iterdir() if path.name.endswith(".spark-replaced")]
    assert len(read_rows(previous)) == 50


def test_an_output_is_replaced_only_on_demand_and_never_if_it_is_the_input(
    frame: Any, own_db: Path, tmp_path: Path
) -> None:
    from custext_sql.spark import sanitize

    few, output = frame.limit(50), tmp_path / "out #1 %20"
    known: dict[str, Any] = {"output": output, "dataset": "reviews", "database": own_db}
    sanitize(few, "body", 0.0, **known)
    before = read_rows(output)
    with pytest.raises(OutputError, match="already exists; to overwrite it, use force=True"):
        sanitize(few, "body", 0.0, **known)
    own = few.sparkSession.read.parquet(str(output))
    with pytest.raises(OutputError, match="is read by the frame; give the output another name"):
        sanitize(own, "body", 0.0, force=True, **known)
    assert read_rows(output) == before
    sanitize(few.where("id < 10"), "body", 0.0, force=True, **known)
    assert len(read_rows(output)) < 50
    (tmp_path / "link").symlink_to(output)
    linked = few.sparkSession.read.parquet(str(tmp_path / "link"))
    with pytest.raises(OutputError, match="is read by the frame"):
        sanitize(linked, "body", 0.0, force=True, **known)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "important.txt").touch()
    with pytest.raises(OutputError, match="was not written by custext, so it is not overwritten"):
        sanitize(few, "body", 0.0, force=True, **(known | {"output": foreign}))
    assert list_left(tmp_path) == ["foreign", "link", output.name, "own.duckdb", "own.ledger.sqlite"]
    assert list_left(foreign) == ["important.txt"]
