"""`evaluate utility` as a table: words in the clear, the paper's values, 80 columns, and GLUE's files as they are."""

import json
from pathlib import Path

import pytest

from custext_sql import build_mapping
from custext_sql.experiments import evaluate_utility
from custext_sql.experiments.evaluations import EvaluationSetup, find_paper_value
from custext_sql.mapping.recipe import Recipe
from tests.cli.test_commands import run
from tests.experiments.test_linear_models import make_sentences

COLA = "gj04\t1\t\tThe doctor loved the music.\ngj04\t0\t*\tMusic the loved doctor.\n"  # no header


def write_sentences(folder: Path) -> list[str]:
    """Write two files in the format of GLUE's SST-2, and return the options that name them."""
    folder.mkdir()
    for name, count, seed in (("train", 60, 0), ("dev", 30, 1)):
        rows, labels = make_sentences(count, seed)
        lines = (f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True))
        (folder / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
    return ["--train", str(folder / "train.tsv"), "--test", str(folder / "dev.tsv"), "--text", "sentence"]


def test_the_papers_values_are_below_ours_with_what_differs(few_db: Path, tmp_path: Path) -> None:
    sst2 = write_sentences(tmp_path / "SST-2")
    utility = ["--db", str(few_db), "evaluate", "utility", *sst2, "--mechanisms", "original,custext+,custext,random"]
    lines = run(*utility, "--seeds", "2").output.splitlines()
    assert max(map(len, lines)) <= 80
    cells = [line.split() for line in lines[3:12]]
    assert cells[0] == ["mechanism", "clear", "eps", "=", "0", "eps", "=", "1", "eps", "=", "2", "eps", "=", "3"]
    assert [row[0] for row in cells[1:]] == [
        "original",
        "paper",
        "custext+",
        "paper",
        "custext",
        "paper",
        "random",
        "paper",
    ]
    assert [row[1:] for row in cells if row[0] == "paper"] == [
        ["0.9050"] * 4,
        ["0.7501", "0.7452", "0.7683"],
        ["0.6985", "0.7172", "0.7029"],
        ["0.5014"] * 4,
    ]
    eps_1, paper = lines[3].index("eps = 1") + len("eps = 1"), lines[7]
    assert paper[:eps_1].endswith("0.7501")  # in the column of eps = 1
    notes = " ".join(lines[13:])
    assert notes.startswith("clear: share of the words of the test texts that stay in the clear")
    assert "paper: Chen et al., Findings of ACL 2023, Tables 1 and 2. Here: model tfidf" in notes
    assert "model tfidf (paper: bert-base-uncased); vectors starter (paper: GloVe); words in the vocabulary:" in notes
    assert "(paper: 65,713); 60 and 30 rows (paper: 67k and 1.8k)" in notes
    found = json.loads(run(*utility, "--seeds", "2", "--json").output)
    papers = {(one["mechanism"], one["eps"]): one["paper"] for one in found}
    assert papers["custext", 2.0] == 0.7172 and papers["custext", 0.0] is None and papers["custext+", 2.0] == 0.7452


def test_every_task_and_measure_has_its_own_values() -> None:
    def find(dataset: str, mechanism: str, measure: str = "euclidean", eps: float | None = 1.0) -> float | None:
        metric = "pearson" if "STS" in dataset else "accuracy"
        recipe = Recipe("vectors", measure=measure)
        setup = EvaluationSetup(dataset, metric, "tfidf", 1, 1, ("m",), "paper", "paper", {}, (recipe,), (1,))
        mapping = "m" if mechanism.startswith("custext") else None
        return find_paper_value(setup, mechanism, eps, embedding="vectors", mapping=mapping)

    mechanisms = ("fbdd", "santext", "custext", "santext+", "custext+", "original", "random")
    assert [find("SST-2/train.tsv", one) for one in mechanisms] == [
        *(0.5022, 0.5014, 0.6985, 0.7211, 0.7501, 0.9050, 0.5014)
    ]
    assert [find("MedSTS.csv", one, eps=3.0) for one in mechanisms] == [
        *(0.0411, 0.1124, 0.5242, 0.5423, 0.6213, 0.7598, 0.0382)
    ]
    assert [find("data/QNLI.csv", one, eps=2.0) for one in mechanisms] == [
        *(0.5152, 0.5302, 0.6884, 0.7636, 0.7602, 0.9096, 0.5037)
    ]
    assert [find("sst2", "custext", "cosine", eps) for eps in (0.0, 1.0, 2.0, 3.0, 8.0)] == [
        *(None, 0.7117, 0.7370, 0.7298, 0.7957)
    ]
    assert find("sst2", "custext", eps=8.0) == 0.8155
    others = [("sst2", "custext", "manhattan"), ("sst2", "custext+", "cosine"), ("qnli", "custext", "cosine")]
    assert [find(*one) for one in others] == [None] * 3
    assert [find("sst2", one, "cosine") for one in mechanisms[:2]] == [None] * 2


def test_other_data_has_no_values_of_the_paper(few_db: Path, tmp_path: Path) -> None:
    other = write_sentences(tmp_path / "reviews-sst25")
    utility = [
        "--db",
        str(few_db),
        "evaluate",
        "utility",
        *other,
        "--mechanisms",
        "custext",
        "--eps",
        "1",
        "--seeds",
        "1",
    ]
    assert "paper:" not in run(*utility).output
    assert [one["paper"] for one in json.loads(run(*utility, "--json").output)] == [None]


def test_words_in_the_clear_are_shown(few_db: Path, tmp_path: Path) -> None:
    data = write_sentences(tmp_path / "films")
    mechanisms = "original,custext+,custext,santext+,santext"
    utility = [
        "--db",
        str(few_db),
        "evaluate",
        "utility",
        *data,
        "--mechanisms",
        mechanisms,
        "--eps",
        "1,2",
        "--seeds",
        "2",
    ]
    found = json.loads(run(*utility, "--json").output)
    shares = {one["mechanism"]: one["in_clear"] for one in found}
    assert shares["original"] == 1.0 and shares["custext"] == shares["santext"]
    assert shares["custext"] < shares["custext+"] < 1.0 and shares["custext"] < shares["santext+"] < 1.0
    assert len({(one["mechanism"], one["in_clear"]) for one in found}) == 5  # the same for every eps and seed
    lines = run(*utility).output.splitlines()
    shown = {line.split()[0]: line.split()[1] for line in lines[4:9]}
    assert shown == {name: "100%" if share == 1.0 else f"{share:.1%}" for name, share in shares.items()}


def test_a_limit_takes_rows_of_both_parts_evenly(few_db: Path, tmp_path: Path) -> None:
    data = write_sentences(tmp_path / "films")
    for name in ("train", "dev"):  # sorted by label: the first rows have one class only
        header, *lines = (tmp_path / "films" / f"{name}.tsv").read_text().splitlines()
        ordered = sorted(lines, key=lambda line: line[-1])
        (tmp_path / "films" / f"{name}.tsv").write_text("\n".join([header, *ordered]))
    utility = ["--db", str(few_db), "evaluate", "utility", *data, "--mechanisms", "original", "--seeds", "1"]
    limited = run(*utility, "--limit", "20")
    assert limited.output.startswith("accuracy, tfidf; 20 training rows, 20 test rows\n")
    assert run(*utility, "--limit", "45").output.startswith("accuracy, tfidf; 45 training rows, 30 test rows\n")
    train, test = (tmp_path / "films" / name for name in ("train.tsv", "dev.tsv"))
    for limit, name in (
        (20, "films/train.tsv (20 of 60 rows); films/dev.tsv (20 of 30 rows)"),
        (45, "films/train.tsv (45 of 60 rows); films/dev.tsv"),
        (None, "films/train.tsv; films/dev.tsv"),
    ):
        found = evaluate_utility(few_db, train=train, test=test, text="sentence", limit=limit, mechanisms="original")
        assert found.setup.dataset == name


def test_cola_is_read_without_a_header(few_db: Path, tmp_path: Path) -> None:
    (tmp_path / "CoLA").mkdir()
    for name in ("train", "dev"):
        (tmp_path / "CoLA" / f"{name}.tsv").write_text(COLA * 10)
    data = ["--train", str(tmp_path / "CoLA/train.tsv"), "--test", str(tmp_path / "CoLA/dev.tsv")]
    utility = ["--db", str(few_db), "evaluate", "utility", *data, "--mechanisms", "original"]
    shown = run(*utility, "--no-quotes", "--no-header", "--text", "4", "--label", "2")
    assert shown.output.startswith("accuracy, tfidf; 20 training rows, 20 test rows\n")
    hint = run(*utility, "--text", "sentence")
    assert hint.exit_code == 1
    assert "if the first line is a row, as in GLUE's CoLA, number the columns: --no-header --text 4" in hint.output
    wrong = run(*utility, "--no-header", "--text", "5", "--label", "2")
    assert "column '5' does not exist; columns: 1, 2, 3, 4" in wrong.output
    assert not any(word in hint.output + wrong.output for word in ("doctor", "music", "gj04"))


def test_only_csv_and_tsv_files_have_no_header(few_db: Path, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,1\nb,0\n" * 4)
    (tmp_path / "x.jsonl").write_text('{"a": "b", "label": 1}\n')
    utility = ["--db", str(few_db), "evaluate", "utility", "--no-header", "--mechanisms", "original", "--seeds", "1"]
    for name, code, said in (
        ("x.csv", 0, "8 training rows"),
        ("x.jsonl", 1, "--no-header (in Python: header=False) is"),
    ):
        data = ["--train", str(tmp_path / name), "--test", str(tmp_path / name), "--text", "1", "--label", "2"]
        found = run(*utility, *data)
        assert found.exit_code == code and said in found.output, found.output


@pytest.mark.slow
def test_several_mappings_and_many_eps_fit_80_columns(
    few_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    data = write_sentences(tmp_path / "films")
    build_mapping(few_db, embedding="starter", k=10)
    both = ["--mapping", "starter-euclidean-k20", "--mapping", "starter-euclidean-k10", "--seeds", "2"]
    shown = run("--db", few_db, "evaluate", "utility", *data, *both, "--mechanisms", "custext", "--eps", "0,1,2,3,5,8")
    lines = shown.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.count("eps = ") for line in lines if line.startswith("mechanism")] == [3, 3]
    attack = ["--attack", "bayes", "--mechanisms", "custext", "--eps", "1"]
    traded = run("--db", few_db, "evaluate", "tradeoff", *data, *both, *attack).output.splitlines()
    assert max(map(len, traded)) <= 80
