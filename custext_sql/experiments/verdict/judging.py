"""Figures -> verdict."""

from itertools import chain

from custext_sql.experiments.verdict.advice import advise
from custext_sql.experiments.verdict.figures import Figures, Sentence, Verdict
from custext_sql.experiments.verdict.findings import describe_clear, describe_dataset
from custext_sql.experiments.verdict.known_words import find_known
from custext_sql.experiments.verdict.promises import describe_row, describe_word
from custext_sql.experiments.verdict.thresholds import AMBER, GREEN, RED, find_worst
from custext_sql.experiments.verdict.wording import write_share
from custext_sql.parameters import count_of

_NO_PROOF = Sentence(
    "A color stands for the attacks that were measured here. It is not a proof: a better model of the language, "
    "public texts more like yours, or knowledge about the author would allow more correct guesses.",
    None,
    {},
)


def judge(figures: Figures) -> Verdict:
    """Return what to tell the person who must sign."""
    word, row = describe_word(figures), describe_row(figures)
    dataset, in_clear = describe_dataset(figures), describe_clear(figures)
    colors = [sentence.color for sentence in chain(word, row, dataset, in_clear)]
    color = find_worst(*colors) or AMBER
    texts = "text" if figures.is_one_text else "texts"
    private = f"These figures were computed from the original {texts}. Keep them as private as the {texts}."
    return Verdict(
        color=color,
        summary=(_open_letter(colors, color, figures.is_one_text), *_sum_up(figures)),
        word=word,
        row=row,
        dataset=dataset,
        in_clear=in_clear,
        advice=advise(figures),
        limits=(_NO_PROOF, Sentence(private, None, {})),
    )


def _open_letter(colors: list[str | None], color: str, is_one_text: bool) -> Sentence:
    numbers = {name: float(colors.count(name)) for name in (RED, AMBER, GREEN)}
    points = {name: count_of(colors.count(name), "point") for name in (RED, AMBER)}
    what = "this text" if is_one_text else "these texts"
    texts = {
        RED: f"Do not release {what} with these settings: {points[RED]} {_are(colors, RED)} red.",
        AMBER: f"Release {what} only if you accept the {count_of(colors.count(AMBER), 'amber point')}.",
        GREEN: "Every attack that was measured here stays within the limits for green.",
    }
    return Sentence(texts[color], color, numbers)


def _are(colors: list[str | None], color: str) -> str:
    return "is" if colors.count(color) == 1 else "are"


def _sum_up(figures: Figures) -> list[Sentence]:
    known = find_known(figures)
    if known is None:
        return []
    numbers = {"known": known.share, "guessed": known.guessed}
    if not known.counted:
        return [Sentence(f"An attacker guesses {write_share(known.guessed)} of the replaced words.", None, numbers)]
    numbers |= {"in_clear": known.in_clear, "masked": known.masked}
    text = (
        f"The strongest attack measured here reads {write_share(known.share)} of all words correctly: "
        f"{write_share(known.in_clear)} because they stay in the clear, and {write_share(known.guessed)} by guessing "
        "what was replaced."
    )
    return [Sentence(text, None, numbers)]
