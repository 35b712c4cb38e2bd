"""The sentences on the whole dataset, and on what passes in the clear."""

import math

from custext_sql.experiments.verdict.figures import Fates, Figures, Sentence
from custext_sql.experiments.verdict.thresholds import AMBER, EXPOSED, GREEN, KEPT, RED, SYMBOLS, grade_draws
from custext_sql.experiments.verdict.wording import write_count, write_eps, write_share
from custext_sql.parameters import count_of


def describe_dataset(figures: Figures) -> tuple[Sentence, ...]:
    """Return the sentences on the whole dataset."""
    together = "their eps adds up" if figures.eps else "all their groups are seen together"
    several = f"If one person wrote several of them, {together}."
    if figures.fates is None:
        people, numbers = f"Rows are counted one by one, not by person. {several}", {}
    elif figures.is_one_text:
        people, numbers = f"This is one row. If its author wrote others, {together}.", {"rows": 1.0}
    else:
        people = f"The {figures.fates.rows:,} rows are counted one by one, not by person. {several}"
        numbers = {"rows": float(figures.fates.rows)}
    return Sentence(people, None, numbers), _describe_draws(figures), _describe_releases(figures)


def describe_clear(figures: Figures) -> tuple[Sentence, ...]:
    """Return the sentences on what passes in the clear."""
    fates = figures.fates
    if fates is None:
        return (Sentence("What passes in the clear was not counted. Provide your texts to count it.", AMBER, {}),)
    found = [_describe_exposed(fates)]
    if fates.kept:
        found.append(_describe_kept(fates))
    if fates.symbols:
        found.append(_describe_symbols(fates))
    return (*found, _describe_rest(fates))


def _describe_draws(figures: Figures) -> Sentence:
    if figures.eps == 0.0:
        text = (
            "Every occurrence of a word becomes the same word, so repeating it reveals nothing new. But everyone sees "
            "which places have words of the same group."
        )
        return Sentence(text, None, {})
    each = "Every occurrence of a word is drawn separately, and draws of the same word add up"
    if not figures.draws_measured:
        return Sentence(f"{each}. How many identify it was not measured here (custext attack query).", None, {})
    if figures.draws is None:
        return Sentence(f"{each}, but no number of draws identifies the median word.", GREEN, {})
    text = (
        f"{each}: someone who knows which draws belong together identifies half of the vocabulary from about "
        f"{write_count(figures.draws)} draws or fewer per word."
    )
    return Sentence(text, grade_draws(figures.draws), {"draws": figures.draws})


def _describe_releases(figures: Figures) -> Sentence:
    count = figures.releases
    texts, were, them = ("this text", "was", "it") if figures.is_one_text else ("these texts", "were", "them")
    if count is None:
        text = f"Whether {texts} {were} released before is not known here. Releases add up: see custext ledger."
        return Sentence(text, None, {})
    if not count:
        text = f"The ledger has no earlier release of {texts} under this name. "
        if figures.eps == 0.0:
            return Sentence(f"{text}Another one with other groups would reveal more.", None, {})
        return Sentence(f"{text}If you release {them} again, the eps of both adds up.", None, {})
    numbers = {"releases": float(count)}
    text, color = f"The ledger has {count_of(count, 'earlier release')} of {texts}", AMBER
    adds = "" if figures.released_under else " This one adds to it."
    if figures.spent is None:
        text += f", and it is unknown how much they spent.{adds}"
    elif math.isinf(figures.spent):
        text += ", and at least one was not protected. What was in it cannot be protected any more."
        color = RED
    else:
        numbers["spent"] = figures.spent
        text += f", which spent a total eps of up to {write_eps(figures.spent)} on a row.{adds}"
    if figures.released_under is None:
        return Sentence(text, color, numbers)
    return Sentence(f"{text} {_describe_second_mapping(figures, numbers)}", RED, numbers)


def _describe_second_mapping(figures: Figures, numbers: dict[str, float]) -> str:
    """Return what another mapping than that of earlier releases would reveal. numbers: gets those of the text."""
    before, least, median = figures.released_under, figures.least_left, figures.median_left
    text = (
        f"{'It' if figures.releases == 1 else 'They'} used another mapping, {before}, so this one would show everyone "
        "a second group of every word, whatever eps"
    )
    if least is None or median is None:
        text += ". How few candidates both groups leave for a word is unknown."
    elif not least:
        text += ". But the two mappings have no word in common."
    else:
        numbers |= {"least_left": float(least), "median_left": float(median)}
        text += f": both groups together leave as few as {count_of(least, 'candidate')} for a word (median {median:,})."
    return f"{text} Use --mapping {before} (in Python: mapping=...); custext sanitize refuses any other."


def _describe_exposed(fates: Fates) -> Sentence:
    share = fates.share(fates.exposed)
    numbers = {"words": float(fates.words), "exposed": float(fates.exposed), "exposed_share": share}
    if not fates.exposed:
        text = f"Of {count_of(fates.words, 'word')}, none outside the vocabulary passes unchanged."
        return Sentence(text, EXPOSED.grade(share), numbers)
    kinds = [("word", fates.unknown_kept), ("number", fates.numbers_kept)]
    what = " and ".join(count_of(count, kind) for kind, count in kinds if count)
    numbers |= {"unknown_kept": float(fates.unknown_kept), "numbers_kept": float(fates.numbers_kept)}
    text = (
        f"{what} outside the vocabulary {'passes' if fates.exposed == 1 else 'pass'} unchanged: {write_share(share)} "
        f"of {count_of(fates.words, 'word')}. Rare words are often names. To see them: custext leaks."
    )
    return Sentence(text, EXPOSED.grade(share), numbers)


def _describe_kept(fates: Fates) -> Sentence:
    kinds = (
        ("stopwords", fates.stopwords, "stopwords"),
        ("public words", fates.public, "public"),
        ("endings such as 's", fates.endings, "endings"),
    )
    there = [(label, fates.share(count), name) for label, count, name in kinds if count]
    what = ", ".join(f"{label} ({write_share(share)} of all words)" for label, share, name in there)
    numbers = {name: share for label, share, name in there}
    share = fates.share(fates.kept)
    text = f"These stay on purpose: {what}."
    if KEPT.grade(share) != GREEN:
        text += " They show the grammar, and help to guess the words between them."
    return Sentence(text, KEPT.grade(share), numbers | {"kept": share})


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
    return Sentence(f"{text}.", None, shares)


def _describe_symbols(fates: Fates) -> Sentence:
    share = fates.share(fates.symbols)
    stay = f"{count_of(fates.symbols, 'symbol')}, such as emoji, {'stays' if fates.symbols == 1 else 'stay'} as "
    text = f"{stay}{'it is' if fates.symbols == 1 else 'they are'}: {write_share(share)} of the number of words."
    color = SYMBOLS.grade(share)
    if color != GREEN:
        text += " Some symbols spell words, such as flags: look for them with custext diff."
    return Sentence(text, color, {"symbols": float(fates.symbols), "symbols_share": share})
