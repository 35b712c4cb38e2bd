"""The context attack and eps = 0 in trade-offs and reports."""

from pathlib import Path

import pytest

from custext_sql.errors import CusTextError
from custext_sql.experiments import evaluate_tradeoff, write_report, write_tradeoff
from custext_sql.experiments.evaluations import Experiment, TradeOffEvaluation

pytestmark = pytest.mark.slow

PUBLIC = ["the film was great and the story was dull", "a great story", "a dull film"]


def evaluate(database: Path, experiment: Experiment, **more: object) -> TradeOffEvaluation:
    return evaluate_tradeoff(
        database,
        train=experiment.train,
        test=experiment.test,
        attack="context",
        **more,  # type: ignore[arg-type]
    )


def test_the_page_of_a_trade_off_names_the_attack(few_db: Path, experiment: Experiment, tmp_path: Path) -> None:
    found = evaluate(few_db, experiment, eps=[0.0, 1.0], seeds=1, mechanisms="custext", public=PUBLIC)
    write_tradeoff(found, tmp_path / "page.html")
    assert "attack: context" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("plus", [False, True])
def test_a_report_at_eps_0(few_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plus: bool) -> None:
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 100)
    page = tmp_path / "page.html"
    texts = ["the doctor said the car was fine", "she was happy"]
    report = write_report(few_db, html=page, eps=0.0, data=texts, public=PUBLIC, plus=plus)
    assert report.context is not None
    assert [one.eps for one in report.context.results] == [0.0, 1.0, 2.0, 3.0, 8.0]
    assert {one.eps for one in report.bayes} >= {0.0, 1.0} and {one.eps for one in report.queries} >= {0.0, 1.0}
    assert all(row.worst_log_ratio == 0.0 for row in report.certificate)
    written = page.read_text()
    assert "Whole texts: the context attack" in written and "eps = 0" in written
    assert all(text not in written for text in (*texts, *PUBLIC))
    assert ("may replace another word" in written) == plus


def test_a_report_needs_texts_to_attack(few_db: Path) -> None:
    with pytest.raises(CusTextError, match="the context attack needs your texts too: custext report INPUT"):
        write_report(few_db, public=PUBLIC)
