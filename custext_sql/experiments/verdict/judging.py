"""Figures -> verdict: what is said of a word, a row, the dataset and what stays in the clear, each with its color."""

import math
from collections.abc import Iterator

from custext_sql.experiments.verdict.advice import advise
from custext_sql.experiments.verdict.figures import Fates, Figures, Sentence, Verdict, find_known, say
from custext_sql.experiments.verdict.thresholds import (
    AMBER,
    CERTAIN,
    CERTAINTY,
    EXPOSED,
    GREEN,
    GUESSED,
    KEPT,
    MEANINGFUL,
    RED,
    ROW,
    SYMBOLS,
    TEXTS_GUESSED,
    find_worst,
    grade_draws,
)
from custext_sql.experiments.verdict.wording import write_count, write_eps, write_factor, write_share
from custext_sql.parameters import count_of

_UNIFORM = "uniform"
_LITTLE = 0.005  # shares that differ by less are about the same
_NEARLY_ALL = 0.999


def judge(figures: Figures) -> Verdict:
    """Return what to tell the person who must sign."""
    word, row = (*_describe_word(figures),), (*_describe_row(figures),)
    dataset, in_clear = (*_describe_dataset(figures),), (*_describe_clear(figures.fates),)
    colors = [sentence.color for sentence in (*word, *row, *dataset, *in_clear)]
    color = find_worst(*colors) or AMBER
    texts = "text" if figures.is_one_text else "texts"
    return Verdict(
        color=color,
        summary=(_open_letter(colors, color, figures.is_one_text), *_sum_up(figures)),
        word=word,
        row=row,
        dataset=dataset,
        in_clear=in_clear,
        advice=(*advise(figures),),
        limits=(
            say(
                "A color stands for the attacks that were measured here. It is not a proof: a better model of the "
                "language, public texts more like yours, or knowledge about the author would allow more correct "
                "guesses."
            ),
            say(f"These figures were computed from the original {texts}. Keep them as private as the {texts}."),
        ),
    )


def _open_letter(colors: list[str | None], color: str, is_one_text: bool) -> Sentence:
    counts = {name: colors.count(name) for name in (RED, AMBER, GREEN)}
    what = "this text" if is_one_text else "these texts"
    texts = {
        RED: f"Do not release {what} with these settings: {count_of(counts[RED], 'point')} "
        f"{'is' if counts[RED] == 1 else 'are'} red.",
        AMBER: f"Release {what} only if you accept the {count_of(counts[AMBER], 'amber point')}.",
        GREEN: "Every attack that was measured here stays within the limits for green.",
    }
    return Sentence(texts[color], color, {name: float(count) for name, count in counts.items()})


def _sum_up(figures: Figures) -> Iterator[Sentence]:
    known = find_known(figures)
    if known is None:
        return
    numbers = {"known": known.share, "guessed": known.guessed}
    if not known.counted:
        yield say(f"An attacker guesses {write_share(known.guessed)} of the replaced words.", **numbers)
        return
    text = (
        f"The strongest attack measured here reads {write_share(known.share)} of all words correctly: "
        f"{write_share(known.in_clear)} because they stay in the clear, and {write_share(known.guessed)} by guessing "
        "what was replaced."
    )
    yield say(text, **numbers, in_clear=known.in_clear, masked=known.masked)


def _describe_word(figures: Figures) -> Iterator[Sentence]:
    yield _describe_guess(figures)
    if figures.certain is not None:
        share, sure = write_share(figures.certain), f"{CERTAINTY:.0%}"
        text = f"For {share} of the replaced words, that guess is at least {sure} certain."
        yield say(text, CERTAIN.grade(figures.certain), certain=figures.certain, certainty=CERTAINTY)
    yield _describe_promise(figures)


def _describe_guess(figures: Figures) -> Sentence:
    guess, at_0 = figures.guess, figures.guess_at_0
    if guess is None and figures.replaces_nothing:
        return say("No word is replaced, so there is nothing to guess.")
    if guess is None:
        return say("How often a replaced word can be guessed was not measured.", AMBER)
    numbers = {"guess": guess}
    if figures.prior == _UNIFORM:
        who = "Someone who knows the groups and assumes that all words are equally frequent"
    else:
        who = f"Someone who knows the groups, and how often each word occurs in {figures.prior},"
    text = f"{who} guesses {write_share(guess)} of the replaced words, each from its replacement alone."
    if at_0 is not None and figures.eps > 0.0:
        numbers |= {"guess_at_0": at_0, "eps": figures.eps, "eps_0": 0.0}
        share = write_share(at_0)
        if guess - at_0 >= _LITTLE:
            text += f" The groups alone allow {share}; the rest is the price of eps = {write_eps(figures.eps)}."
        elif at_0 - guess >= _LITTLE:
            often = "because the most frequent words of the groups occur often here"
            text += f" At eps = 0 it would be {share}: more, {often}."
        else:
            text += f" Nearly all of that is due to the groups, which are public: at eps = 0 it is {share}."
    color = GUESSED.grade(guess)
    if figures.prior == _UNIFORM:
        text += (
            " In real texts some words are far more frequent, and easier to guess; provide your texts to measure it."
        )
        color = find_worst(color, AMBER)
    elif figures.dataset not in (None, figures.prior):
        texts = "text" if figures.is_one_text else "texts"
        text += f" These frequencies are not those of your {texts}, which may be easier to guess."
        color = find_worst(color, AMBER)
    return say(text, color, **numbers)


def _describe_promise(figures: Figures) -> Sentence:
    eps, size = figures.eps, figures.hides_among
    numbers = {"eps": eps}
    if math.exp(min(eps, 13.0)) < 1e6:
        numbers["factor"] = math.exp(eps)
    likely = f"than {write_factor(eps)} times as likely for one of them as" if eps else "likely for one of them than"
    what = f"no output is more {likely} for another"
    promise = "The promise: everyone sees the group of a replaced word, but"
    if size is None:
        return say(f"{promise} of its words, {what}. How many there are was not measured.", AMBER, **numbers)
    # how likely an output can make a word of a group, if all were equally likely before
    bound = 1.0 / (1.0 + (size - 1) * math.exp(-eps))
    color = GUESSED.grade(bound)
    likely = (
        "one of them may be all but certain afterwards."
        if bound > _NEARLY_ALL
        else f"none is more than {write_share(bound)} likely afterwards."
    )
    text = (
        f"{promise} it hides among at least {size:,} words there, and {what}. If all of them were equally likely "
        f"before, {likely}{' That is hardly a promise.' if color == RED else ''}"
    )
    return say(text, color, **numbers, hides_among=float(size), bound=bound)


def _describe_row(figures: Figures) -> Iterator[Sentence]:
    yield _describe_sum(figures.eps, figures.fates)
    yield _describe_context(figures)
    stay = "the stopwords, the punctuation" if figures.plus else "the punctuation"
    yield say(
        f"The number and order of words stay, and so do {stay} and the places of masks. They show the grammar; an "
        "unusual text can be recognized by its shape."
    )


def _describe_sum(eps: float, fates: Fates | None) -> Sentence:
    if eps == 0.0:
        text = (
            "A row of any length spends eps = 0, because nothing is drawn. That counts only what is revealed beyond "
            "the groups: everyone sees the group of every replaced word, in order."
        )
        return say(text, eps=0.0)
    if fates is None or fates.largest_replaced is None or fates.median_replaced is None:
        most = math.floor(MEANINGFUL / eps)
        text = (
            f"A row with n replaced words spends n times {write_eps(eps)}. How many your rows have was not counted. "
            f"With more than {most:,}, that is no meaningful promise for a row as a whole."
        )
        return say(text, AMBER, eps=eps, most_words=float(most))
    median, largest = eps * fates.median_replaced, eps * fates.largest_replaced
    certain = 1.0 / (1.0 + math.exp(-largest))
    text = (
        f"The row spends eps once per replaced word: {write_eps(largest)} in total. "
        if fates.rows == 1
        else f"A row spends eps once per replaced word: {write_eps(median)} in the median row, {write_eps(largest)} in "
        "the longest. "
    )
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
    numbers = {"eps": eps, "median_row_eps": median, "largest_row_eps": largest, "certain_of_row": certain}
    return say(text, ROW.grade(largest), **numbers)


def _describe_context(figures: Figures) -> Sentence:
    context, of_one = figures.context, figures.is_one_text
    if context is None and figures.replaces_nothing:
        return say("No word is replaced, so a whole text shows no more than its words.")
    if context is None:
        text = (
            "What a whole text gives away was not measured. It is usually more than its words one by one, so no "
            "verdict is green without it. Provide public texts like yours: --public FILE (in Python: public=...)."
        )
        return say(text, AMBER)
    numbers, color = {"context": context}, GUESSED.grade(context)
    text = (
        "With the whole text in view, and a simple model of which words follow each other in public texts, an attacker "
        f"guesses {write_share(context)} of the replaced words"
    )
    if figures.texts_guessed is not None:
        if not of_one or figures.eps > 0.0:  # one text without draws has all of them guessed, or not
            text += f", and all of them in {write_share(figures.texts_guessed)} of the {'draws' if of_one else 'texts'}"
        numbers["texts_guessed"] = figures.texts_guessed
        color = find_worst(color, TEXTS_GUESSED.grade(figures.texts_guessed))
    text += "."
    if figures.context_at_0 is not None and figures.eps > 0.0:
        text += f" At eps = 0 it is {write_share(figures.context_at_0)}."
        numbers |= {"context_at_0": figures.context_at_0, "eps_0": 0.0}
    if figures.guess is not None and context < figures.guess - _LITTLE:
        text += " That is less than without the context, so these public texts are too few, or too different, to tell."
        color = find_worst(color, AMBER)
    return say(text, color, **numbers)


def _describe_dataset(figures: Figures) -> Iterator[Sentence]:
    together = "their eps adds up" if figures.eps else "all their groups are seen together"
    several = f"not by person. If one person wrote several of them, {together}."
    if figures.fates is None:
        yield say(f"Rows are counted one by one, {several}")
    elif figures.is_one_text:
        yield say(f"This is one row. If its author wrote others, {together}.", rows=1.0)
    else:
        rows = figures.fates.rows
        yield say(f"The {rows:,} rows are counted one by one, {several}", rows=float(rows))
    yield _describe_draws(figures)
    yield _describe_releases(figures)


def _describe_draws(figures: Figures) -> Sentence:
    if figures.eps == 0.0:
        return say(
            "Every occurrence of a word becomes the same word, so repeating it reveals nothing new. But everyone sees "
            "which places have words of the same group."
        )
    each = "Every occurrence of a word is drawn separately, and draws of the same word add up"
    if not figures.draws_measured:
        return say(f"{each}. How many identify it was not measured here (custext attack query).")
    if figures.draws is None:
        return say(f"{each}, but no number of draws identifies the median word.", GREEN)
    text = (
        f"{each}: someone who knows which draws belong together identifies half of the vocabulary from about "
        f"{write_count(figures.draws)} draws or fewer per word."
    )
    return say(text, grade_draws(figures.draws), draws=figures.draws)


def _describe_releases(figures: Figures) -> Sentence:
    count, before = figures.releases, figures.released_under
    texts, were, them = ("this text", "was", "it") if figures.is_one_text else ("these texts", "were", "them")
    if count is None:
        return say(f"Whether {texts} {were} released before is not known here. Releases add up: see custext ledger.")
    if not count:
        again = f"If you release {them} again, the eps of both adds up."
        more = again if figures.eps else "Another one with other groups would reveal more."
        return say(f"The ledger has no earlier release of {texts} under this name. {more}")
    numbers, color = {"releases": float(count)}, AMBER
    text = f"The ledger has {count_of(count, 'earlier release')} of {texts}"
    adds = "" if before else " This one adds to it."
    if figures.spent is None:
        text += f", and it is unknown how much they spent.{adds}"
    elif math.isinf(figures.spent):
        text += ", and at least one was not protected. What was in it cannot be protected any more."
        color = RED
    else:
        numbers["spent"] = figures.spent
        text += f", which spent a total eps of up to {write_eps(figures.spent)} on a row.{adds}"
    if before is None:
        return say(text, color, **numbers)
    text += (
        f" {'It' if count == 1 else 'They'} used another mapping, {before}, so this one would show everyone a second "
        "group of every word, whatever eps"
    )
    least, median = figures.least_left, figures.median_left
    if least is None or median is None:
        text += ". How few candidates both groups leave for a word is unknown."
    elif not least:
        text += ". But the two mappings have no word in common."
    else:
        numbers |= {"least_left": float(least), "median_left": float(median)}
        text += f": both groups together leave as few as {count_of(least, 'candidate')} for a word (median {median:,})."
    use = f"Use --mapping {before} (in Python: mapping=...); custext sanitize refuses any other."
    return say(f"{text} {use}", RED, **numbers)


def _describe_clear(fates: Fates | None) -> Iterator[Sentence]:
    if fates is None:
        yield say("What passes in the clear was not counted. Provide your texts to count it.", AMBER)
        return
    yield _describe_exposed(fates)
    if fates.kept:
        yield _describe_kept(fates)
    if fates.symbols:
        share, one = fates.share(fates.symbols), fates.symbols == 1
        stay = "stays as it is" if one else "stay as they are"
        text = (
            f"{count_of(fates.symbols, 'symbol')}, such as emoji, {stay}: {write_share(share)} of the number of words."
        )
        if SYMBOLS.grade(share) != GREEN:
            text += " Some symbols spell words, such as flags: look for them with custext diff."
        yield say(text, SYMBOLS.grade(share), symbols=float(fates.symbols), symbols_share=share)
    yield _describe_rest(fates)


def _describe_exposed(fates: Fates) -> Sentence:
    share, words = fates.share(fates.exposed), count_of(fates.words, "word")
    numbers = {"words": float(fates.words), "exposed": float(fates.exposed), "exposed_share": share}
    if not fates.exposed:
        return say(f"Of {words}, none outside the vocabulary passes unchanged.", EXPOSED.grade(share), **numbers)
    kinds = {"word": fates.unknown_kept, "number": fates.numbers_kept}
    what = " and ".join(count_of(count, kind) for kind, count in kinds.items() if count)
    text = (
        f"{what} outside the vocabulary {'passes' if fates.exposed == 1 else 'pass'} unchanged: {write_share(share)} "
        f"of {words}. Rare words are often names. To see them: custext leaks."
    )
    numbers |= {"unknown_kept": float(fates.unknown_kept), "numbers_kept": float(fates.numbers_kept)}
    return say(text, EXPOSED.grade(share), **numbers)


def _describe_kept(fates: Fates) -> Sentence:
    labels = {"stopwords": "stopwords", "public": "public words", "endings": "endings such as 's"}
    shares = {name: fates.share(getattr(fates, name)) for name in labels if getattr(fates, name)}
    what = ", ".join(f"{labels[name]} ({write_share(share)} of all words)" for name, share in shares.items())
    text, kept = f"These stay on purpose: {what}.", fates.share(fates.kept)
    if KEPT.grade(kept) != GREEN:
        text += " They show the grammar, and help to guess the words between them."
    return say(text, KEPT.grade(kept), **shares, kept=kept)


def _describe_rest(fates: Fates) -> Sentence:
    shares = {"replaced": fates.share(fates.replaced)}
    text = f"{write_share(shares['replaced'])} of the words are replaced"
    if fates.unchanged is not None:
        shares["unchanged"] = fates.share(fates.unchanged)
        text += f", {write_share(shares['unchanged'])} of all words by themselves (the output does not mark which)"
    if fates.masked:
        shares["masked"] = fates.share(fates.masked)
        text += f"; {write_share(shares['masked'])} are masked"
    if fates.units_masked:
        shares["units_masked"] = float(fates.units_masked)
        text += f", among them {count_of(fates.units_masked, 'unit')} such as e-mail addresses and dates"
    if fates.altered:
        shares["altered"] = fates.share(fates.altered)
        text += f"; {write_share(shares['altered'])} are numbers or unknown words replaced at random"
    return say(f"{text}.", **shares)
