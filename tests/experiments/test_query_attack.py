"""Attacks on stored mappings."""

from pathlib import Path

import pytest

from custext_sql import attack_query, build_mapping, load_embeddings, load_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments.attacks.query_attack import find_quantile, measure_queries


@pytest.mark.slow
def test_car_needs_as_many_draws_as_in_the_paper(shared_data: Path, db_path: Path) -> None:
    """GloVe 840B, Euclidean, K = 20, scores by word as in the published code; the paper has 1220, 250, 90, 6."""
    load_embeddings(db_path, shared_data / "glove.840B.300d.34k.txt.gz", name="glove")
    build_mapping(db_path, embedding="glove", k=20, normalization="word")
    results = measure_queries(load_mapping(db_path), ["car"], [1.0, 2.0, 3.0, 8.0])
    for result, expected in zip(results, (1280, 264, 98, 7), strict=True):
        assert result.n_mode == pytest.approx(expected, rel=0.25)


def test_more_eps_takes_fewer_draws(mapped_db: Path) -> None:
    mapping = load_mapping(mapped_db)
    results = measure_queries(mapping, ["Alice", "bob"], [1.0, 4.0, 16.0], simulations=2000)
    assert [result.word for result in results] == ["alice"] * 3 + ["bob"] * 3
    for three in (results[:3], results[3:]):
        for value in ("n_mode", "n_ml"):
            counts = [getattr(result, value) for result in three]
            assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] >= 1


def test_the_same_seed_gives_the_same_results(mapped_db: Path) -> None:
    mapping = load_mapping(mapped_db)
    first, again = measure_queries(mapping, ["alice", "alice"], [2.0], simulations=500)
    assert first == again
    [other] = measure_queries(mapping, ["alice"], [2.0], simulations=500, seed=1)
    assert other != first


def test_words_and_eps_are_checked(mapped_db: Path) -> None:
    with pytest.raises(CusTextError, match="did you mean 'alice'"):
        attack_query(mapped_db, ["alise"], eps=1.0)
    with pytest.raises(CusTextError, match="eps must be 0, or between"):
        attack_query(mapped_db, ["alice"], eps=0.0005)
    with pytest.raises(CusTextError, match="calibration must be"):
        attack_query(mapped_db, ["alice"], eps=0.0, calibration="loose")


def test_quantiles_are_values_of_words_and_count_words_that_are_never_identified() -> None:
    counts = [30, None, 10, 20]
    assert [find_quantile(counts, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)] == [10, 10, 20, 30, None]
    assert find_quantile([5], 0.5) == 5
