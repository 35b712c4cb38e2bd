"""What to tell the person who must sign: figures, their thresholds, the sentences of a template, and its lines.

The sentences are in html/templates/verdict.txt.
"""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from custext_sql.experiments.bayes_attack import CERTAINTY
from custext_sql.html.escaped_pages import list_blocks, render_text
from custext_sql.kinds import Fate, list_treatments
from custext_sql.parameters import count_of

GREEN, AMBER, RED = "green", "amber", "red"
SECTIONS = {  # the heading of each part of a verdict
    "word": "For a word",
    "row": "For a row",
    "dataset": "For the whole dataset",
    "in_clear": "What passes in the clear",
    "advice": "What would help most",
    "limits": "What the colors do not tell you",
}


@dataclass(frozen=True)
class Figures:
    """Everything that a verdict depends on. None: unknown, and the verdict says so. Shares are 0 to 1."""

    mapping: str
    k: int
    eps: float
    plus: bool
    hides_among: int | None = None  # the fewest words of its group, itself included, among which a replaced word hides
    prior: str = "uniform"  # where frequencies come from: the name of your texts or of a file, or "uniform"
    guess: float | None = None  # how often the best single guess of a replaced word is right
    guess_at_0: float | None = None  # the same at eps = 0
    certain: float | None = None  # the share of replaced words of which that attacker can be at least 90% certain
    context: float | None = None  # how often the context attack guesses a replaced word
    context_at_0: float | None = None  # the same at eps = 0
    texts_guessed: float | None = None  # the share of texts in which the context attack guesses every replaced word
    draws: float | None = None  # how many draws of the same word identify it, for half of the vocabulary
    draws_measured: bool = False  # whether that was measured; then None in `draws` means that no number is enough
    dataset: str | None = None  # the name of your texts
    # What becomes of the words of your texts: the counts of a `Receipt` by name, and the median and the largest number
    # of replaced words of a row, "median_replaced" and "largest_replaced".
    counts: Mapping[str, float] | None = None
    numbers: str = "mask"  # what becomes of numbers outside the vocabulary, as in a policy: "keep", "mask" or "shape"
    unchanged: float | None = None  # the share of the replaced words that are expected to be replaced by themselves
    releases: int | None = None  # how many earlier releases of these texts the ledger has
    spent: float | None = None  # the largest eps of a row in all of them; infinite if one was not protected
    released_under: str | None = None  # another mapping that they used; None: they used this one, or there are none
    least_left: int | None = None  # the fewest words that share both groups with a word; 0: no word in common
    median_left: int | None = None  # the median over words
    estimated: bool = False  # whether there is no such mapping yet, and the figures are an estimate


@dataclass(frozen=True)
class Sentence:
    """One or two sentences of a verdict."""

    text: str
    color: str | None  # "red", "amber" or "green"; None for what is neither good nor bad
    numbers: dict[str, float]  # the figures behind the text, by name


@dataclass(frozen=True)
class Verdict:
    """What an attacker can and cannot do at some settings, on some texts, in plain words."""

    color: str  # "red", "amber" or "green": the worst color of all sentences
    summary: tuple[Sentence, ...]  # what the color means here
    word: tuple[Sentence, ...]  # what is promised for a word, and what an attacker can do
    row: tuple[Sentence, ...]  # the same for a row
    dataset: tuple[Sentence, ...]  # the same for the whole dataset
    in_clear: tuple[Sentence, ...]  # what passes in the clear
    advice: tuple[Sentence, ...]  # what would help most, the best first
    limits: tuple[Sentence, ...]  # what no color says


class Threshold(NamedTuple):
    """Values up to `green` are green, and values up to `amber` are amber; if `green` is larger, values down to them."""

    green: float
    amber: float

    def grade(self, value: float) -> str:
        """Return the color of a value."""
        sign = 1.0 if self.green <= self.amber else -1.0
        return GREEN if sign * value <= sign * self.green else AMBER if sign * value <= sign * self.amber else RED


# Up to a fifth of the words, someone who acts on a guess is usually wrong. With two fifths of them, it is usually clear
# what a sentence is about.
GUESSED = Threshold(0.2, 0.4)

# Between two texts made of the same groups, an attacker can be e^x / (1 + e^x) certain at most: 75% at ln 3, 95% at
# ln 19. Beyond that, the eps of a row is no meaningful promise.
MEANINGFUL = math.log(19.0)

# A sentence has the worst color of the figures that it names. docs/evaluation.md explains the thresholds.
_THRESHOLDS = {
    "guess": GUESSED,
    "context": GUESSED,
    "bound": GUESSED,  # how likely an output can make a word
    "certain": Threshold(0.05, 0.2),  # these words are as good as in the clear
    "texts_guessed": Threshold(0.01, 0.1),  # these texts are as good as published
    # Words outside the vocabulary that pass unchanged are rare, and so often names: one in a thousand is one in about
    # fifty sentences.
    "exposed_share": Threshold(0.001, 0.01),
    # Words that stay on purpose are not secret themselves, but they show the grammar. They are never red, since the
    # context attack measures what they give away.
    "kept": Threshold(0.05, math.inf),
    "symbols_share": Threshold(0.01, math.inf),  # of the number of words; most are emoji, but flags spell words
    # Never red, because no row is promised anything; the context attack measures what rows give away.
    "largest_row_eps": Threshold(math.log(3.0), math.inf),
    # A telling word of one person, such as a name or a diagnosis, rarely occurs a thousand times, but may well occur a
    # hundred times.
    "draws": Threshold(1000.0, 100.0),
}

_WORTHWHILE = 0.01  # advice that lowers the share of words that an attacker knows by less is not worth its price
_LACKING = 0.05  # the share of words outside the vocabulary from which on a larger vocabulary is advised


def find_worst(*colors: str | None) -> str | None:
    """Return the worst of some colors; None without colors."""
    return max(filter(None, colors), key=(GREEN, AMBER, RED).index, default=None)


# How numbers are written


def write_share(share: float) -> str:
    """Return a share as a percentage; only a share of 0 is written as 0%, and only a share of 1 as 100%."""
    if share <= 0.0 or share >= 1.0:
        return f"{share:.0%}"
    if share < 0.0005:
        return "less than 0.1%"
    if share > 0.9995:
        return "more than 99.9%"
    return f"{share:.0%}" if 0.0995 <= share < 0.985 else f"{share:.1%}".replace(".0%", "%")


def write_count(number: float) -> str:
    """Return a whole number with commas; above 1,000, with three digits that count."""
    rounded = round(number, -max(0, math.floor(math.log10(number)) - 2)) if number >= 1000 else number
    return f"{rounded:,.0f}"


def write_eps(eps: float) -> str:
    """Return an eps, or a sum of eps."""
    return f"{eps:,.0f}" if eps >= 1000 else f"{eps:.3g}"


def write_factor(eps: float) -> str:
    """Return e^eps, as a factor."""
    if eps > math.log(1e6):
        return "more than a million"
    return f"{math.exp(eps):.2g}" if eps < math.log(10) else write_count(math.exp(eps))


_TEMPLATE = "verdict.txt"  # the sentences
_WRITERS: dict[str, Callable[..., str]] = {  # what the template calls them
    "share": write_share,
    "count": write_count,
    "eps_of": write_eps,
    "factor_of": write_factor,
    "number": "{:,.0f}".format,
    "plural": lambda number, noun: count_of(round(number), noun),
}
_COUNTED = ("rows", "words", "exposed", "unknown_kept", "numbers_kept", "units", "symbols")  # others: as shares


# What becomes of words, and how many of them an attacker reads


def count_words(figures: Figures) -> tuple[dict[str, float], dict[str, float]]:
    """Return what becomes of the words of some texts, by number and as shares; nothing if they were not counted.

    words = replaced + stopwords + public + endings + unknown_kept + numbers_kept + masked + altered. Of these, kept
    (the first three that stay) are so on purpose, and exposed (the other two) are not. altered: unknown words that are
    replaced at random, and numbers with changed digits.
    """
    if (count := figures.counts) is None:
        return {}, {}
    by_fate = dict.fromkeys(Fate, 0.0)
    for _, one in list_treatments(figures.numbers):
        by_fate[one.fate] += count[one.name]
    fates = {
        **count,
        "replaced": by_fate[Fate.REPLACED],
        "public": count["kept"],
        "numbers_kept": count["numbers"] if figures.numbers == "keep" else 0,
        "kept": by_fate[Fate.KEPT],
        "exposed": by_fate[Fate.EXPOSED],
        "lacking": count["unknown_kept"] + count["unknown_masked"],
        "masked": by_fate[Fate.MASKED],
        "altered": by_fate[Fate.ALTERED],
    }
    return fates, {name: number / max(count["words"], 1) for name, number in fates.items()}


def vary(figures: Figures, *, replaced: float | None = None, **changes: Any) -> Figures:
    """Return the figures of other settings on the same texts, where guesses that are not given were not measured.

    replaced: the share of all words that would be replaced; by default the same words, and the stopwords that would no
    longer be kept.
    """
    other = replace(figures, **{"guess": None, "context": None, **changes})
    if figures.counts is None:
        return other
    counts = dict(figures.counts)
    if figures.plus and not other.plus:
        counts["replaced"] += counts["stopwords"]
        counts["stopwords"] = 0
    if replaced is not None:
        counts["replaced"] = round(replaced * counts["words"])
    return replace(other, counts=counts)


def find_known(figures: Figures, *guesses: float | None) -> tuple[float, float] | None:
    """Return the shares of all words that an attacker reads because they stay, and by the strongest of some attacks.

    Shares are those of the replaced words if the texts were not counted; None if no attack was measured.
    """
    (_, shares), measured = count_words(figures), [guess for guess in guesses if guess is not None]
    if not measured and (not shares or shares["replaced"]):
        return None
    guess = max(measured, default=0.0)  # nothing to guess if no word is replaced
    return (shares["exposed"] + shares["kept"], guess * shares["replaced"]) if shares else (0.0, guess)


# The verdict


def judge(figures: Figures, alternatives: Sequence[Figures] = ()) -> Verdict:
    """Return what to tell the person who must sign. alternatives: the figures at other settings, made by `vary`."""
    facts = _find_facts(figures)
    parts = _write_sentences(facts, "word", "row", "dataset", "in_clear", "limits")
    colors = [sentence.color for sentences in parts.values() for sentence in sentences]
    color = find_worst(*colors) or AMBER
    counted = {name: colors.count(name) for name in (RED, AMBER, GREEN)}
    parts |= _write_sentences({**facts, **counted, "color": color}, "summary")
    return Verdict(color=color, advice=(*_advise(figures, alternatives),), **parts)


def _find_facts(figures: Figures) -> dict[str, Any]:
    """Return everything that the template names: the figures, and what follows from them."""
    eps, counts, size, fates, shares = figures.eps, figures.counts, figures.hides_among, *count_words(figures)
    known, is_one_text = find_known(figures, figures.guess, figures.context), counts is not None and counts["rows"] == 1
    median, largest = (
        (eps * counts[f"{one}_replaced"] for one in ("median", "largest")) if counts and eps else (None, None)
    )
    return {
        **vars(figures),
        **shares,
        **{name: fates[name] for name in _COUNTED if fates},
        "shares": shares,
        "exposed_share": shares.get("exposed"),
        "symbols_share": shares.get("symbols"),
        "unchanged": figures.unchanged and figures.unchanged * shares.get("replaced", 0.0),
        "is_one_text": is_one_text,
        "replaces_nothing": counts is not None and not counts["replaced"],
        "known": known and sum(known),
        "in_clear": known and known[0],
        "guessed": known and known[1],
        "factor": math.exp(eps) if eps < math.log(1e6) else None,
        # how likely an output can make a word of a group, if all were equally likely before
        "bound": None if size is None else 1.0 / (1.0 + (size - 1) * math.exp(-eps)),
        "most_words": math.floor(MEANINGFUL / eps) if eps else None,
        "median_row_eps": median,
        "largest_row_eps": largest,
        "certain_of_row": None if largest is None else 1.0 / (1.0 + math.exp(-largest)),
        "certainty": CERTAINTY,
        "this": "this text" if is_one_text else "these texts",
        "texts": "text" if is_one_text else "texts",
        "eps_0": 0.0,
        "meaningful": MEANINGFUL,
        "infinite": math.inf,
        "little": 0.005,  # shares that differ by less are about the same
        "nearly_all": 0.999,
    }


def _write_sentences(facts: Mapping[str, Any], *sections: str) -> dict[str, tuple[Sentence, ...]]:
    """Return the sentences of some sections, in the order of the template."""
    names = [name for name in list_blocks(_TEMPLATE) if name.partition("__")[0] in sections]
    sentences = {name: _write_sentence(name, facts) for name in names}
    return {
        section: tuple(one for name, one in sentences.items() if one.text and name.startswith(f"{section}__"))
        for section in sections
    }


def _write_sentence(name: str, facts: Mapping[str, Any]) -> Sentence:
    """Return a block of the template as a sentence, with the figures that it names, and their worst color."""
    numbers: dict[str, float] = {}
    colors: list[str | None] = []

    def grade(name: str) -> str | None:
        return _THRESHOLDS[name].grade(facts[name]) if name in _THRESHOLDS else None

    def keep(*names: str) -> str:
        known = [name for name in names if facts[name] is not None]
        numbers.update((name, float(facts[name])) for name in known)
        colors.extend(map(grade, known))
        return ""

    def show(write: Callable[..., str], name: str, *more: str) -> str:
        keep(name)
        return write(facts[name], *more)

    def paint(color: str) -> str:
        colors.append(color)
        return ""

    writers = {name: partial(show, write) for name, write in _WRITERS.items()}
    text = render_text(_TEMPLATE, name, **{**facts, **writers, "keep": keep, "paint": paint, "grade": grade})
    return Sentence(text, find_worst(*colors), numbers)


# Advice

_EPS, _GROUPS, _STOPWORDS = "a smaller eps", "larger groups", "replacing the stopwords too"


class _Option(NamedTuple):
    """A change to other settings, and the share of words that an attacker reads before and after it, by one attack."""

    kind: str
    other: Figures
    before: float
    after: float
    single: bool = False  # by the best single guess, though the context attack was measured too

    @property
    def effect(self) -> float:
        return self.before - self.after


def _advise(figures: Figures, alternatives: Sequence[Figures]) -> Iterator[Sentence]:
    """Yield what would help, the best first; then what would not help, and what was not measured."""
    # another mapping is refused if protected releases of the texts used this one
    must_keep = bool(figures.releases) and figures.spent != math.inf
    every = [one for one in _list_options(figures, alternatives) if not (must_keep and one.kind == _GROUPS)]
    best: dict[str, _Option] = {}
    for option in sorted(every, key=lambda option: (option.other.estimated, -option.effect)):
        best.setdefault(option.kind, option)  # what was measured rather than estimated
    ordered = sorted(best.values(), key=lambda option: -option.effect)
    for option in [option for option in ordered if option.effect >= _WORTHWHILE][:3]:
        near = [one for one in every if one.kind == option.kind == _EPS and one.effect >= 0.8 * option.effect]
        larger = max(near, key=lambda one: one.other.eps, default=option)  # an eps with nearly the same effect
        others = {"k_now": figures.k, "eps_now": figures.eps, "effect": option.effect}
        others |= {"larger_eps": larger.other.eps, "after_larger_eps": larger.after}
        yield _write_sentence("advice__option", vars(option.other) | option._asdict() | others)
    useless = [option for option in ordered if option.effect < _WORTHWHILE]
    facts = {
        "kinds": [option.kind for option in useless],
        "worthwhile": _WORTHWHILE,
        "effect": max((option.effect for option in useless), default=None),
        "must_keep": must_keep,
        "measured": _GROUPS in best,
        "lacking": count_words(figures)[1].get("lacking", 0.0),
        "too_many": _LACKING,
    }
    found = [_write_sentence(f"advice__{name}", facts) for name in ("useless", "groups", "lacking")]
    yield from (sentence for sentence in found if sentence.text)


def _list_options(figures: Figures, alternatives: Sequence[Figures]) -> Iterator[_Option]:
    """Yield the alternatives that change one setting, and what masking words outside the vocabulary would change."""
    for other in alternatives:
        changes = {
            _GROUPS: (other.mapping, other.k) != (figures.mapping, figures.k),
            _EPS: other.eps != figures.eps,
            _STOPWORDS: figures.plus and not other.plus,
        }
        kinds = [kind for kind, is_changed in changes.items() if is_changed]
        attack = "guess" if None in (figures.context, other.context) else "context"
        before, after = (find_known(one, getattr(one, attack)) for one in (figures, other))
        # what several changes do does not say which of them helps
        if len(kinds) == 1 and before is not None and after is not None:
            single = attack == "guess" and figures.context is not None
            yield _Option(kinds[0], other, sum(before), sum(after), single)
    fates, counts, guesses = count_words(figures)[0], figures.counts, (figures.guess, figures.context)
    if counts is None:
        return
    unknown = {"unknown_kept": 0, "unknown_masked": counts["unknown_kept"] + counts["unknown_masked"]}
    masking = {"unknown": replace(figures, counts={**counts, **unknown}), "numbers": replace(figures, numbers="mask")}
    for part, other in masking.items():
        before, after = find_known(figures, *guesses), find_known(other, *guesses)
        if fates[f"{part}_kept"] and before is not None and after is not None:
            kind = f"masking {'unknown words' if part == 'unknown' else part}"
            yield _Option(kind, other, sum(before), sum(after))


# The lines of a verdict


def write_verdict(verdict: Verdict, width: int = 80) -> list[str]:
    """Return the verdict as lines of at most that many characters."""
    lines = write_opening(verdict, width)
    for name, heading in SECTIONS.items():
        lines += ["", heading]
        for sentence in getattr(verdict, name):
            mark = f"  {sentence.color or '-':>5}  "
            wrapped = textwrap.wrap(sentence.text, width - len(mark), break_on_hyphens=False)
            lines += textwrap.indent("\n".join(wrapped), " " * len(mark)).replace(" " * len(mark), mark, 1).splitlines()
    return lines


def write_opening(verdict: Verdict, width: int = 80) -> list[str]:
    """Return the first lines: the color, and what it means."""
    text = " ".join(sentence.text for sentence in verdict.summary)
    return textwrap.wrap(f"Verdict: {verdict.color}. {text}", width, break_on_hyphens=False)
