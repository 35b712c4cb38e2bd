"""Attacks on stored mappings."""

from pathlib import Path

import pytest

from custext_sql import build_mapping, load_embeddings, load_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments.attacks.query_attack import find_quantile, measure_queries
from custext_sql.experiments.measurements import read_measurements


@pytest.mark.slow
def test_car_needs_as_many_draws_as_in_the_paper(shared_data: Path, db_path: Path) -> None:
    """GloVe 840B, Euclidean, K = 20, scores by word as in the published code; the paper has 1220, 250, 90, 6."""
    load_embeddings(db_path, shared_data / "glove.840B.300d.34k.txt.gz", name="glove")
    build_mapping(db_path, embedding="glove", k=20, normalization="word")
    results = measure_queries(db_path, load_mapping(db_path), ["car"], [1.0, 2.0, 3.0, 8.0])
    for result, expected in zip(results, (1280, 264, 98, 7), strict=True):
        assert result.n_mode == pytest.approx(expected, rel=0.25)


def test_more_eps_takes_fewer_draws(mapped_db: Path) -> None:
    mapping = load_mapping(mapped_db)
    results = measure_queries(mapped_db, mapping, ["Alice", "bob"], [1.0, 4.0, 16.0], simulations=2000)
    assert [result.word for result in results] == ["alice"] * 3 + ["bob"] * 3
    for three in (results[:3], results[3:]):
        for value in ("n_mode", "n_ml"):
            counts = [getattr(result, value) for result in three]
            assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] >= 1


def test_a_repeated_attack_comes_from_the_table(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = load_mapping(mapped_db)
    first = measure_queries(mapped_db, mapping, ["alice", "alice"], [2.0], simulations=500)
    assert first[0] == first[1]
    rows = {one.measurement_id: one for one in read_measurements(mapped_db, kind="query")}
    assert len(rows) == 2
    mode = rows[first[0].measurement_ids[0]]
    assert (mode.subject.metric, mode.value) == ("n_mode", first[0].n_mode)
    monkeypatch.setattr("custext_sql.experiments.attacks.query_attack.count_for_mode", None)
    assert measure_queries(mapped_db, mapping, ["alice"], [2.0], simulations=500) == first[:1]


def test_words_and_eps_are_checked(mapped_db: Path) -> None:
    mapping = load_mapping(mapped_db)
    with pytest.raises(CusTextError, match="did you mean 'alice'"):
        measure_queries(mapped_db, mapping, ["alise"], [1.0])
    with pytest.raises(CusTextError, match="eps must be 0, or between"):
        measure_queries(mapped_db, mapping, ["alice"], [0.0005])


def test_quantiles_are_values_of_words_and_count_words_that_are_never_identified() -> None:
    counts = [30, None, 10, 20]
    assert [find_quantile(counts, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)] == [10, 10, 20, 30, None]
    assert find_quantile([5], 0.5) == 5
