"""What would help most: other settings, in the order of what they would change."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from custext_sql.experiments.verdict.figures import Alternative, Figures, Sentence
from custext_sql.experiments.verdict.known_words import Known, find_known, settle
from custext_sql.experiments.verdict.thresholds import LACKING, WORTHWHILE
from custext_sql.experiments.verdict.wording import write_eps, write_share

_EPS, _GROUPS, _STOPWORDS = "a smaller eps", "larger groups", "replacing the stopwords too"
_UNKNOWN, _NUMBERS = "masking unknown words", "masking numbers"
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


def advise(figures: Figures) -> tuple[Sentence, ...]:
    """Return what would help, the best first; then what would not help, and what was not measured."""
    every = [*_list_settings(figures), *_list_policies(figures)]
    best: dict[str, _Option] = {}
    for option in sorted(every, key=lambda option: (option.estimated, -option.effect)):
        best.setdefault(option.kind, option)  # what was measured rather than estimated
    ordered = sorted(best.values(), key=lambda option: -option.effect)
    helpful = [option for option in ordered if option.effect >= WORTHWHILE]
    found = [_write_option(option, every) for option in helpful[:_MOST]]
    found += _write_useless([option for option in ordered if option.effect < WORTHWHILE])
    if _must_keep_mapping(figures):
        text = (
            "Larger groups usually help most. But they are another mapping, and custext sanitize refuses a second one "
            "for texts that were released before."
        )
        found.append(Sentence(text, None, {}))
    elif _GROUPS not in best:
        text = "Larger groups usually help most. They were not measured here; to compare them: custext choose."
        found.append(Sentence(text, None, {}))
    return (*found, *_advise_vocabulary(figures))


def _must_keep_mapping(figures: Figures) -> bool:
    """Return whether another mapping would be refused, since protected releases of the texts used this one."""
    return bool(figures.releases) and figures.spent != math.inf


def _list_settings(figures: Figures) -> Iterator[_Option]:
    """Yield the alternatives that change one setting. What several changes do does not say which of them helps."""
    for other in figures.alternatives:
        changes = [*_name_changes(figures, other)]
        if _must_keep_mapping(figures) and any(kind == _GROUPS for kind, _, _ in changes):
            continue
        settled = settle(figures, other)
        by_context = None not in (figures.context, settled.context)
        before, after = (find_known(one, context=by_context) for one in (figures, settled))
        if len(changes) == 1 and before is not None and after is not None:
            kind, text, numbers = changes[0]
            single = figures.context is not None and not by_context
            yield _Option(kind, text, before, after, numbers, other.estimated, single)


def _name_changes(figures: Figures, other: Alternative) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield the changes: the kind of each, what to do, and its numbers."""
    if (other.mapping, other.k) != (figures.mapping, figures.k):
        numbers = {"k": float(other.k), "k_now": float(figures.k)}
        groups = f"groups of {other.k:,} words instead of {figures.k:,}"
        named = groups if other.estimated else f"mapping {other.mapping}, with {groups}"
        yield _GROUPS, f"Use {named}", numbers
    if other.eps != figures.eps:
        numbers = {"eps": other.eps, "eps_now": figures.eps}
        yield _EPS, f"Use eps = {write_eps(other.eps)} instead of {write_eps(figures.eps)}", numbers
    if figures.plus and not other.plus:
        yield _STOPWORDS, "Replace the stopwords too, without --plus (in Python: plus=False)", {}


def _list_policies(figures: Figures) -> Iterator[_Option]:
    """Yield what masking words outside the vocabulary would change."""
    fates, before = figures.fates, find_known(figures)
    if fates is None or before is None:
        return
    unknown = replace(fates, unknown_kept=0, unknown_masked=fates.unknown_masked + fates.unknown_kept)
    numbers = replace(fates, numbers_kept=0, numbers_masked=fates.numbers_masked + fates.numbers_kept)
    for count, kind, text, changed in (
        (
            fates.unknown_kept,
            _UNKNOWN,
            'Mask unknown words: --unknown mask (in Python: Policy(unknown="mask"))',
            unknown,
        ),
        (fates.numbers_kept, _NUMBERS, 'Mask numbers: --numbers mask (in Python: Policy(numbers="mask"))', numbers),
    ):
        after = find_known(replace(figures, fates=changed))
        if count and after is not None:
            yield _Option(kind, text, before, after, {})


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
    return Sentence(text, None, numbers | option.numbers)


def _write_useless(options: list[_Option]) -> Iterator[Sentence]:
    """Yield what would change little, so that nobody pays for it."""
    if options:
        what = " and ".join(option.kind for option in options)
        numbers = {"worthwhile": WORTHWHILE, "effect": max(option.effect for option in options)}
        text = (
            f"{what[0].upper()}{what[1:]} would hardly help: what an attacker reads would fall by less than "
            f"{write_share(WORTHWHILE)} of the words, or not at all."
        )
        if any(option.kind == _EPS for option in options):
            text += " A smaller eps still strengthens the promise for a word."
        yield Sentence(text, None, numbers)


def _advise_vocabulary(figures: Figures) -> Iterator[Sentence]:
    fates = figures.fates
    share = 0.0 if fates is None else fates.share(fates.unknown_kept + fates.unknown_masked)
    if share >= LACKING:
        text = (
            f"{write_share(share)} of the words are not in the vocabulary. Vectors with more words (custext load) "
            "would replace them. That keeps more of the meaning than a mask, but reveals the group of each."
        )
        yield Sentence(text, None, {"lacking": share})
