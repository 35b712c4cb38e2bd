"""What `choose` returns."""

from dataclasses import dataclass

from custext_sql.experiments.choosing.candidate import Candidate
from custext_sql.experiments.choosing.growth import Growth
from custext_sql.experiments.verdict.figures import Verdict


@dataclass(frozen=True)
class Choice:
    """The mappings that `choose` considered, and the one that it suggests.

    attack: "bayes" or "context". bound: its largest acceptable success: `max_attack`, or the default.
    prior, prior_words: the name of the word frequencies, and the number of words that they were counted from.
    public, left_out, skipped: for the context attack, the name of the public texts, and how many of them were left out
        because they are also in the data, or skipped because they are empty; None for others.
    texts, attacked: for the context attack, the number of your texts, and of those that were attacked; None for others.
    plus: whether stopwords are kept. policy: its name. calibration: how eps sets the temperature, "paper" or "tight".
    candidates: one per mapping.
    chosen: the suggested candidate; None if no mapping meets the bound at any eps. If your texts were released before,
        it has the same mapping, if possible; otherwise its `refused` is true.
    released_under: the mapping of earlier releases of your texts, if any candidate has another one.
    growth: whether larger groups still help; None if the mappings differ in more than K.
    verdict: what the suggestion means for your texts, in plain words; None without a suggestion.
    """

    attack: str
    bound: float
    prior: str
    prior_words: int
    public: str | None
    left_out: int | None
    skipped: int | None
    texts: int | None
    attacked: int | None
    plus: bool
    policy: str
    calibration: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    growth: Growth | None
    verdict: Verdict | None
    released_under: str | None = None
