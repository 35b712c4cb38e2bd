"""Privacy versus utility."""

import pytest

from custext_sql.experiments.evaluation.evaluations import (
    Figure,
    TradeOff,
    TradeOffEvaluation,
)
from custext_sql.experiments.evaluation.experiment import EvaluationSetup
from custext_sql.experiments.report.page import draw_tradeoff


@pytest.mark.parametrize("metric, caps", [("accuracy", 1), ("pearson", 2)])
def test_an_error_bar_goes_below_0_only_for_a_correlation(metric: str, caps: int) -> None:
    point = TradeOff("custext", "glove", None, 20, 1.0, metric, Figure(0.02, 0.05), "mask", Figure(0.1, None))
    setup = EvaluationSetup("train; test", metric, "model", 1, 1, ("glove",), "paper", "paper", {})
    chart = draw_tradeoff(TradeOffEvaluation(setup, "mask", (point,)))
    assert chart.curves[0].spots[0].bar.count("h12") == caps
