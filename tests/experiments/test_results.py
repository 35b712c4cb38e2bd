"""Results of earlier evaluations, as reports show them."""

import json
from pathlib import Path

import pytest

from custext_sql.experiments.evaluation.tradeoff import Figure, TradeOff
from custext_sql.experiments.measurements import read_measurements
from custext_sql.experiments.report.drawings import draw_tradeoff
from custext_sql.experiments.report.results import TradeOffCurves, find_tradeoffs
from tests.cli.test_commands import run
from tests.experiments.test_linear_models import make_sentences

pytestmark = pytest.mark.slow


def test_attacks_on_other_texts_of_the_same_name_stay_apart(few_db: Path, tmp_path: Path) -> None:
    """GLUE's files, for example, are all called dev.tsv. So do guessers that learned from different texts."""
    (tmp_path / "public.txt").write_text("the great film number 1\n" * 3)
    shown = {}
    for name, seed in (("one", 1), ("other", 2)):
        folder = tmp_path / name
        folder.mkdir()
        for part, count in (("train", 60), ("dev", 30)):
            rows, labels = make_sentences(count, seed)
            lines = (f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True))
            (folder / f"{part}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
        data = ["--train", str(folder / "train.tsv"), "--test", str(folder / "dev.tsv"), "--text", "sentence"]
        common = ["evaluate", "tradeoff", *data, "--eps", "2", "--seeds", "1", "--mechanisms", "custext", "--json"]
        for more in (["--attack", "bayes"], [], ["--public", str(tmp_path / "public.txt")]):
            [point] = json.loads(run("--db", few_db, *common, *more).output)
            shown[name, tuple(more)] = point["success"]["mean"]
    found = list(find_tradeoffs(read_measurements(few_db)))
    assert len(found) == 6
    assert sorted(one.points[0].success.mean for one in found) == sorted(shown.values())
    assert all(len(one.points) == 1 and one.points[0].success.spread is None for one in found)
    assert {one.dataset for one in found} == {"one/train.tsv; one/dev.tsv", "other/train.tsv; other/dev.tsv"}
    assert len({one.attack for one in found}) == 4  # bayes, and guessers that learned from three files


@pytest.mark.parametrize("metric, caps", [("accuracy", 1), ("pearson", 2)])
def test_an_error_bar_goes_below_0_only_for_a_correlation(metric: str, caps: int) -> None:
    utility, success = Figure(0.02, 0.05, ("u",)), Figure(0.1, None, ("s",))
    point = TradeOff("custext", "glove", None, 20, 1.0, metric, utility, "mask", success)
    chart = draw_tradeoff(TradeOffCurves("train; test", "model", metric, "mask", (point,)))
    assert chart.curves[0].spots[0].bar.count("h12") == caps
