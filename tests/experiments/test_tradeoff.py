"""Privacy versus utility."""

from typing import Any

import pytest

from custext_sql.experiments import evaluations
from custext_sql.experiments.charts import draw_chart
from custext_sql.experiments.evaluations import (
    EvaluationSetup,
    Figure,
    TradeOff,
    TradeOffEvaluation,
)


@pytest.mark.parametrize("metric, low", [("accuracy", 0.0), ("pearson", -0.03)])
def test_an_error_bar_goes_below_0_only_for_a_correlation(
    metric: str, low: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = TradeOff("custext", "glove", None, 20, 1.0, metric, Figure(0.02, 0.05), "mask", Figure(0.1, None))
    setup = EvaluationSetup("train; test", metric, "model", 1, 1, ("glove",), "paper", "paper", {})
    given: dict[str, Any] = {}
    monkeypatch.setattr(evaluations, "embed_chart", lambda title, series, **more: given.update(more, series=series))
    evaluations.render_tradeoff(TradeOffEvaluation(setup, "mask", (point,)))
    figure = draw_chart(**given)
    [[(_, lowest), _]] = figure.axes[0].collections[0].get_segments()
    assert lowest == pytest.approx(low)
