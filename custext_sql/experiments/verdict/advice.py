"""What would help most: other settings, in the order of what they would change."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from custext_sql.experiments.verdict.figures import Alternative, Figures, Known, Sentence, find_known, say
from custext_sql.experiments.verdict.thresholds import LACKING, WORTHWHILE
from custext_sql.experiments.verdict.wording import write_eps, write_share

_EPS, _GROUPS, _STOPWORDS = "a smaller eps", "larger groups", "replacing the stopwords too"
_MOST = 3  # pieces of advice that a reader can weigh
_NEARLY = 0.8  # the share of an effect that is nearly all of it


@dataclass(frozen=True)
class _Option:
    """A change, and what an attacker knows before and after it, by the same attack."""

    kind: str
    text: str
    before: Known
    after: Known
    numbers: dict[str, float]
    estimated: bool = False
    single: bool = False  # by the best single guess, though the context attack was measured too

    @property
    def effect(self) -> float:
        """By how much the share of words falls that an attacker knows."""
        return self.before.share - self.after.share


def advise(figures: Figures) -> Iterator[Sentence]:
    """Yield what would help, the best first; then what would not help, and what was not measured."""
    # another mapping is refused if protected releases of the texts used this one
    must_keep = bool(figures.releases) and figures.spent != math.inf
    every = [*_list_settings(figures, must_keep), *_list_policies(figures)]
    best: dict[str, _Option] = {}
    for option in sorted(every, key=lambda option: (option.estimated, -option.effect)):
        best.setdefault(option.kind, option)  # what was measured rather than estimated
    ordered = sorted(best.values(), key=lambda option: -option.effect)
    for option in [option for option in ordered if option.effect >= WORTHWHILE][:_MOST]:
        yield _write_option(option, every)
    if useless := [option for option in ordered if option.effect < WORTHWHILE]:
        yield _write_useless(useless)
    if must_keep:
        yield say(
            "Larger groups usually help most. But they are another mapping, and custext sanitize refuses a second one "
            "for texts that were released before."
        )
    elif _GROUPS not in best:
        yield say("Larger groups usually help most. They were not measured here; to compare them: custext choose.")
    fates = figures.fates
    lacking = 0.0 if fates is None else fates.share(fates.unknown_kept + fates.unknown_masked)
    if lacking >= LACKING:
        text = (
            f"{write_share(lacking)} of the words are not in the vocabulary. Vectors with more words (custext load) "
            "would replace them. That keeps more of the meaning than a mask, but reveals the group of each."
        )
        yield say(text, lacking=lacking)


def _list_settings(figures: Figures, must_keep: bool) -> Iterator[_Option]:
    """Yield the alternatives that change one setting. What several changes do does not say which of them helps."""
    for other in figures.alternatives:
        changes = [*_name_changes(figures, other)]
        if len(changes) != 1 or (must_keep and changes[0][0] == _GROUPS):
            continue
        fates, by_context = figures.fates, None not in (figures.context, other.context)
        if fates is not None:
            moved = fates.stopwords if figures.plus and not other.plus else 0
            replaced = fates.replaced + moved if other.replaced is None else round(other.replaced * fates.words)
            fates = replace(fates, replaced=replaced, stopwords=fates.stopwords - moved)
        changed = replace(figures, guess=other.guess, context=other.context, fates=fates)
        before, after = (find_known(one, context=by_context) for one in (figures, changed))
        if before is not None and after is not None:
            kind, text, numbers = changes[0]
            single = figures.context is not None and not by_context
            yield _Option(kind, text, before, after, numbers, other.estimated, single)


def _name_changes(figures: Figures, other: Alternative) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield the changes: the kind of each, what to do, and its numbers."""
    if (other.mapping, other.k) != (figures.mapping, figures.k):
        groups = f"groups of {other.k:,} words instead of {figures.k:,}"
        named = groups if other.estimated else f"mapping {other.mapping}, with {groups}"
        yield _GROUPS, f"Use {named}", {"k": float(other.k), "k_now": float(figures.k)}
    if other.eps != figures.eps:
        text = f"Use eps = {write_eps(other.eps)} instead of {write_eps(figures.eps)}"
        yield _EPS, text, {"eps": other.eps, "eps_now": figures.eps}
    if figures.plus and not other.plus:
        yield _STOPWORDS, "Replace the stopwords too, without --plus (in Python: plus=False)", {}


def _list_policies(figures: Figures) -> Iterator[_Option]:
    """Yield what masking words outside the vocabulary would change."""
    fates, before = figures.fates, find_known(figures)
    if fates is None or before is None:
        return
    for part, what in (("unknown", "unknown words"), ("numbers", "numbers")):
        kept, masked = getattr(fates, f"{part}_kept"), getattr(fates, f"{part}_masked")
        changed = replace(fates, **{f"{part}_kept": 0, f"{part}_masked": masked + kept})
        after = find_known(replace(figures, fates=changed))
        if kept and after is not None:
            text = f'Mask {what}: --{part} mask (in Python: Policy({part}="mask"))'
            yield _Option(f"masking {what}", text, before, after, {})


def _write_option(option: _Option, every: list[_Option]) -> Sentence:
    numbers = {"before": option.before.share, "after": option.after.share, "effect": option.effect}
    about = "about " if option.estimated else ""
    text = (
        f"{option.text}. An attacker would then read {about}{write_share(option.after.share)} "
        f"{'of all words' if option.before.counted else 'of the replaced words'} instead of "
        f"{write_share(option.before.share)}"
    )
    if option.kind == _EPS:
        near = [one for one in every if one.kind == _EPS and one.effect >= _NEARLY * option.effect]
        largest = max(near, key=lambda one: one.numbers["eps"])
        if largest.numbers["eps"] > option.numbers["eps"]:
            text += f" (or {write_share(largest.after.share)} with eps = {write_eps(largest.numbers['eps'])})"
            numbers |= {"larger_eps": largest.numbers["eps"], "after_larger_eps": largest.after.share}
    text += ", by the best single guess." if option.single else "."
    if option.estimated:
        text += " (Estimated by joining neighboring groups. To measure it: custext choose.)"
    return say(text, **numbers, **option.numbers)


def _write_useless(options: list[_Option]) -> Sentence:
    """Return what would change little, so that nobody pays for it."""
    what = " and ".join(option.kind for option in options)
    text = (
        f"{what[0].upper()}{what[1:]} would hardly help: what an attacker reads would fall by less than "
        f"{write_share(WORTHWHILE)} of the words, or not at all."
    )
    if any(option.kind == _EPS for option in options):
        text += " A smaller eps still strengthens the promise for a word."
    return say(text, worthwhile=WORTHWHILE, effect=max(option.effect for option in options))
