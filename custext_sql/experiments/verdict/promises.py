"""The sentences on a word and on a row: what is promised, and what attackers guess."""

import math

from custext_sql.experiments.verdict.figures import Figures, Sentence
from custext_sql.experiments.verdict.thresholds import (
    AMBER,
    CERTAIN,
    CERTAINTY,
    GUESSED,
    MEANINGFUL,
    RED,
    ROW,
    TEXTS_GUESSED,
    find_worst,
)
from custext_sql.experiments.verdict.wording import write_eps, write_factor, write_share

_UNIFORM = "uniform"
_LITTLE = 0.005  # shares that differ by less are about the same
_NEARLY_ALL = 0.999


def describe_word(figures: Figures) -> tuple[Sentence, ...]:
    """Return the sentences on a word."""
    found = [_describe_guess(figures)]
    if figures.certain is not None:
        found.append(
            Sentence(
                f"For {write_share(figures.certain)} of the replaced words, that guess is at least "
                f"{CERTAINTY:.0%} certain.",
                CERTAIN.grade(figures.certain),
                {"certain": figures.certain, "certainty": CERTAINTY},
            )
        )
    return (*found, _describe_promise(figures))


def describe_row(figures: Figures) -> tuple[Sentence, ...]:
    """Return the sentences on a row."""
    stay = "the stopwords, the punctuation" if figures.plus else "the punctuation"
    shape = f"The number and order of words stay, and so do {stay} and the places of masks."
    return (
        _describe_sum(figures),
        _describe_context(figures),
        Sentence(f"{shape} They show the grammar; an unusual text can be recognized by its shape.", None, {}),
    )


def _describe_guess(figures: Figures) -> Sentence:
    guess, at_0 = figures.guess, figures.guess_at_0
    texts = "text" if figures.is_one_text else "texts"
    if guess is None and _replaces_nothing(figures):
        return Sentence("No word is replaced, so there is nothing to guess.", None, {})
    if guess is None:
        return Sentence("How often a replaced word can be guessed was not measured.", AMBER, {})
    numbers = {"guess": guess}
    if figures.prior == _UNIFORM:
        who = "Someone who knows the groups and assumes that all words are equally frequent"
    else:
        who = f"Someone who knows the groups, and how often each word occurs in {figures.prior},"
    text = f"{who} guesses {write_share(guess)} of the replaced words, each from its replacement alone."
    if at_0 is not None and figures.eps > 0.0:
        numbers |= {"guess_at_0": at_0, "eps": figures.eps}
        eps = f"eps = {write_eps(figures.eps)}"
        if guess - at_0 >= _LITTLE:
            text += f" The groups alone allow {write_share(at_0)}; the rest is the price of {eps}."
        elif at_0 - guess >= _LITTLE:
            often = "because the most frequent words of the groups occur often here"
            text += f" At eps = 0 it would be {write_share(at_0)}: more, {often}."
        else:
            text += f" Nearly all of that is due to the groups, which are public: at eps = 0 it is {write_share(at_0)}."
        numbers["eps_0"] = 0.0
    color: str | None = GUESSED.grade(guess)
    if figures.prior == _UNIFORM:
        text += (
            " In real texts some words are far more frequent, and easier to guess; provide your texts to measure it."
        )
        color = find_worst(color, AMBER)
    elif figures.dataset not in (None, figures.prior):
        text += f" These frequencies are not those of your {texts}, which may be easier to guess."
        color = find_worst(color, AMBER)
    return Sentence(text, color, numbers)


def _replaces_nothing(figures: Figures) -> bool:
    return figures.fates is not None and not figures.fates.replaced


def _describe_promise(figures: Figures) -> Sentence:
    eps, size = figures.eps, figures.hides_among
    numbers = {"eps": eps}
    what = (
        "no output is more likely for one of them than for another"
        if eps == 0.0
        else f"no output is more than {write_factor(eps)} times as likely for one of them as for another"
    )
    if math.exp(min(eps, 13.0)) < 1e6:
        numbers["factor"] = math.exp(eps)
    if size is None:
        text = f"The promise: everyone sees the group of a replaced word, but of its words, {what}. How many there are "
        text += "was not measured."
        return Sentence(text, AMBER, numbers)
    bound = _bound_word(eps, size)
    numbers |= {"hides_among": float(size), "bound": bound}
    text = (
        f"The promise: everyone sees the group of a replaced word, but it hides among at least {size:,} words there, "
        f"and {what}. If all of them were equally likely before, "
    )
    color = GUESSED.grade(bound)
    if bound > _NEARLY_ALL:
        text += "one of them may be all but certain afterwards."
    else:
        text += f"none is more than {write_share(bound)} likely afterwards."
    return Sentence(text + (" That is hardly a promise." if color == RED else ""), color, numbers)


def _bound_word(eps: float, size: int) -> float:
    """Return how likely a word of a group can be made by an output at most, if all were equally likely."""
    return 1.0 / (1.0 + (size - 1) * math.exp(-eps))


def _describe_sum(figures: Figures) -> Sentence:
    eps, fates = figures.eps, figures.fates
    if eps == 0.0:
        text = (
            "A row of any length spends eps = 0, because nothing is drawn. That counts only what is revealed beyond "
            "the groups: everyone sees the group of every replaced word, in order."
        )
        return Sentence(text, None, {"eps": 0.0})
    if fates is None or fates.largest_replaced is None or fates.median_replaced is None:
        most = math.floor(MEANINGFUL / eps)
        text = (
            f"A row with n replaced words spends n times {write_eps(eps)}. How many your rows have was not counted. "
            f"With more than {most:,}, that is no meaningful promise for a row as a whole."
        )
        return Sentence(text, AMBER, {"eps": eps, "most_words": float(most)})
    median, largest = eps * fates.median_replaced, eps * fates.largest_replaced
    numbers = {"eps": eps, "median_row_eps": median, "largest_row_eps": largest}
    color = ROW.grade(largest)
    text = (
        f"The row spends eps once per replaced word: {write_eps(largest)} in total. "
        if fates.rows == 1
        else f"A row spends eps once per replaced word: {write_eps(median)} in the median row, {write_eps(largest)} in "
        "the longest. "
    )
    certain = 1.0 / (1.0 + math.exp(-largest))
    numbers["certain_of_row"] = certain
    if largest <= MEANINGFUL:
        text += (
            f"So between two equally likely texts of the same groups, nobody can be over {write_share(certain)} "
            "certain which one it was."
        )
    else:
        whom = "a row as a whole" if median > MEANINGFUL else "the longest rows as a whole"
        sure = "all but certain" if certain > _NEARLY_ALL else f"{write_share(certain)} certain"
        text += (
            f"That is no meaningful promise for {whom}: between two equally likely texts of the same groups, an "
            f"attacker may be {sure} which one it was."
        )
    return Sentence(text, color, numbers)


def _describe_context(figures: Figures) -> Sentence:
    if figures.context is None and _replaces_nothing(figures):
        return Sentence("No word is replaced, so a whole text shows no more than its words.", None, {})
    if figures.context is None:
        text = (
            "What a whole text gives away was not measured. It is usually more than its words one by one, so no "
            "verdict is green without it. Provide public texts like yours: --public FILE (in Python: public=...)."
        )
        return Sentence(text, AMBER, {})
    numbers = {"context": figures.context}
    color: str | None = GUESSED.grade(figures.context)
    text = (
        "With the whole text in view, and a simple model of which words follow each other in public texts, an attacker "
        f"guesses {write_share(figures.context)} of the replaced words"
    )
    if figures.texts_guessed is not None:
        of_one = figures.is_one_text
        if not of_one or figures.eps > 0.0:  # one text without draws has all of them guessed, or not
            text += f", and all of them in {write_share(figures.texts_guessed)} of the {'draws' if of_one else 'texts'}"
        numbers["texts_guessed"] = figures.texts_guessed
        color = find_worst(color, TEXTS_GUESSED.grade(figures.texts_guessed))
    text += "."
    if figures.context_at_0 is not None and figures.eps > 0.0:
        text += f" At eps = 0 it is {write_share(figures.context_at_0)}."
        numbers |= {"context_at_0": figures.context_at_0, "eps_0": 0.0}
    if figures.guess is not None and figures.context < figures.guess - _LITTLE:
        text += " That is less than without the context, so these public texts are too few, or too different, to tell."
        color = find_worst(color, AMBER)
    return Sentence(text, color, numbers)
