"""A choice in sentences."""

import math

from custext_sql.experiments.choosing.choice import Candidate, Choice
from custext_sql.parameters import count_of

_LARGEST = 640  # the largest K to suggest; tables grow with K


def describe_setting(choice: Choice) -> list[str]:
    """Return what was compared: the texts, the attacker, the bound and the mappings."""
    kept = ", stopwords kept" if choice.plus else ""
    most = max(candidate.drawn for candidate in choice.candidates)
    lines = [f"texts: {choice.prior}, {count_of(choice.prior_words, 'word')}, {most:.1%} of them replaced{kept}"]
    if choice.public is None:
        lines.append("attack: the best single guess, by someone who knows how frequent each word is")
    else:
        without = [f"{count_of(choice.left_out, 'text')} of yours"] if choice.left_out else []
        without += [count_of(choice.skipped, "empty text")] if choice.skipped else []
        less = f" (without {' and '.join(without)})" if without else ""
        lines.append(f"attack: the best guess from the whole text, by someone who learned from {choice.public}{less}")
    if choice.attacked != choice.texts:
        lines.append(f"attacked: {choice.attacked:,} of {choice.texts:,} texts, evenly spaced")
    lines.append(f"bound: at most {choice.bound:g} of the replaced words are guessed; calibration {choice.calibration}")
    limits = dict.fromkeys(f"{candidate.max_eps:g}" for candidate in choice.candidates)
    lines.append(f"eps: 0, or at most {', '.join(limits)}{' (by mapping)' if len(limits) > 1 else ''}")
    first, new = choice.candidates[0], [candidate for candidate in choice.candidates if not candidate.stored]
    if new or choice.growth is not None:
        apart = ", stopwords apart" if first.recipe.stopword_language else ""
        memory = f"; {len(new)} of {len(choice.candidates)} made in memory, not stored" if new else ""
        lines.append(f"groups: {first.recipe.grouping}{apart}, of {first.words:,} words of {first.embedding}{memory}")
    return lines


def describe_choice(choice: Choice) -> list[str]:
    """Return what is suggested, and what it guarantees; if there is nothing, why not, and what to try."""
    chosen = choice.chosen
    if chosen is None or chosen.eps is None or chosen.success is None:
        return [*_explain_failure(choice), *_describe_earlier(choice)]
    guess = "The best single guess" if choice.public is None else "The best guess from the whole text"
    found = [
        f"Suggestion: K = {chosen.k}, eps = {chosen.eps:g}. {guess} is right for {chosen.success:.1%} of "
        "the replaced words."
    ]
    if choice.growth is not None:
        found.append(choice.growth.describe())
    if chosen.eps == 0.0:
        promise = "at eps = 0, the output depends on replaced words only through their groups."
    else:
        promise = (
            f"eps = {chosen.eps:g} guarantees for each replaced word that no output is more than e^{chosen.eps:g} = "
            f"{math.exp(chosen.eps):,.4g} times as likely for one word of a group as for another."
        )
    return [
        *found,
        f"The bound holds for this attack only. Whatever the attack, {promise}",
        *_describe_earlier(choice),
    ]


def _describe_earlier(choice: Choice) -> list[str]:
    """Return what earlier releases under another mapping mean for the suggestion."""
    before, chosen = choice.released_under, choice.chosen
    if before is None:
        return []
    text = (
        f"The ledger has earlier releases of these texts, under mapping {before}. Another mapping would reveal a "
        "second group of every word, whatever eps, so custext sanitize refuses it."
    )
    if chosen is None:
        return [text]
    if not chosen.refused:
        return [f"{text} So the suggestion keeps {chosen.mapping}."]
    same = [candidate for candidate in choice.candidates if not candidate.refused]
    if same:
        what = f"No eps of {same[0].mapping} meets the bound; to accept more: --max-attack {_find_enough(same[0]):.2g}"
    else:
        what = f"{before} is not among the mappings compared here; to find an eps for it: --mapping {before}"
    return [f"{text} So this suggestion cannot be released. {what}"]


def _explain_failure(choice: Choice) -> list[str]:
    best = min(choice.candidates, key=lambda candidate: candidate.least)
    found = [
        f"No eps meets the bound: at K = {best.k}, the attack guesses at least {best.least:.1%} of the replaced words, "
        f"more than {choice.bound:.1%}."
    ]
    growth = choice.growth
    if growth is not None:
        found.append(growth.describe())
    if best.k < _LARGEST and (growth is None or growth.enough is None):
        found.append(f"Try larger groups: --k {2 * best.k},{4 * best.k}")
    if choice.plus:
        found.append("Replace stopwords too: leave out --plus.")
    enough = _find_enough(best)
    if enough < 1.0:
        found.append(f"Or accept more: --max-attack {enough:.2g}")
    return found


def _find_enough(candidate: Candidate) -> float:
    """Return a bound that a candidate meets, with two digits."""
    enough = math.ceil(candidate.least * 100.0) / 100.0
    return enough if enough >= candidate.least else enough + 0.01
