"""The commands attack and evaluate, as a person types them. (For others, see test_report.py and test_choose.py.)"""

import json
from pathlib import Path

import pytest

from custext_sql import build_mapping, drop_embedding, load_mapping
from tests.cli.test_commands import run
from tests.experiments.test_linear_models import make_pairs, make_sentences


@pytest.fixture
def glue(tmp_path: Path) -> list[str]:
    """Return options that name labeled sentences."""
    for name, count, seed in (("train", 120, 0), ("test", 60, 1)):
        rows, labels = make_sentences(count, seed)
        lines = (f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True))
        (tmp_path / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
    return ["--train", str(tmp_path / "train.tsv"), "--test", str(tmp_path / "test.tsv"), "--text", "sentence"]


@pytest.fixture
def tiny_bert(tmp_path: Path) -> Path:
    """Return the folder of a tiny BERT, trained here."""
    from tests.tiny_bert import save_model, train_bert

    return save_model(tmp_path / "bert", *train_bert())


@pytest.fixture
def texts(few_template: Path, tmp_path: Path) -> str:
    """Return the path of 20 lines of 20 words: twenty whole groups of the mapping, each word once."""
    words = load_mapping(few_template).words
    path = tmp_path / "texts.txt"
    path.write_text("".join(" ".join(words[start : start + 400 : 20]) + "\n" for start in range(20)))
    return str(path)


@pytest.mark.slow
def test_query_prints_words_and_quantiles(few_db: Path) -> None:
    result = run("--db", few_db, "attack", "query", "car", "she", "--eps", "2,8", "--trials", "500", "--sample", "4")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].startswith("starter-euclidean-k20, calibration paper: draws needed to identify a word")
    assert [line.split()[:2] for line in lines[3:7]] == [
        ["car", "mode"],
        ["car", "likelihood"],
        ["she", "mode"],
        ["she", "likelihood"],
    ]
    assert " ± " in lines[3]
    assert "4 random words of the vocabulary: draws needed" in result.output
    assert result.output.count("95%") == 2


def test_query_gives_json(few_db: Path) -> None:
    result = run("--db", few_db, "attack", "query", "car", "--eps", "1,8", "--trials", "500", "--json")
    found = json.loads(result.output)
    assert [(one["word"], one["eps"]) for one in found] == [("car", 1.0), ("car", 8.0)]
    assert all(isinstance(one["n_mode"], int) and isinstance(one["n_ml"], int) for one in found)
    assert found[0]["n_mode"] > found[1]["n_mode"]


@pytest.mark.slow
def test_bayes_prints_both_calibrations_and_the_floor(few_db: Path, texts: str, tmp_path: Path) -> None:
    result = run("--db", few_db, "attack", "bayes", "--eps", "1,5", "--public", texts, "--plus")
    assert result.exit_code == 0
    assert "prior: uniform, stopwords kept" in result.output
    assert "prior: texts.txt (400 words, " in result.output
    for label in ("group alone (floor)", "calibration paper", "calibration tight"):
        assert result.output.count(label) == 2
    (tmp_path / "prior.csv").write_text("doctor,10\nnurse,5\n")
    found = json.loads(
        run("--db", few_db, "attack", "bayes", "--eps", "5", "--prior", tmp_path / "prior.csv", "--json").output
    )
    assert {(one["prior"], one["calibration"]) for one in found} == {
        ("uniform", "paper"),
        ("uniform", "tight"),
        ("prior.csv", "paper"),
        ("prior.csv", "tight"),
    }
    assert all(one["floor"] <= one["success"] <= 1.0 for one in found)


def test_the_same_prior_under_another_name_is_shown_under_that_name(few_db: Path, texts: str, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(Path(texts).read_text())
    for path in (texts, str(other)):
        result = run("--db", few_db, "attack", "bayes", "--eps", "2", "--public", path)
        assert result.exit_code == 0
        assert f"prior: {Path(path).name} (400 words" in result.output


def test_masks_are_guessed_by_ngrams(few_db: Path, texts: str) -> None:
    masks = ["attack", "mask", "--model", "ngram", "--public", texts, texts, "--rows", "10"]
    result = run("--db", few_db, *masks, "--eps", "1,50")
    assert result.exit_code == 0
    assert "custext, policy paper\n10 texts, masked words guessed by ngram" in result.output
    found = json.loads(run("--db", few_db, *masks, "--eps", "1,50", "--json").output)
    assert found[0]["r_mask"] < found[1]["r_mask"]
    assert found[0]["privacy"] == 1.0 - found[0]["r_mask"]


@pytest.mark.slow
@pytest.mark.models
def test_masks_are_guessed_by_a_real_model(few_db: Path, texts: str, tiny_bert: Path) -> None:
    """The BERT is trained here; the same code loads any other model."""
    masks = ["attack", "mask", "--model", str(tiny_bert), texts, "--rows", "3", "--eps", "2", "--json"]
    [found] = json.loads(run("--db", few_db, *masks).output)
    assert 0.0 <= found["r_mask"] <= 1.0
    assert found["model"] == str(tiny_bert)


@pytest.mark.models
def test_no_model_is_a_clear_message(few_db: Path, texts: str) -> None:
    pytest.importorskip("torch", reason="needs the extra models")
    pytest.importorskip("transformers", reason="needs the extra models")
    result = run("--db", few_db, "attack", "mask", "--model", "./no-such-model", texts)
    assert result.exit_code == 1
    assert "cannot load the model" in result.output and "--model ngram --public FILE" in result.output


@pytest.mark.slow
def test_utility_prints_table_1(few_db: Path, glue: list[str]) -> None:
    mechanisms = ["--mechanisms", "original,custext+,custext,santext+,santext,fbdd,random"]
    result = run("--db", few_db, "evaluate", "utility", *glue, *mechanisms, "--eps", "1,3", "--seeds", "2")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "accuracy, tfidf; 120 training rows, 60 test rows"
    assert lines[1] == "starter-euclidean-k20; calibration paper, policy paper"
    assert lines[3].split() == ["mechanism", "clear", "eps", "=", "1", "eps", "=", "3"]
    assert [line.split()[0] for line in lines[4:11]] == mechanisms[1].split(",")
    assert all(line.count("±") == 2 for line in lines[5:11])
    found = json.loads(run("--db", few_db, "evaluate", "utility", *glue, "--eps", "1", "--seeds", "2", "--json").output)
    assert {"mechanism", "eps", "k", "seed", "metric", "value"} <= set(found[0])
    assert {(one["mechanism"], one["eps"], one["k"], one["seed"]) for one in found} >= {
        ("original", None, None, 0),
        ("random", None, None, 1),
        ("custext", 1.0, 20, 1),
        ("santext", 1.0, None, 0),
    }


def test_only_custext_has_an_eps_of_zero(few_db: Path, glue: list[str]) -> None:
    utility = ["--db", str(few_db), "evaluate", "utility", *glue, "--seeds", "2", "--mechanisms"]
    lines = run(*utility, "custext+,custext,santext,random", "--eps", "0,1").output.splitlines()
    assert [line.count("±") for line in lines[4:8]] == [2, 2, 1, 2]
    refused = run(*utility, "santext", "--eps", "0")
    assert refused.exit_code == 1
    assert "eps = 0 is for custext and custext+ only; give santext another eps, such as 1" in refused.output


def test_similarity_of_pairs_is_a_correlation(few_db: Path, tmp_path: Path) -> None:
    for name, count, seed in (("train", 200, 0), ("test", 80, 1)):
        rows, degrees = make_pairs(count, seed)
        lines = (f"{one}\t{other}\t{degree}\n" for (one, other), degree in zip(rows, degrees, strict=True))
        (tmp_path / f"{name}.tsv").write_text("sentence1\tsentence2\tscore\n" + "".join(lines))
    data = ["--train", str(tmp_path / "train.tsv"), "--test", str(tmp_path / "test.tsv"), "--label", "score"]
    data += ["--text", "sentence1", "--text", "sentence2", "--task", "similarity", "--seeds", "1", "--json"]
    more = ["--mechanisms", "original,custext,random", "--eps", "50"]
    for model in ("tfidf", "embedding"):
        found = json.loads(run("--db", few_db, "evaluate", "utility", *data, *more, "--model", model).output)
        values = {one["mechanism"]: one["value"] for one in found}
        assert {one["metric"] for one in found} == {"pearson"}
        assert values["original"] > values["random"] + 0.1


@pytest.mark.slow
@pytest.mark.models
def test_a_model_of_hugging_face_is_fine_tuned(few_db: Path, glue: list[str], tiny_bert: Path) -> None:
    more = ["--mechanisms", "original", "--epochs", "1", "--batch-size", "16", "--learning-rate", "1e-3", "--json"]
    [found] = json.loads(run("--db", few_db, "evaluate", "utility", *glue, *more, "--model", str(tiny_bert)).output)
    assert 0.0 <= found["value"] <= 1.0
    settings = run("--db", few_db, "evaluate", "utility", *glue, "--mechanisms", "original", "--epochs", "1")
    assert settings.exit_code == 1 and "epochs: only for fine-tuning" in settings.output


@pytest.mark.slow
def test_tradeoff_prints_points_and_draws_them(few_db: Path, glue: list[str], tmp_path: Path) -> None:
    build_mapping(few_db, embedding="starter", k=5)
    mappings = ["--mapping", "starter-euclidean-k20", "--mapping", "starter-euclidean-k5"]
    page = tmp_path / "trade.html"
    result = run(
        "--db", few_db, "evaluate", "tradeoff", *glue, *mappings, "--eps", "1,8", "--seeds", "1", "--html", page
    )
    assert result.exit_code == 0
    assert "attack: mask (ngram)" in result.output
    assert result.output.count("starter-euclidean-k5 ") == 4
    assert page.read_text().count("<figure") == 1 and "custext, starter-euclidean-k5<" in page.read_text()
    bayes = run(
        "--db", few_db, "evaluate", "tradeoff", *glue, "--attack", "bayes", "--seeds", "1", "--eps", "2", "--json"
    )
    assert {one["attack"] for one in json.loads(bayes.output)} == {"bayes"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attack", "query", "carr"], "did you mean"),
        (["attack", "query", "car", "--eps", "1,,2"], "expected comma-separated numbers such as 1,2,3"),
        (["attack", "query", "car", "--eps", "0.0005"], "eps must be 0, or between 0.001 and 100"),
        (["attack", "bayes", "--prior", "nothing.csv"], "nothing.csv"),
        (["attack", "bayes", "--prior", "a.csv", "--public", "b.csv"], "not both"),
        (
            ["attack", "mask", "--model", "ngram", "TEXTS"],
            "learns from public texts; use --public FILE (in Python: public=...)",
        ),
        (
            ["attack", "mask", "--model", "ngram", "TEXTS", "--column", "x"],
            "leave out --column (in Python: column)",
        ),
        (["evaluate", "utility"], "--train FILE and --test FILE, --data FILE with --train-table"),
        (["evaluate", "utility", "--train", "TEXTS"], "name the data"),
        (
            ["evaluate", "utility", "--train", "TEXTS", "--test", "TEXTS"],
            "name the column of the texts, or two for pairs: --text NAME (in Python: text=...)",
        ),
        (["evaluate", "utility", "--corpus", "nothing.zip"], "nothing.zip does not exist"),
        (
            ["evaluate", "utility", "GLUE", "--mechanisms", "custex"],
            "mechanism 'custex' does not exist; did you mean 'custext'?",
        ),
        (["evaluate", "utility", "GLUE", "--mechanisms", ","], "name at least one mechanism"),
        (["evaluate", "utility", "GLUE", "--mapping", "other"], "mapping 'other' does not exist"),
        (["evaluate", "utility", "GLUE", "--label", "labl"], "column 'labl' does not exist; did you mean 'label'?"),
        (
            ["evaluate", "utility", "GLUE", "--task", "similarity"],
            "name two columns, --text A --text B (in Python: text=",
        ),
        (["evaluate", "tradeoff", "GLUE", "--mechanisms", "fbdd", "--attack", "bayes"], "--attack mask"),
        (
            ["choose", "TEXTS", "--max-attack", "2"],
            "--max-attack (in Python: max_attack) must be above 0 and below 1; found 2",
        ),
        (["choose", "nothing.csv", "--column", "x", "--max-attack", "0.5"], "nothing.csv does not exist"),
    ],
)
def test_bad_input_is_an_error(few_db: Path, texts: str, glue: list[str], arguments: list[str], message: str) -> None:
    written = [part for one in arguments for part in ({"TEXTS": [texts], "GLUE": glue}.get(one, [one]))]
    result = run("--db", few_db, *written)
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())


def test_dropped_vectors_are_an_error_that_says_what_to_run(few_db: Path, glue: list[str]) -> None:
    drop_embedding(few_db, name="starter")
    result = run("--db", few_db, "evaluate", "utility", *glue, "--mechanisms", "santext")
    assert result.exit_code == 1
    assert f"custext --db {few_db} load FILE --name starter --replace" in result.output
