"""Measures the context attack on sentence_polarity with movie_reviews as public texts: success, speed and memory."""

import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

from benchmarks.measuring import peak_megabytes
from benchmarks.sanitizing import read_corpora
from custext_sql import build_mapping, load_embeddings
from custext_sql.experiments.context_attack import Alphabet, BigramModel, count_context_guesses, learn_bigrams
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.text.columns import TextColumn, open_column

SIZES = (20, 40)
EPSILONS = (0.0, 1.0, 3.0)
LIMIT = 60.0  # seconds that 100,000 words may take, at each eps


def main() -> None:
    attacked, public = (open_column(texts)[0] for texts in read_corpora())
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "custext.duckdb"
        load_embeddings(database, "starter", name="starter")
        print(f"\ncontext attack on {len(attacked):,} sentences, with a bigram model of {len(public):,} reviews")
        for k in SIZES:
            build_mapping(database, embedding="starter", k=k, name=f"greedy-{k}")
            for plus in (False, True):
                attack(MappingUnderTest(database, mapping=f"greedy-{k}"), attacked, public, plus=plus)


def attack(under_test: MappingUnderTest, attacked: TextColumn, public: TextColumn, *, plus: bool) -> None:
    """Attack at each eps, and print how it went."""
    name = "custext+" if plus else "custext"
    replacer = under_test.open(name)
    alphabet = Alphabet(under_test.mapping, replacer, plus=plus)
    models: list[BigramModel] = []
    started = time.perf_counter()
    megabytes = peak_megabytes(lambda: models.append(learn_bigrams(alphabet, public)))
    seconds = time.perf_counter() - started
    print(f"  K = {under_test.mapping.info.k}, {name}: model learned in {seconds:.1f} s, {megabytes:.0f} MB")
    found: list[Counter[str]] = []

    def count(epsilon: float) -> None:
        found.append(count_context_guesses(models[0], replacer.mechanism, attacked, epsilon, 0))

    for epsilon in EPSILONS:
        started = time.perf_counter()
        megabytes = peak_megabytes(partial(count, epsilon))
        seconds = time.perf_counter() - started
        counts = found[-1]
        words, replaced = counts["words"], counts["replaced"]
        print(
            f"    eps = {epsilon:g}: {counts['guessed'] / replaced:.4f} of {replaced:,} replaced words guessed, "
            f"{counts['guessed_singly'] / replaced:.4f} without context, "
            f"{counts['texts_complete'] / counts['texts']:.4f} of texts entirely"
        )
        print(
            f"      {words:,} words in {seconds:.1f} s, 100,000 words in {seconds / words * 1e5:.1f} s "
            f"(limit: {LIMIT:.0f} s), {words / seconds:,.0f} words/s, {megabytes:.0f} MB"
        )
