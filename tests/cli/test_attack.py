"""The command attack: query, bayes, context and mask."""

import json
from pathlib import Path

import pytest

from custext_sql import load_mapping
from tests.cli.test_commands import fail, run

PUBLIC = ["The doctor was late.", "she said the nurse was fine", "the music was great and the doctor was kind"] * 4
TEXTS = ["the doctor said the nurse was late", "I love this music and that, which was fine", "THE doctor was  late. "]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Return options that name public texts and texts to attack. One text is in both."""
    (tmp_path / "public.txt").write_text("\n".join(PUBLIC))
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    return ["--public", str(tmp_path / "public.txt"), str(tmp_path / "data.jsonl"), "--column", "body"]


@pytest.fixture
def texts(few_template: Path, tmp_path: Path) -> str:
    """Return the path of 20 lines of 20 words: twenty whole groups of the mapping, each word once."""
    words = load_mapping(few_template).words
    path = tmp_path / "texts.txt"
    path.write_text("".join(" ".join(words[start : start + 400 : 20]) + "\n" for start in range(20)))
    return str(path)


def test_query_prints_words_and_quantiles(few_db: Path) -> None:
    attack = ["--db", str(few_db), "attack", "query", "car", "she", "--eps", "2,8", "--trials", "100", "--sample", "2"]
    lines = run(*attack).output.splitlines()
    assert lines[0].startswith("starter-euclidean-k20, calibration paper: draws needed to identify a word")
    assert [line.split()[:2] for line in lines[3:7]] == [
        [word, attacker] for word in ("car", "she") for attacker in ("mode", "likelihood")
    ]
    assert " ± " in lines[3]
    assert lines[8].startswith("2 random words of the vocabulary: draws needed")
    assert [line.split()[0] for line in lines[10:]] == ["5%", "25%", "50%", "75%", "95%"] * 2
    found = json.loads(run(*attack, "--json").output)
    assert [(one["word"], one["eps"]) for one in found[:4]] == [("car", 2), ("car", 8), ("she", 2), ("she", 8)]
    assert found[0]["n_mode"] > found[1]["n_mode"] and isinstance(found[0]["n_ml"], int)


def test_bayes_prints_both_calibrations_and_the_floor(few_db: Path, texts: str, tmp_path: Path) -> None:
    bayes = ["--db", str(few_db), "attack", "bayes", "--eps", "1,5"]
    result = run(*bayes, "--public", texts, "--plus")
    assert "prior: uniform, stopwords kept" in result.output
    assert "prior: texts.txt (400 words, " in result.output
    for label in ("group alone (floor)", "calibration paper", "calibration tight"):
        assert result.output.count(label) == 2
    other = Path(texts).rename(tmp_path / "other.txt")  # the same prior
    assert "prior: other.txt (400 words, " in run(*bayes, "--public", other, "--plus").output
    (tmp_path / "prior.csv").write_text("doctor,10\nnurse,5\n")
    found = json.loads(run(*bayes, "--prior", tmp_path / "prior.csv", "--json").output)
    assert {(one["prior"], one["calibration"]) for one in found} == {
        (prior, calibration) for prior in ("uniform", "prior.csv") for calibration in ("paper", "tight")
    }
    assert all(one["floor"] <= one["success"] <= 1.0 for one in found)


def test_masks_are_guessed_by_ngrams(few_db: Path, texts: str) -> None:
    masks = ["--db", str(few_db), "attack", "mask", "--model", "ngram", "--public", texts, texts, "--rows", "10"]
    result = run(*masks, "--eps", "1,50")
    assert "custext, policy paper\n10 texts, masked words guessed by ngram" in result.output
    found = json.loads(run(*masks, "--eps", "1,50", "--json").output)
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
    said = fail("--db", few_db, "attack", "mask", "--model", "./no-such-model", texts)
    assert "cannot load the model" in said and "--model ngram --public FILE" in said


def test_context_prints_a_table_with_the_success_at_eps_0(few_db: Path, files: list[str]) -> None:
    context = ["--db", str(few_db), "attack", "context", *files]
    result = run(*context)
    lines = result.output.splitlines()
    assert lines[0] == "starter-euclidean-k20, K = 20, calibration paper, policy paper"
    assert lines[1].startswith("attacked: data.jsonl, 3 texts, ") and lines[1].endswith(" replaced words")
    assert lines[2] == "learned from: public.txt, 8 texts; left out because they are in both: 4"
    assert [line.split()[0] for line in lines[4:9]] == ["eps", "0", "1", "2", "3"]
    assert lines[-1] == f"At eps = 0: {lines[5].split()[1]} of the replaced words"
    assert max(map(len, lines)) <= 80
    assert not any(word in result.output for word in ("doctor", "nurse", "music"))
    found = json.loads(run(*context, "--eps", "1", "--rows", "2", "--plus", "--json").output)
    assert (found["texts"], found["left_out"], found["plus"]) == (2, 0, True)
    [one] = found["results"]
    assert one["eps"] == 1.0 and 0.0 <= one["success"] <= 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "carr"], "did you mean"),
        (["query", "car", "--eps", "1,,2"], "expected comma-separated numbers such as 1,2,3"),
        (["query", "car", "--eps", "0.0005"], "eps must be 0, or between 0.001 and 100"),
        (["bayes", "--prior", "nothing.csv"], "nothing.csv"),
        (["bayes", "--prior", "a.csv", "--public", "b.csv"], "not both"),
        (["mask", "--model", "ngram", "LINES"], "learns from public texts; use --public FILE (in Python: public=...)"),
        (["mask", "--model", "ngram", "LINES", "--column", "x"], "leave out --column (in Python: column)"),
        (["context", "--public", "nothing.txt", "DATA"], "nothing.txt"),
        (["context", "--public", "SAME", "DATA"], "all are also among the attacked texts"),
        (["context", "--public", "LINES", "DATA", "--public-column", "x"], "leave out --public-column"),
        (["context", "DATA"], "--public"),
    ],
)
def test_wrong_options_are_errors(few_db: Path, files: list[str], arguments: list[str], message: str) -> None:
    named = {"LINES": [files[1]], "DATA": files[2:], "SAME": [files[2]]}
    assert message in fail("--db", few_db, "attack", *(part for one in arguments for part in named.get(one, [one])))
