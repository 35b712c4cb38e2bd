"""Experiments under every policy: units and kept words."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import Policy, Sanitizer
from custext_sql.experiments import attack_context, attack_mask
from custext_sql.experiments.context_attack import Alphabet, count_context_guesses, learn_bigrams
from custext_sql.experiments.mechanisms import MappingUnderTest, Trial
from custext_sql.sanitizer.tally import Tally
from custext_sql.text.columns import open_column

TEXTS = ["the doctor wrote to ann@example.org on 2020-01-02 and the nurse called", "Zzyzxa, the nurse paid 1234567"] * 3
PUBLIC = ["the doctor wrote to x@y.com and the nurse was late", "on 1999-12-31 the doctor paid the nurse"] * 4
KEPT = Policy(keep_words=["nurse", "zzyzxa"])


@pytest.mark.parametrize(
    "policy, plus",
    [("strict", False), ("paper", True), (KEPT, True), (Policy(units="keep", unknown="keep", numbers="keep"), False)],
)
def test_attacks_see_the_words_that_a_release_would_make(few_db: Path, policy: str | Policy, plus: bool) -> None:
    """Counts of the attack are those of a receipt: words, replaced words, and words in the clear."""
    under_test = MappingUnderTest(few_db, policy=policy)
    trial = Trial(under_test, "custext+" if plus else "custext", 1.0)
    column = open_column(TEXTS)[0]
    model = learn_bigrams(Alphabet(under_test.mapping, trial.replacer, plus=plus), open_column(PUBLIC)[0])
    counts = count_context_guesses(model, trial.replacer.mechanism, column, 1.0, 0)
    sanitizer, tally = Sanitizer.load(few_db, policy=policy, eps=1.0, plus=plus), Tally()
    sanitizer.sanitize_column(column, tally=tally)
    receipt = sanitizer.receipt(tally)
    clear = receipt.stopwords + receipt.endings + receipt.kept + receipt.unknown_kept
    clear += receipt.numbers if isinstance(policy, Policy) and policy.numbers == "keep" else 0
    assert (counts["words"], counts["replaced"], counts["in_clear"]) == (receipt.words, receipt.replaced, clear)
    assert trial.find_share_in_clear(TEXTS) == clear / receipt.words


@pytest.mark.parametrize("name", ["original", "custext+", "santext+", "random"])
def test_the_share_in_the_clear_is_that_of_words_kept(few_db: Path, name: str) -> None:
    trial = Trial(MappingUnderTest(few_db, policy=KEPT), name, 1.0)
    share = trial.find_share_in_clear(TEXTS * 20)
    if name == "original":
        assert share == 1.0
        return
    pieces = [piece for row in trial.compare(TEXTS * 20) for piece in row if piece.kind is not None]
    kept = [piece.in_clear for piece in pieces]
    if name == "santext+":  # frequent words that stay can only have been kept, since it draws rare ones only
        frequent = set(np.array(MappingUnderTest(few_db).mapping.words)[MappingUnderTest(few_db).space.ranks < 300])
        kept = [piece.in_clear or (piece.before == piece.after and piece.before in frequent) for piece in pieces]
    assert share == pytest.approx(sum(kept) / len(pieces), abs=1e-12)


def test_results_name_the_policy(few_db: Path) -> None:
    context = attack_context(few_db, public=PUBLIC, data=TEXTS, policy=KEPT, eps=1)
    mask = attack_mask(few_db, model="ngram", public=PUBLIC, data=TEXTS, policy="strict", eps=1)
    assert (context.policy, mask.policy) == ("strict, except 2 kept words", "strict")
