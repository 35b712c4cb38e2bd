"""Compares settings: accuracy on NLTK's sentence polarity, and what an attacker with NLTK's movie reviews guesses."""

import os
import tempfile
import time
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from custext_sql import Sanitizer, build_mapping
from custext_sql.experiments import attack_context, evaluate_utility
from custext_sql.experiments.texts import read_sentence_polarity
from custext_sql.store.building import load_starter

SEEDS = 3
PAPER, DEFAULT = "starter-euclidean-k20", "starter"
REFINED = {f"refined-k{k}": k for k in (20, 80, 160)}
SETTINGS = [
    *((PAPER, eps) for eps in (1.0, 2.0, 3.0)),
    *((DEFAULT, eps) for eps in (0.0, 1.0)),
    *((name, 0.0) for name in REFINED),
]
MECHANISMS = ("custext", "custext+")
TEXTS = (
    "My doctor in Boston was kind, and the surgery went well.",
    "Dariusz Kowalczyk takes Xanax and lives with his sister in Leeds.",
    "A gripping, funny film, but the ending is a disappointment.",
)


def main() -> None:
    data = os.environ.get("CUSTEXT_DATA")
    if not data:
        print("\nbetter_text needs CUSTEXT_DATA, a folder with sentence_polarity.zip and movie_reviews.zip")
        return
    started = time.monotonic()
    corpus, public = Path(data) / "sentence_polarity.zip", read_sentences(Path(data) / "movie_reviews.zip")
    attacked = [text for (text,) in read_sentence_polarity(corpus)[1].texts]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        database = Path(folder) / "custext.duckdb"
        load_starter(database)
        for name, k in REFINED.items():
            build_mapping(database, embedding="starter", k=k, grouping="refined", separate_stopwords=True, name=name)
        original = find_accuracy(database, corpus, "original", PAPER, 1.0)
        print(
            f"\nsentence_polarity, accuracy of the original texts {original:.3f}; {len(attacked):,} texts attacked with"
        )
        print(f"{len(public):,} sentences of movie_reviews; means of {SEEDS} seeds; all words / with plus\n")
        print(f"{'mapping':<22}  eps  {'accuracy':<13}  {'single guess':<13}  {'guess with context':<18}")
        for name, eps in SETTINGS:
            rows = [measure(database, corpus, public, attacked, name, eps, plus=plus) for plus in (False, True)]
            shown = ["{:.3f} / {:.3f}".format(*pair) for pair in zip(*rows, strict=True)]
            print(f"{name:<22}  {eps:>3g}  {shown[0]}  {shown[1]}  {shown[2]}", flush=True)
        show_texts(database)
    print(f"{time.monotonic() - started:.0f} s")


def read_sentences(archive: Path) -> list[str]:
    """Return the lines of all texts of an NLTK corpus; NLTK has one sentence per line."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if name.endswith(".txt") and "/cv" in name]
        return [line for name in sorted(names) for line in opened.read(name).decode("latin-1").splitlines() if line]


def measure(
    database: Path, corpus: Path, public: Sequence[str], attacked: Sequence[str], name: str, eps: float, *, plus: bool
) -> tuple[float, float, float]:
    """Return the accuracy, the single guess and the guess with context, each a mean over the seeds."""
    accuracy = find_accuracy(database, corpus, MECHANISMS[plus], name, eps)
    seeds = range(1 if eps == 0 else SEEDS)
    results = [
        attack_context(database, public=public, data=attacked, eps=eps, plus=plus, mapping=name, seed=seed).results[0]
        for seed in seeds
    ]
    return accuracy, mean(r.single for r in results), mean(r.success for r in results)


def show_texts(database: Path) -> None:
    """Print a few texts before and after, under each setting."""
    print("\ntexts with plus\n" + "\n".join(f"  {text}" for text in TEXTS))
    for name, eps in SETTINGS:
        sanitizer = Sanitizer.load(database, mapping=name, seed=0)
        print(
            f"{name}, eps = {eps:g}\n" + "\n".join(f"  {text}" for text in sanitizer.sanitize_batch(TEXTS, eps, True))
        )


def find_accuracy(database: Path, corpus: Path, mechanism: str, mapping: str, eps: float) -> float:
    """Return the mean accuracy over the seeds."""
    found = evaluate_utility(database, corpus=corpus, mechanisms=mechanism, eps=eps, mappings=mapping, seeds=SEEDS)
    return mean(result.value for result in found.results)
