"""An audit returns what was verified, or names the group that fails."""

import json
from dataclasses import asdict
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from custext_sql import CusTextError, Policy, Sanitizer, audit, load_mapping
from custext_sql.arrays import Floats, Scores, Sizes, Weights
from custext_sql.cli import main
from custext_sql.mechanism.weights import build_weights
from tests.vectors.test_starter import FINGERPRINT, STARTER_FINGERPRINT


def test_the_starter_mapping_keeps_its_promise_with_room_to_spare(starter_db: Path) -> None:
    found = audit(starter_db, eps=1.0)
    assert (found.mapping, found.fingerprint) == ("starter", STARTER_FINGERPRINT)
    assert (found.words, found.groups, found.smallest_group, found.largest_group) == (99989, 2500, 30, 40)
    older = audit(starter_db, eps=1.0, mapping="starter-euclidean-k20")
    assert (older.fingerprint, older.smallest_group) == (FINGERPRINT, 9)
    assert older.worst_log_ratio == pytest.approx(0.8136, abs=1e-4)
    assert older.median_log_ratio == pytest.approx(0.5302, abs=1e-4)
    assert found.shrunk == 0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 100.0])
def test_tight_calibration_uses_the_whole_budget(starter_db: Path, epsilon: float) -> None:
    found = audit(starter_db, eps=epsilon, calibration="tight")
    assert found.worst_log_ratio <= epsilon
    if epsilon <= 1.0:
        assert found.median_log_ratio > epsilon * (1 - 1e-6)


def test_the_command_prints_what_was_checked(mapped_db: Path) -> None:
    found = audit(mapped_db, eps=2.0)
    result = CliRunner().invoke(main, ["--db", str(mapped_db), "audit", "--eps", "2", "--mapping", found.mapping])
    assert result.exit_code == 0
    for part in (found.fingerprint, "16 words in 4 groups of 4", f"worst log-ratio   {found.worst_log_ratio:.6g}"):
        assert part in result.output
    assert json.loads(CliRunner().invoke(main, ["--db", str(mapped_db), "audit", "--eps", "2", "--json"]).output) == (
        asdict(found)
    )


def test_words_do_not_hide_among_kept_words(mapped_db: Path, tmp_path: Path) -> None:
    words = load_mapping(mapped_db).words  # in groups of four
    for kept, among in (((), 4), (words[:1], 3), ([words[0].upper(), words[1]], 2), (words[:3], 4), (words, 0)):
        found = audit(mapped_db, keep_words=kept)
        assert found.hides_among == among
        assert found.hides_among == Sanitizer.load(mapped_db, policy=Policy(keep_words=kept)).release([])[1].hides_among
    (tmp_path / "kept.txt").write_text("\n".join(words[:2]))
    shown = CliRunner().invoke(main, ["--db", str(mapped_db), "audit", "--keep-words", str(tmp_path / "kept.txt")])
    assert ", 2 listed words kept\n" in shown.output and "hides among at least 2 words\n" in shown.output
    assert "holds among the replaced words of every group" in shown.output
    with pytest.raises(CusTextError, match="policy: keep_words must be a list of words"):
        audit(mapped_db, keep_words="alice")


def test_a_changed_mapping_fails_with_status_one(mapped_db: Path) -> None:
    with duckdb.connect(mapped_db) as connection:
        connection.execute("UPDATE score_rows SET units = [0, 0, 0, 0]")
    result = CliRunner().invoke(main, ["--db", str(mapped_db), "audit"])
    assert result.exit_code == 1
    assert "were changed after it was built" in result.output


def test_a_group_that_fails_is_named_with_status_one(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def move_one(sizes: Sizes, scores: Scores, temperatures: Floats) -> Weights:
        weights = build_weights(sizes, scores, temperatures)
        if len(weights) == 64:  # all four groups of four
            weights[2 * 16 + 5] -= np.uint64(1)
        else:
            weights[5] -= np.uint64(1)
        return weights

    monkeypatch.setattr("custext_sql.mechanism.certified_table.build_weights", move_one)
    with pytest.raises(CusTextError, match=r"^group 2 \(\w+, \w+, \w+, \w+\): found no weights that satisfy eps"):
        audit(mapped_db)
    result = CliRunner().invoke(main, ["--db", str(mapped_db), "audit"])
    assert result.exit_code == 1
    assert "group 2 (" in result.output
