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


def printed(database: Path, *arguments: str | Path) -> Any:
    """Return what a command prints, on a copy of the database without results."""
    copy = database.with_name("copy.duckdb")
    copy.write_bytes(database.read_bytes())
    result = run("--db", copy, *arguments, "--json")
    assert result.output.lstrip()[:1] in ("[", "{"), result.output
    return json.loads(result.output)


def as_printed(value: Any) -> Any:
    return json.loads(to_json(value))


@pytest.mark.slow
def test_the_query_attack(few_db: Path) -> None:
    expected = printed(few_db, "attack", "query", "Car", "--eps", "2,8", "--sample", "2", "--trials", "200")
    attack = experiments.attack_query(few_db, ["Car"], eps=[2, 8], sample=2, trials=200)
    assert as_printed(attack.results) == expected
    assert [one.word for one in attack.words] == ["car", "car"] and len(attack.sample) == 4
    assert experiments.attack_query(few_db, "car", eps=8, trials=200).words == attack.words[1:]


@pytest.mark.slow
def test_the_bayes_attack(few_db: Path, texts: Path) -> None:
    expected = printed(few_db, "attack", "bayes", "--eps", "1,4", "--public", texts, "--plus")
    attack = experiments.attack_bayes(few_db, eps=(1, 4), public=texts, plus=True)
    assert as_printed(attack.results) == expected
    assert [prior.name for prior in attack.priors] == ["uniform", "texts.txt"]
    listed = experiments.attack_bayes(few_db, eps=(1, 4), public=SENTENCES * 3, plus=True)
    assert [one.success for one in listed.results] == [one.success for one in attack.results]
    assert listed.priors[1].name == "texts"


def test_the_mask_attack(few_db: Path, texts: Path) -> None:
    options: list[str | Path] = ["--model", "ngram", texts, "--public", texts, "--rows", "4", "--eps", "3"]
    expected = printed(few_db, "attack", "mask", *options, "--plus")
    attack = experiments.attack_mask(few_db, model="ngram", data=texts, public=texts, rows=4, eps=3.0, plus=True)
    assert as_printed(attack.results) == expected
    assert (attack.rows, attack.mechanism, attack.model) == (4, "custext+", "ngram")
    listed = experiments.attack_mask(few_db, model="ngram", data=SENTENCES, public=SENTENCES, rows=None, eps=3.0)
    assert listed.rows == 2


def test_the_context_attack(few_db: Path, texts: Path, tmp_path: Path) -> None:
    public = tmp_path / "public.txt"
    public.write_text("the music was fine and the camera was late\n" * 12)
    expected = printed(few_db, "attack", "context", "--public", public, texts, "--eps", "0,3", "--plus")
    attack = experiments.attack_context(few_db, public=public, data=texts, eps=(0, 3), plus=True)
    assert as_printed(attack) == expected
    assert (attack.data, attack.public, attack.public_texts) == ("texts.txt", "public.txt", 12)


@pytest.mark.slow
def test_evaluation_of_utility(few_db: Path, labeled: dict[str, Any]) -> None:
    options = ["--train", labeled["train"], "--test", labeled["test"], "--text", "sentence", "--eps", "2"]
    expected = printed(few_db, "evaluate", "utility", *options, "--mechanisms", "original,custext", "--seeds", "2")
    found = experiments.evaluate_utility(few_db, **labeled, mechanisms=["original", "custext"], eps=2, seeds=2)
    assert as_printed(found.results) == expected
    assert (found.setup.metric, found.setup.train_rows, found.setup.policy) == ("accuracy", 60, "paper")


def test_evaluation_of_texts_in_memory(few_db: Path) -> None:
    parts = [make_sentences(count, seed) for count, seed in ((60, 0), (30, 1))]
    train, test = (experiments.LabeledTexts("some", rows, list(map(str, labels))) for rows, labels in parts)
    found = experiments.evaluate_utility(few_db, train=train, test=test, mechanisms="original")
    assert len(found.results) == 1 and found.results[0].value > 0.8


@pytest.mark.slow
def test_the_tradeoff(few_db: Path, labeled: dict[str, Any], tmp_path: Path) -> None:
    options = ["--train", labeled["train"], "--test", labeled["test"], "--text", "sentence", "--eps", "2"]
    expected = printed(few_db, "evaluate", "tradeoff", *options, "--seeds", "1")
    found = experiments.evaluate_tradeoff(few_db, **labeled, eps=[2], seeds=1)
    assert as_printed(found.points) == expected
    assert found.attack == "mask (ngram)"
    experiments.write_tradeoff(found, tmp_path / "curves.html")
    assert "<figure" in (tmp_path / "curves.html").read_text()
    with pytest.raises(CusTextError, match="attack must be one of bayes, context, mask"):
        experiments.evaluate_tradeoff(few_db, **labeled, attack="guess")


@pytest.mark.slow
def test_choosing(few_db: Path, texts: Path) -> None:
    expected = printed(few_db, "choose", texts, "--max-attack", "0.95")
    choice = experiments.choose(few_db, data=texts, max_attack=0.95)
    assert expected.pop("commands")[-1].startswith("custext --db ")
    assert as_printed(choice) == expected
    listed = experiments.choose(few_db, data=SENTENCES * 3, max_attack=0.95)
    assert listed.chosen is not None and choice.chosen is not None and listed.chosen.eps == choice.chosen.eps
    with pytest.raises(CusTextError, match="word frequencies are missing"):
        experiments.choose(few_db, max_attack=0.5)


@pytest.mark.slow
def test_the_report(few_db: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 200)
    expected = printed(few_db, "report", texts, "--word", "car", "--eps", "2")
    page = tmp_path / "report.html"
    report = experiments.write_report(few_db, html=page, data=texts, words="car", eps=2)
    found = as_printed(report)
    assert found | {"created_at": ""} == expected | {"created_at": ""}
    assert page.read_text().startswith("<!doctype html>")
    with pytest.raises(CusTextError, match="already exists"):
        experiments.write_report(few_db, html=page, eps=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: experiments.attack_query(db, sample=0), "name at least one word, or use --sample N"),
        (lambda db: experiments.attack_query(db, "car", eps=[]), "name at least one eps"),
        (lambda db: experiments.attack_query(db, "car", trials=5), "trials. must be at least 100; found 5"),
        (
            lambda db: experiments.attack_bayes(db, calibration="loose"),
            "must be one of paper, tight, both; found 'loose'",
        ),
        (
            lambda db: experiments.attack_bayes(db, public=SENTENCES, public_column="body"),
            "leave out public_column",
        ),
        (
            lambda db: experiments.attack_mask(db, model="ngram", data=SENTENCES),
            "use --public FILE .in Python: public=",
        ),
        (
            lambda db: experiments.attack_mask(db, model="ngram", data=SENTENCES, rows=0),
            "rows. must be at least 1; found 0",
        ),
        (lambda db: experiments.evaluate_utility(db), "in Python: train=... and test=..., or corpus="),
        (
            lambda db: experiments.attack_query(db, NO_TEXTS),
            "words must be a string or a sequence of strings; found int",
        ),
        (
            lambda db: experiments.attack_query(db, "car", eps=NO_NUMBER),
            "eps must be a number; found NoneType",
        ),
        (lambda db: experiments.attack_query(db, "car", seed=-1), "seed. must be at least 0; found -1"),
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
def test_errors_name_parameters(few_db: Path, call: Any, message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        call(few_db)
