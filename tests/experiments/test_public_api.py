"""Public functions return what the commands print with --json."""

import json
from pathlib import Path
from typing import Any

import pytest

from custext_sql import experiments
from custext_sql.cli.output import to_json
from custext_sql.errors import CusTextError
from tests.cli.test_commands import run
from tests.experiments.test_linear_models import make_sentences

NO_TEXTS: Any = 5
NO_NUMBER: Any = None
SENTENCES = ["the doctor was kind and the film was good", "she said that the car is a happy thing"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES * 3))
    return path


@pytest.fixture
def labeled(tmp_path: Path) -> dict[str, Any]:
    for name, count, seed in (("train", 60, 0), ("test", 30, 1)):
        rows, labels = make_sentences(count, seed)
        lines = (f"{text}\t{label}\n" for (text,), label in zip(rows, labels, strict=True))
        (tmp_path / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
    return {"train": tmp_path / "train.tsv", "test": tmp_path / "test.tsv", "text": "sentence"}


def assert_printed(found: Any, database: Path, *arguments: str | Path) -> None:
    """Check that a command prints with --json what a function returned, apart from commands and the time."""
    result = run("--db", database, *arguments, "--json")
    assert result.output.lstrip()[:1] in ("[", "{"), result.output
    printed, returned = json.loads(result.output), json.loads(to_json(found))
    if isinstance(printed, dict):
        for values in (printed, returned):
            values.pop("commands", None), values.pop("created_at", None)
    assert printed == returned


def test_attacks(few_db: Path, texts: Path, tmp_path: Path) -> None:
    query = experiments.attack_query(few_db, ["Car"], eps=[2, 8], sample=2, trials=200)
    command = ["attack", "query", "Car", "--eps", "2,8", "--sample", "2", "--trials", "200"]
    assert_printed(query.results, few_db, *command)
    assert [one.word for one in query.words] == ["car", "car"] and len(query.sample) == 4
    bayes = experiments.attack_bayes(few_db, eps=(1, 4), public=texts, plus=True)
    assert_printed(bayes.results, few_db, "attack", "bayes", "--eps", "1,4", "--public", texts, "--plus")
    assert [prior.name for prior in bayes.priors] == ["uniform", "texts.txt"]
    listed = experiments.attack_bayes(few_db, eps=(1, 4), public=SENTENCES * 3, plus=True)
    assert [one.success for one in listed.results] == [one.success for one in bayes.results]
    mask = experiments.attack_mask(few_db, model="ngram", data=texts, public=texts, rows=4, eps=3.0, plus=True)
    options: list[str | Path] = ["--model", "ngram", texts, "--public", texts, "--rows", "4", "--eps", "3", "--plus"]
    assert_printed(mask.results, few_db, "attack", "mask", *options)
    assert (mask.rows, mask.mechanism, mask.model) == (4, "custext+", "ngram")
    (tmp_path / "public.txt").write_text("the music was fine and the camera was late\n" * 12)
    context = experiments.attack_context(few_db, public=tmp_path / "public.txt", data=texts, eps=(0, 3), plus=True)
    options = ["--public", tmp_path / "public.txt", texts, "--eps", "0,3", "--plus"]
    assert_printed(context, few_db, "attack", "context", *options)
    assert (context.data, context.public, context.public_texts) == ("texts.txt", "public.txt", 12)


@pytest.mark.slow
def test_evaluations(few_db: Path, labeled: dict[str, Any], tmp_path: Path) -> None:
    options = ["--train", labeled["train"], "--test", labeled["test"], "--text", "sentence", "--eps", "2"]
    utility = experiments.evaluate_utility(few_db, **labeled, mechanisms=["original", "custext"], eps=2, seeds=2)
    some = ["--mechanisms", "original,custext", "--seeds", "2"]
    assert_printed(utility.results, few_db, "evaluate", "utility", *options, *some)
    assert (utility.setup.metric, utility.setup.train_rows, utility.setup.policy) == ("accuracy", 60, "paper")
    found = experiments.evaluate_tradeoff(few_db, **labeled, eps=[2], seeds=1)
    assert_printed(found.points, few_db, "evaluate", "tradeoff", *options, "--seeds", "1")
    experiments.write_tradeoff(found, tmp_path / "curves.html")
    written = (tmp_path / "curves.html").read_text()
    assert "<figure" in written and f"attack: {found.attack}" in written and found.attack == "mask (ngram)"


def test_evaluation_of_texts_in_memory(few_db: Path) -> None:
    parts = [make_sentences(count, seed) for count, seed in ((60, 0), (30, 1))]
    train, test = (experiments.LabeledTexts("some", rows, list(map(str, labels))) for rows, labels in parts)
    found = experiments.evaluate_utility(few_db, train=train, test=test, mechanisms="original")
    assert len(found.results) == 1 and found.results[0].value > 0.8


@pytest.mark.slow
def test_decisions(few_db: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = experiments.choose(few_db, data=texts, max_attack=0.95)
    assert_printed(choice, few_db, "choose", texts, "--max-attack", "0.95")
    listed = experiments.choose(few_db, data=SENTENCES * 3, max_attack=0.95)
    assert listed.chosen is not None and choice.chosen is not None and listed.chosen.eps == choice.chosen.eps
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 200)
    page = tmp_path / "report.html"
    report = experiments.write_report(few_db, html=page, data=texts, words="car", eps=2)
    assert_printed(report, few_db, "report", texts, "--word", "car", "--eps", "2")
    assert page.read_text().startswith("<!doctype html>")
    with pytest.raises(CusTextError, match="already exists"):
        experiments.write_report(few_db, html=page, eps=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: experiments.attack_query(db, sample=0), "name at least one word, or use --sample N"),
        (lambda db: experiments.attack_query(db, "alice", eps=[]), "name at least one eps"),
        (lambda db: experiments.attack_query(db, "alice", trials=5), "trials. must be at least 100; found 5"),
        (
            lambda db: experiments.attack_bayes(db, calibration="loose"),
            "must be one of paper, tight, both; found 'loose'",
        ),
        (lambda db: experiments.attack_bayes(db, public=SENTENCES, public_column="body"), "leave out public_column"),
        (
            lambda db: experiments.attack_mask(db, model="ngram", data=SENTENCES),
            "use --public FILE .in Python: public=",
        ),
        (
            lambda db: experiments.attack_mask(db, model="ngram", data=SENTENCES, rows=0),
            "rows. must be at least 1; found 0",
        ),
        (lambda db: experiments.evaluate_utility(db), "in Python: train=... and test=..., or corpus="),
        (lambda db: experiments.evaluate_tradeoff(db, attack="guess"), "attack must be one of bayes, context, mask"),
        (lambda db: experiments.choose(db, max_attack=0.5), "word frequencies are missing"),
        (
            lambda db: experiments.attack_query(db, NO_TEXTS),
            "words must be a string or a sequence of strings; found int",
        ),
        (lambda db: experiments.attack_query(db, "alice", eps=NO_NUMBER), "eps must be a number; found NoneType"),
        (lambda db: experiments.attack_query(db, "alice", seed=-1), "seed. must be at least 0; found -1"),
        (
            lambda db: experiments.attack_mask(db, model="ngram", data=NO_TEXTS),
            "path of a file, a DataTable or a sequence of texts; found int",
        ),
        (
            lambda db: experiments.choose(db, max_attack=0.5, data=SENTENCES, mappings=NO_TEXTS),
            "mappings must be a string",
        ),
    ],
)
def test_errors_name_parameters(mapped_db: Path, call: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        call(mapped_db)
