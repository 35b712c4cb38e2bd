"""Libraries that only an extra installs: everything else works without them, and errors name the extra."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluations import check_model
from custext_sql.experiments.extras import check_installed, import_library

EXTRAS = ("sklearn", "scipy", "torch", "transformers", "huggingface_hub")
ADVICE = "in a checkout of custext-sql, run: pip install "

# Runs the commands on its standard input, each a line of words between tabs, as if no extra were installed.
_WITHOUT_EXTRAS = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None
from click.testing import CliRunner
from custext_sql.cli import main
for line in sys.stdin.read().splitlines():
    arguments = line.split("\\t")
    result = CliRunner().invoke(main, arguments)
    print(result.exit_code, " ".join(arguments[2:4]), "|", *result.output.splitlines()[-1:])
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("custext", config={{"database": sys.argv[1]}})
print(0, "spacy", "|", len(nlp("alice bob")._.custext.split()))
"""


def test_everything_but_evaluations_and_models_works_without_extras(mapped_db: Path, tmp_path: Path) -> None:
    texts, labeled = tmp_path / "texts.txt", tmp_path / "labeled.csv"
    texts.write_text("alice met bob and carol\ndave and erin saw frank\n" * 5)
    labeled.write_text("text,label\na good film,1\na bad film,0\n")
    data = ["--train", str(labeled), "--test", str(labeled), "--text", "text"]
    mask = ["attack", "mask", str(texts), "--rows", "2", "--eps", "1", "--model"]
    works = [
        ["sanitize", str(texts), str(tmp_path / "out.txt")],
        ["sql", "SELECT custext_sanitize('alice', 1.0, false) AS text"],
        ["audit"],
        ["attack", "bayes", "--eps", "1"],
        ["attack", "query", "alice", "--eps", "8", "--trials", "100"],
        [*mask, "ngram", "--public", str(texts)],
        ["choose", str(texts), "--max-attack", "0.99"],
        ["report", "--html", str(tmp_path / "report.html"), str(texts), "--word", "alice"],
    ]
    fails = [
        (["evaluate", "utility", *data], f"Error: this needs scikit-learn; {ADVICE}'.[evaluation]'"),
        (
            ["evaluate", "tradeoff", *data, "--attack", "bayes"],
            f"Error: this needs scikit-learn; {ADVICE}'.[evaluation]'",
        ),
        (["evaluate", "utility", *data, "--model", "some/bert"], f"Error: this needs torch; {ADVICE}'.[models]'"),
        ([*mask, "some/bert"], f"Error: this needs torch; {ADVICE}'.[models]'"),
    ]
    lines = ["\t".join(["--db", str(mapped_db), *arguments]) for arguments in [*works, *(one for one, _ in fails)]]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS, str(mapped_db)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stderr
    *printed, component = done.stdout.splitlines()
    for arguments, line in zip(works, printed, strict=False):
        assert line.startswith("0 "), (arguments, line)
    for (arguments, message), line in zip(fails, printed[len(works) :], strict=True):
        assert line == f"1 {' '.join(arguments[:2])} | {message}"
    assert component == "0 spacy | 2"


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
