"""Libraries that only an extra installs: everything else works without them, and errors name the extra."""

import sys
from pathlib import Path

import pytest

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluations import check_model
from custext_sql.experiments.extras import check_installed, import_library
from tests.cli.test_commands import run

EXTRAS = ("sklearn", "scipy", "torch", "transformers", "huggingface_hub")
ADVICE = "in a checkout of custext-sql, run: pip install "


def test_everything_but_evaluations_and_models_works_without_extras(
    mapped_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("custext_sql.experiments.report.SIMULATIONS", 100)
    monkeypatch.setattr("custext_sql.experiments.report.SAMPLE", 2)
    texts, labeled = tmp_path / "texts.txt", tmp_path / "labeled.csv"
    texts.write_text("alice met bob and carol\ndave and erin saw frank\n" * 5)
    labeled.write_text("text,label\na good film,1\na bad film,0\n")
    data: list[str | Path] = ["--train", labeled, "--test", labeled, "--text", "text"]
    mask: list[str | Path] = ["attack", "mask", texts, "--rows", "2", "--eps", "1", "--model"]
    works: list[list[str | Path]] = [
        ["sanitize", texts, tmp_path / "out.txt"],
        ["attack", "bayes", "--eps", "1"],
        ["attack", "query", "alice", "--eps", "8", "--trials", "100"],
        [*mask, "ngram", "--public", texts],
        ["choose", texts, "--max-attack", "0.99"],
        ["report", "--html", tmp_path / "report.html", texts, "--word", "alice"],
    ]
    for arguments in works:
        assert run("--db", mapped_db, *arguments).exit_code == 0, arguments
    fails: list[tuple[list[str | Path], str, str]] = [
        (["evaluate", "utility", *data], "scikit-learn", "evaluation"),
        (["evaluate", "tradeoff", *data, "--attack", "bayes"], "scikit-learn", "evaluation"),
        (["evaluate", "utility", *data, "--model", "some/bert"], "torch", "models"),
        ([*mask, "some/bert"], "torch", "models"),
    ]
    for arguments, library, extra in fails:
        result, said = run("--db", mapped_db, *arguments), f"this needs {library}; {ADVICE}'.[{extra}]'"
        assert result.exit_code == 1 and said in " ".join(result.output.split())


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, name, extra in (
        ("sklearn", "scikit-learn", "evaluation"),
        ("scipy", "scipy", "evaluation"),
        ("torch", "torch", "models"),
        ("transformers", "transformers", "models"),
        ("huggingface_hub", "huggingface_hub", "models"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        for action in (check_installed, import_library):
            with pytest.raises(SettingError) as raised:
                action(package)
            assert str(raised.value) == f"this needs {name}; {ADVICE}'.[{extra}]'"


def test_a_library_that_is_broken_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sklearn.py").write_text("import a_library_that_does_not_exist")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    check_installed("sklearn")
    with pytest.raises(SettingError, match="this needs scikit-learn, which is installed but cannot be imported; in a"):
        import_library("sklearn")


def test_a_missing_library_is_reported_before_data_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    for model, missing in (("tfidf", "scikit-learn"), ("embedding", "scikit-learn"), ("some/bert", "torch")):
        with pytest.raises(SettingError, match=f"this needs {missing};"):
            check_model(model)
    with pytest.raises(SettingError, match="did you mean 'tfidf'"):
        check_model("tfidff")
