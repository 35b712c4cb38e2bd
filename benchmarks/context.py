"""Measures the context attack on sentence_polarity with movie_reviews as public texts: success, speed and memory."""

import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.measuring import peak_megabytes
from benchmarks.sanitizing import read_corpora
from custext_sql import build_mapping, load_embeddings
from custext_sql.experiments.attacks.context_attack import ContextCounts, count_context_guesses, learn_bigrams
from custext_sql.experiments.attacks.context_model import Alphabet, BigramModel
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
    mechanism = under_test.open("custext+" if plus else "custext")
    assert mechanism.replacer is not None
    alphabet = Alphabet(under_test.mapping, mechanism.replacer, plus=plus)
    models: list[BigramModel] = []
    started = time.perf_counter()
    megabytes = peak_megabytes(lambda: models.append(learn_bigrams(alphabet, public)))
    seconds = time.perf_counter() - started
    print(f"  K = {under_test.mapping.info.k}, {mechanism.name}: model learned in {seconds:.1f} s, {megabytes:.0f} MB")
    found: list[ContextCounts] = []

    def count(epsilon: float) -> None:
        found.append(count_context_guesses(models[0], mechanism, attacked, epsilon, 0))

    for epsilon in EPSILONS:
        started = time.perf_counter()
        megabytes = peak_megabytes(partial(count, epsilon))
        seconds = time.perf_counter() - started
        counts = found[-1]
        print(
            f"    eps = {epsilon:g}: {counts.success:.4f} of {counts.replaced:,} replaced words guessed, "
            f"{counts.guessed_singly / counts.replaced:.4f} without context, "
            f"{counts.texts_guessed:.4f} of texts entirely"
        )
        print(
            f"      {counts.words:,} words in {seconds:.1f} s, 100,000 words in {seconds / counts.words * 1e5:.1f} s "
            f"(limit: {LIMIT:.0f} s), {counts.words / seconds:,.0f} words/s, {megabytes:.0f} MB"
        )
