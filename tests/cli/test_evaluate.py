"""The command evaluate: the paper's table with the paper's values, 80 columns, GLUE's files, models, and a page."""

import json
from pathlib import Path

import pytest

from custext_sql import build_mapping, drop_embedding
from custext_sql.experiments.evaluations import EvaluationSetup, find_paper_value
from custext_sql.mapping.recipe import Recipe
from tests.cli.test_commands import fail, run
from tests.experiments.test_linear_models import make_pairs, make_sentences

COLA = "gj04\t1\t\tThe doctor loved the music.\ngj04\t0\t*\tMusic the loved doctor.\n"  # no header
COSINE = {0: None, 1: 0.7117, 2: 0.7370, 3: 0.7298, 8: 0.7957}  # of custext on SST-2
ALL = ("fbdd", "santext", "custext", "santext+", "custext+", "original", "random")


@pytest.fixture
def utility(few_db: Path) -> list[str]:
    return ["--db", str(few_db), "evaluate", "utility", "--seeds", "1"]


def write_sentences(folder: Path) -> list[str]:
    """Write two files in the format of GLUE's SST-2, and return the options that name them."""
    folder.mkdir()
    for name, count, seed in (("train", 60, 0), ("dev", 30, 1)):
        rows, labels = make_sentences(count, seed)
        lines = sorted((f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True)), key=lambda x: x[-2])
        (folder / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(lines))  # first all of one class
    return ["--train", str(folder / "train.tsv"), "--test", str(folder / "dev.tsv"), "--text", "sentence"]


@pytest.fixture
def films(tmp_path: Path) -> list[str]:
    return write_sentences(tmp_path / "films")


def test_utility_prints_the_papers_values_below_ours_with_what_differs(utility: list[str], tmp_path: Path) -> None:
    utility += [*write_sentences(tmp_path / "SST-2"), "--mechanisms", "original,custext+,custext,random"]
    found = json.loads(run(*utility, "--json").output)
    papers = {(one["mechanism"], one["eps"]): one["paper"] for one in found}
    assert papers["custext", 2.0] == 0.7172 and papers["custext", 0.0] is None and papers["custext+", 2.0] == 0.7452
    shares = {one["mechanism"]: one["in_clear"] for one in found}
    assert shares["original"] == 1.0 and shares["custext"] < shares["custext+"] < 1.0
    lines = run(*utility).output.splitlines()
    assert lines[:2] == [
        "accuracy, tfidf; 60 training rows, 30 test rows",
        "starter-euclidean-k20; calibration paper, policy paper",
    ]
    assert max(map(len, lines)) <= 80
    cells = [line.split() for line in lines[3:12]]
    assert cells[0] == ["mechanism", "clear", "eps", "=", "0", "eps", "=", "1", "eps", "=", "2", "eps", "=", "3"]
    assert [row[0] for row in cells[1::2]] == ["original", "custext+", "custext", "random"]
    assert cells[2::2] == [
        ["paper", *["0.9050"] * 4],
        ["paper", "0.7501", "0.7452", "0.7683"],
        ["paper", "0.6985", "0.7172", "0.7029"],
        ["paper", *["0.5014"] * 4],
    ]
    assert [row[1] for row in cells[1::2]] == ["100%", *(f"{share:.1%}" for share in list(shares.values())[1:])]
    eps_1, paper = lines[3].index("eps = 1") + len("eps = 1"), lines[7]
    assert paper[:eps_1].endswith("0.7501")  # in the column of eps = 1
    notes = " ".join(lines[13:])
    assert notes.startswith("clear: share of the words of the test texts that stay in the clear")
    assert "paper: Chen et al., Findings of ACL 2023, Tables 1 and 2. Here: model tfidf" in notes
    assert "model tfidf (paper: bert-base-uncased); vectors starter (paper: GloVe); words in the vocabulary:" in notes
    assert "(paper: 65,713); 60 and 30 rows (paper: 67k and 1.8k)" in notes


@pytest.mark.parametrize(
    ("dataset", "measure", "eps", "values"),
    [
        ("SST-2/train.tsv", "euclidean", 1.0, [0.5022, 0.5014, 0.6985, 0.7211, 0.7501, 0.9050, 0.5014]),
        ("MedSTS.csv", "euclidean", 3.0, [0.0411, 0.1124, 0.5242, 0.5423, 0.6213, 0.7598, 0.0382]),
        ("data/QNLI.csv", "euclidean", 2.0, [0.5152, 0.5302, 0.6884, 0.7636, 0.7602, 0.9096, 0.5037]),
        ("sst2", "euclidean", 8.0, [None, None, 0.8155]),
        *(("sst2", "cosine", float(eps), [None, None, value]) for eps, value in COSINE.items()),
        ("sst2", "manhattan", 1.0, [None, None, None]),
        ("qnli", "cosine", 1.0, [None, None, None]),
    ],
)
def test_every_task_and_measure_has_its_own_values(
    dataset: str, measure: str, eps: float, values: list[float | None]
) -> None:
    """The values are those of ALL mechanisms, or of the first ones."""
    metric = "pearson" if "STS" in dataset else "accuracy"
    recipe = Recipe("vectors", measure=measure)
    setup = EvaluationSetup(dataset, metric, "tfidf", 1, 1, ("m",), "paper", "paper", {}, (recipe,), (1,))
    for mechanism, value in zip(ALL, values, strict=False):
        mapping = "m" if mechanism.startswith("custext") else None
        assert find_paper_value(setup, mechanism, eps, embedding="vectors", mapping=mapping) == value


def test_a_limit_takes_rows_of_both_parts_evenly(utility: list[str], films: list[str]) -> None:
    """The first rows have one class only, and no model could be trained on them."""
    for limit, rows in (("20", "20 training rows, 20 test rows"), ("45", "45 training rows, 30 test rows")):
        shown = run(*utility, *films, "--mechanisms", "original", "--limit", limit).output
        assert shown.startswith(f"accuracy, tfidf; {rows}\n")


def test_cola_is_read_without_a_header(utility: list[str], tmp_path: Path) -> None:
    (tmp_path / "cola.tsv").write_text(COLA * 10)
    (tmp_path / "x.jsonl").write_text('{"a": "b", "label": 1}\n')
    cola, lines = (
        ["--train", str(tmp_path / name), "--test", str(tmp_path / name)] for name in ("cola.tsv", "x.jsonl")
    )
    utility += ["--mechanisms", "original"]
    shown = run(*utility, *cola, "--no-quotes", "--no-header", "--text", "4", "--label", "2")
    assert shown.output.startswith("accuracy, tfidf; 20 training rows, 20 test rows\n")
    hint = fail(*utility, *cola, "--text", "sentence")
    assert "if the first line is a row, as in GLUE's CoLA, number the columns: --no-header --text 4" in hint
    wrong = fail(*utility, *cola, "--no-header", "--text", "5", "--label", "2")
    assert "column '5' does not exist; columns: 1, 2, 3, 4" in wrong
    assert not any(word in hint + wrong for word in ("doctor", "music", "gj04"))
    assert "--no-header (in Python: header=False) is" in fail(*utility, *lines, "--no-header", "--text", "1")


def test_similarity_of_pairs_is_a_correlation(utility: list[str], tmp_path: Path) -> None:
    for name, count, seed in (("train", 200, 0), ("test", 80, 1)):
        rows, degrees = make_pairs(count, seed)
        lines = (f"{one}\t{other}\t{degree}\n" for (one, other), degree in zip(rows, degrees, strict=True))
        (tmp_path / f"{name}.tsv").write_text("sentence1\tsentence2\tscore\n" + "".join(lines))
    utility += ["--train", str(tmp_path / "train.tsv"), "--test", str(tmp_path / "test.tsv"), "--label", "score"]
    utility += ["--text", "sentence1", "--text", "sentence2", "--task", "similarity", "--eps", "50", "--json"]
    for model in ("tfidf", "embedding"):
        found = json.loads(run(*utility, "--mechanisms", "original,random", "--model", model).output)
        values = {one["mechanism"]: one["value"] for one in found}
        assert {(one["metric"], one["paper"]) for one in found} == {("pearson", None)}
        assert values["original"] > values["random"] + 0.1


@pytest.mark.slow
@pytest.mark.models
def test_a_model_of_hugging_face_is_fine_tuned(utility: list[str], films: list[str], tiny_bert: Path) -> None:
    utility += [*films, "--mechanisms", "original", "--epochs", "1"]
    more = ["--batch-size", "16", "--learning-rate", "1e-3", "--json"]
    [found] = json.loads(run(*utility, *more, "--model", tiny_bert).output)
    assert 0.0 <= found["value"] <= 1.0
    assert "epochs: only for fine-tuning" in fail(*utility)


@pytest.mark.slow
def test_tradeoff_compares_mappings_in_80_columns(
    few_db: Path, films: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    build_mapping(few_db, embedding="starter", k=5)
    both = ["--mapping", "starter-euclidean-k20", "--mapping", "starter-euclidean-k5", "--seeds", "2"]
    tradeoff = ["--db", str(few_db), "evaluate", "tradeoff", *films, "--mechanisms", "custext", *both]
    bayes = run(*tradeoff, "--attack", "bayes", "--eps", "1", "--html", tmp_path / "trade.html").output
    assert "attack: bayes" in bayes and bayes.count("starter-euclidean-k5 ") == 1
    page = (tmp_path / "trade.html").read_text()
    assert page.count("<figure") == 1 and "custext, starter-euclidean-k5<" in page
    masked = json.loads(run(*tradeoff, "--eps", "1,8", "--json").output)
    assert {one["attack"] for one in masked} == {"mask (ngram)"} and len(masked) == 4
    tradeoff[3] = "utility"
    utility = run(*tradeoff, "--eps", "0,1,2,3,5,8").output.splitlines()
    assert max(map(len, utility)) <= 80
    assert [line.count("eps = ") for line in utility if line.startswith("mechanism")] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--train FILE and --test FILE, --data FILE with --train-table"),
        (["--train", "x.tsv"], "name the data"),
        (
            ["--train", "FILE", "--test", "FILE"],
            "name the column of the texts, or two for pairs: --text NAME (in Python: text=...)",
        ),
        (["--corpus", "nothing.zip"], "nothing.zip does not exist"),
        (["FILMS", "--mechanisms", "custex"], "mechanism 'custex' does not exist; did you mean 'custext'?"),
        (["FILMS", "--mechanisms", ","], "name at least one mechanism"),
        (["FILMS", "--mapping", "other"], "mapping 'other' does not exist"),
        (["FILMS", "--label", "labl"], "column 'labl' does not exist; did you mean 'label'?"),
        (["FILMS", "--task", "similarity"], "name two columns, --text A --text B (in Python: text="),
        (
            ["FILMS", "--mechanisms", "santext", "--eps", "0"],
            "eps = 0 is for custext and custext+ only; give santext another eps, such as 1",
        ),
    ],
)
def test_bad_input_is_an_error(utility: list[str], films: list[str], arguments: list[str], message: str) -> None:
    named = {"FILMS": films, "FILE": [films[1]]}
    assert message in fail(*utility, *(part for one in arguments for part in named.get(one, [one])))


def test_what_is_missing_is_an_error_that_says_what_to_run(few_db: Path, utility: list[str], films: list[str]) -> None:
    tradeoff = ["--db", str(few_db), "evaluate", "tradeoff", *films]
    assert "--attack mask" in fail(*tradeoff, "--mechanisms", "fbdd", "--attack", "bayes")
    drop_embedding(few_db, name="starter")
    refused = fail(*utility, *films, "--mechanisms", "santext")
    assert f"custext --db {few_db} load FILE --name starter --replace" in refused
