"""The page that shows what eps and K buy: measures its figures, judges them, and writes it."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from custext_sql.arrays import Flags, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.bayes_attack import (
    BayesResult,
    Prior,
    find_prior,
    measure_bayes,
    measure_guess,
    measure_one_output,
    uniform_prior,
)
from custext_sql.experiments.charts import Point, Series, embed_chart, shorten
from custext_sql.experiments.context_attack import ContextAttack, ContextAttacker, ContextResult, read_public
from custext_sql.experiments.mechanisms import MappingUnderTest, ShareDone, list_strings, part_of
from custext_sql.experiments.query_attack import QueryResult, find_quantile, measure_queries
from custext_sql.experiments.texts import find_public_column
from custext_sql.experiments.verdict import SECTIONS, Figures, Verdict, judge, vary
from custext_sql.files.inputs.file_formats import list_files
from custext_sql.files.inputs.texts import DataFiles, DataTable, Texts, list_texts, name_texts, open_texts, stream_texts
from custext_sql.html.escaped_pages import render_page
from custext_sql.kinds import COUNTS, Kind, list_treatments
from custext_sql.ledger.checks import add_up, find_related, find_second_mapping
from custext_sql.ledger.dataset import Dataset
from custext_sql.ledger.entries import Terms, new_entry
from custext_sql.ledger.ledger import read_all
from custext_sql.ledger.places import LedgerFile
from custext_sql.mapping.mapping import Mapping as Tables
from custext_sql.mechanism.weights import CALIBRATIONS, check_calibration, check_epsilon
from custext_sql.parameters import count_of
from custext_sql.sanitizer.policy import DEFAULT_POLICY, Policy, name_policy
from custext_sql.sanitizer.receipt import Receipt
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.tally import Counts, Tally
from custext_sql.store.auditing import Certificate, certify_mapping
from custext_sql.store.contents import list_mappings
from custext_sql.store.database import Database
from custext_sql.store.outputs import check_place, publish_text

WORDS = ("car", "she", "doctor", "happy")  # shown if the caller names none
SIMULATIONS = 5_000  # per number for each of them: precise to about 2%
SAMPLE = 50  # words of the vocabulary, for quantiles
CURVE = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)

_SIMULATIONS_OF_SAMPLE = 400  # precise to about 7%, less than what differs from sample to sample
_QUANTILES = (0.05, 0.5, 0.95)
_EPSILONS = (0.0, 1.0, 2.0, 3.0, 8.0)  # of the query attack and the context attack, besides the chosen one
_FEWER = (0.0, 1.0, 3.0, 8.0, 20.0)  # of the best single guess under the other calibration, which may take a second
_STEPS = 5
_LONG = 2600  # characters of a verdict that need smaller type to fit on a printed page


@dataclass(frozen=True)
class Quantile:
    """How many draws identify a share of the vocabulary with probability 0.95, at one eps; None: no number does.

    Standard errors are mostly due to the words that happen to be in the sample.
    """

    share: float  # 0 to 1
    eps: float
    n_mode: int | None  # for an attacker who guesses the most frequent output
    n_mode_error: float | None
    n_ml: int | None  # for an attacker who guesses the input of maximum likelihood
    n_ml_error: float | None


@dataclass(frozen=True)
class Report:
    """How private texts are at one eps. Shares and probabilities are 0 to 1."""

    verdict: Verdict  # what all of this means, in plain words, for the person who must sign
    created_at: datetime  # UTC
    mapping: str
    fingerprint: str  # the SHA-256 of its tables
    k: int  # its group size K
    words: int  # how many it has
    groups: int
    eps: float  # the budget per word
    calibration: str  # how eps sets the temperature: "paper" or "tight"
    plus: bool  # whether stopwords are kept
    policy: str  # its name
    priors: tuple[str, ...]  # "uniform", and the name of your texts or of a file, if given
    certificate: tuple[Certificate, ...]  # what was verified, one per calibration
    bayes: tuple[BayesResult, ...]  # the best single guess, one result per prior, calibration and eps
    one_output: dict[str, float]  # what else one output reveals, as `measure_one_output` returns it
    context: ContextAttack | None  # the context attack on your texts; None if no public texts were given
    queries: tuple[QueryResult, ...]  # the query attack, one result per word and eps
    quantiles: tuple[Quantile, ...]  # the draws that identify shares of random words of the vocabulary
    sample: int  # the number of these words
    let_through: dict[str, Any] | None  # what becomes of the words of your texts, as `count_let_through` returns it


@dataclass(frozen=True)
class Attacked:
    """A mapping that attacks are measured on. every: how frequent words are. plus: whether stopwords are kept."""

    under_test: MappingUnderTest
    every: Prior
    plus: bool

    @cached_property
    def prior(self) -> Prior:
        """How frequent the words are that are replaced."""
        return self.every.of_drawn(self.under_test, plus=self.plus)


def write_report(
    database: Database = None,
    *,
    html: str | os.PathLike[str] | None = None,
    data: Texts | None = None,
    column: str | None = None,
    prior: str | os.PathLike[str] | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    words: str | Sequence[str] = (),
    eps: float = 1.0,
    plus: bool = False,
    policy: str | Policy = DEFAULT_POLICY,
    calibration: str = "paper",
    mapping: str | None = None,
    dataset: str | None = None,
    force: bool = False,
    progress: ShareDone | None = None,
) -> Report:
    """Report how private texts are at one eps, as values and as a page that begins with a verdict.

    The report covers attacks, what stays in the clear and what is verified. For the utility of sanitized texts, see
    `evaluate_utility` and `evaluate_tradeoff`.

    html: where to write a self-contained page; None: no page. force: whether to overwrite an existing one.
    data: your texts, whose words are counted: the path of a file, a DataTable, or a sequence of texts. The counts are
        not protected.
    column: the column of that file; None for lines of text and for a sequence.
    prior: the path of a file of word frequencies to use instead of those in data, with a word and a number per line.
    public: public texts from which the attacker of the context attack on data learns, like data; None: no such attack.
    words: a word or several for the query attack; by default a few common words.
    eps: the budget per word: 0, or 0.001 to 100.
    dataset: the name of your texts in the ledger, under which they were or will be released; by default their files or
        their table.

    All other arguments are those of `attack_context`.

    OutputError if the page cannot be written or already exists; SettingError if a setting is invalid; SourceError if a
    file cannot be read; MappingError if the mapping does not exist or lacks a word.
    """
    if html is not None:
        check_place(Path(html), force=force)
    named = tuple(list_strings(words, "words"))
    if public is not None and data is None:
        raise SettingError("the context attack needs your texts too: custext report INPUT ... (in Python: data=...)")
    epsilon, calibration, to_release = check_epsilon(eps), check_calibration(calibration), Dataset(dataset)
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    tables, info = under_test.mapping, under_test.mapping.info
    uniform = Attacked(under_test, uniform_prior(len(tables.words)), plus)
    known = find_prior(under_test, prior, *((data, column) if prior is None else (None, None)))
    attacked = uniform if known is None else Attacked(under_test, known, plus)
    priors, bayes = [uniform.prior, *([] if known is None else [attacked.prior])], []
    for number, one in enumerate(CALIBRATIONS):
        grid, tell = sorted({*(CURVE if one == calibration else _FEWER), epsilon}), part_of(progress, number, _STEPS)
        bayes += measure_bayes(under_test, priors, grid, calibration=one, plus=plus, progress=tell)
    curve = [one for one in bayes if (one.prior, one.calibration) == (priors[-1].name, calibration)]
    some, context = sorted({*_EPSILONS, epsilon}), None
    if data is not None and public is not None:
        texts = [text or "" for text in list_texts(data, column)]
        learned = read_public(public, find_public_column(public, public_column, column), texts)
        attacker = ContextAttacker(texts, learned, name_texts(data))
        context = attacker.report(under_test, some, plus=plus, progress=part_of(progress, 2, _STEPS))
    kept = under_test.stopwords if plus else frozenset()
    queries = measure_queries(
        tables,
        named or tuple(word for word in WORDS if word in tables.index and word not in kept),
        some,
        calibration=calibration,
        simulations=SIMULATIONS,
        progress=part_of(progress, 3, _STEPS),
    )
    sample = min(SAMPLE, len(tables.words))
    quantiles = measure_sample(under_test, sample, some, progress=part_of(progress, 4, _STEPS))
    one_output = measure_one_output(under_test, attacked.prior.chances, epsilon, plus=plus)
    let_through = count_let_through(under_test, data, column, epsilon=epsilon, plus=plus)
    in_context = () if context is None else context.results
    figures = collect_figures(
        attacked,
        next(one for one in curve if one.eps == epsilon),
        next((one for one in in_context if one.eps == epsilon), None),
        next(one.n_ml for one in quantiles if (one.share, one.eps) == (0.5, epsilon)),
        one_output,
        let_through,
        find_earlier(database, data, to_release, tables, plus=plus),
    )
    certificate = [
        certify_mapping(tables, under_test.vocabulary, epsilon, plus=plus, calibration=one) for one in CALIBRATIONS
    ]
    report = Report(
        verdict=judge(figures, [*list_alternatives(database, attacked, figures, curve, in_context, one_output)]),
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        mapping=info.name,
        fingerprint=info.fingerprint,
        k=info.k,
        words=len(tables.words),
        groups=len(tables.sizes),
        eps=epsilon,
        calibration=calibration,
        plus=plus,
        policy=name_policy(under_test.policy),
        priors=tuple(one.name for one in priors),
        certificate=tuple(certificate),
        bayes=tuple(bayes),
        one_output=one_output,
        context=context,
        queries=tuple(queries),
        quantiles=tuple(quantiles),
        sample=sample,
        let_through=let_through,
    )
    if html is not None:
        publish_text(Path(html), render_report(report), force=force)
    return report


def measure_sample(
    under_test: MappingUnderTest, count: int, epsilons: Sequence[float], *, progress: ShareDone | None = None
) -> list[Quantile]:
    """Return how many draws suffice for shares of some random words of the vocabulary, at each eps."""
    words = under_test.mapping.words
    places = np.random.default_rng(0).choice(len(words), count, replace=False)
    found = measure_queries(
        under_test.mapping,
        [words[place] for place in places],
        epsilons,
        calibration=under_test.calibration,
        simulations=_SIMULATIONS_OF_SAMPLE,
        progress=progress,
    )
    return [
        Quantile(share, epsilon, *_find_draws(some, "n_mode", share), *_find_draws(some, "n_ml", share))
        for share in _QUANTILES
        for epsilon in epsilons
        for some in [[result for result in found if result.eps == epsilon]]
    ]


def _find_draws(results: Sequence[QueryResult], name: str, share: float) -> tuple[int | None, float | None]:
    """Return a quantile of the draws that words need, and its standard error."""
    counts = [getattr(result, name) for result in results]
    wanted = find_quantile(counts, share)
    own = next(getattr(result, f"{name}_error") for result in results if getattr(result, name) == wanted)
    wide = math.sqrt(share * (1.0 - share) / len(counts))  # standard error of a share of the sample
    low, high = (find_quantile(counts, min(max(share + step, 0.0), 1.0)) for step in (-wide, wide))
    if own is None or low is None or high is None:
        return wanted, None
    return wanted, math.hypot(own, (high - low) / 2.0)


def count_let_through(
    under_test: MappingUnderTest, data: Texts | None, column: str | None, *, epsilon: float, plus: bool
) -> dict[str, Any] | None:
    """Return what becomes of the words of some texts under the policy under test; None without texts.

    dataset: the name of the texts. policy: its name. plus: whether stopwords are kept. numbers: what becomes of numbers
    outside the vocabulary, as in a policy. counts: the counts of the texts, as `list_counts` returns them.
    """
    if data is None:
        return None
    policy = under_test.policy
    sanitizer = Sanitizer(under_test.mapping, under_test.stopwords, Settings.settle(policy=policy))
    tally = _RowTally()
    for part in stream_texts(data, column):
        sanitizer.sanitize_column(part, epsilon, plus, tally=tally)
    return {
        "dataset": name_texts(data),
        "policy": name_policy(policy),
        "plus": plus,
        "numbers": policy.numbers,
        "counts": list_counts(sanitizer.receipt(tally, epsilon, plus), *tally.find_replaced()),
    }


def list_counts(receipt: Receipt, median: float, largest: float) -> dict[str, float]:
    """Return the counts of a receipt by name, and the median and the largest number of replaced words of a row."""
    counts = {name: getattr(receipt, name) for name in ("rows", "words", *COUNTS, "symbols", "characters_in_clear")}
    return {**counts, "median_replaced": median, "largest_replaced": largest}


class _RowTally(Tally):
    """A tally that also counts rows by the number of their replaced words."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: Numbers = np.zeros(1, dtype=np.int64)

    def add(self, counts: Counts, *, missing: Flags | None = None) -> None:
        """Add the counts of some texts."""
        super().add(counts, missing=missing)
        replaced = counts.by_kind[:, Kind.REPLACED]
        new = np.bincount(replaced if missing is None else replaced[~missing], minlength=len(self._sizes))
        new[: len(self._sizes)] += self._sizes
        self._sizes = new

    def find_replaced(self) -> tuple[float, float]:
        """Return the median and the largest number of replaced words of a row; 0 without rows."""
        below = np.cumsum(self._sizes)
        rows = int(below[-1])
        low, high = below.searchsorted([(rows - 1) // 2, rows // 2], "right").tolist()
        return ((low + high) / 2.0, float(self._sizes.nonzero()[0][-1])) if rows else (0.0, 0.0)


def find_earlier(
    database: Database, data: Texts | None, dataset: Dataset, mapping: Tables, *, plus: bool
) -> dict[str, Any]:
    """Return the figures of what was released before from these texts: nothing unless they are files, a table or named.

    dataset: with their name in the ledger, if it is not that of the files or the table. mapping, plus: those of the
    release to come.
    """
    path = data.path if isinstance(data, DataFiles) else data
    if dataset.name is not None:
        named = dataset.or_called("")
    elif isinstance(data, DataTable):
        with open_texts(data) as opened:
            assert opened.source.table is not None
            named = dataset.or_table(Path(data.path), *opened.source.table)
    elif isinstance(path, (str, os.PathLike)):
        named = dataset.or_files(os.fspath(path), list_files(os.fspath(path)))
    else:
        return {}
    terms = Terms(mapping.info.name, mapping.info.fingerprint, policy="", calibration="", draws="fresh", key_id=None)
    release = new_entry(terms, dataset=named.name, parts=list(named.parts), eps=None, plus=plus)
    every, keyed = read_all(LedgerFile.locate(None, database))
    second, related = find_second_mapping(every, release, database, mapping), find_related(every, release)
    totals = add_up(related, keyed)
    known = [float(total.total_eps) for total in totals if total.total_eps is not None]
    spent = max(known, default=0.0) if len(known) == len(totals) else None
    found = {"releases": len(related), "spent": math.inf if any(total.raw for total in totals) else spent}
    if second is None:
        return found
    return {**found, "released_under": second.before, "least_left": second.least, "median_left": second.median}


# Figures of the verdict


def collect_figures(
    attacked: Attacked,
    guess: BayesResult,
    context: ContextResult | None,
    draws: float | None,
    one_output: Mapping[str, float],
    let_through: Mapping[str, Any] | None,
    earlier: Mapping[str, Any],
) -> Figures:
    """Return the figures at the eps of the guess, from what was measured for a report or a choice.

    draws: how many identify the median word; None if no number does.
    """
    counted: dict[str, Any] = {}
    if let_through is not None:
        counted = {name: let_through[name] for name in ("dataset", "counts", "numbers")}
        if guess.prior == counted["dataset"]:  # not frequencies from elsewhere
            counted["unchanged"] = one_output["unchanged"]
    if context is not None:
        counted |= {"context": context.success, "context_at_0": context.success_at_0}
        counted["texts_guessed"] = context.texts_guessed
    return Figures(
        mapping=guess.mapping,
        k=guess.k,
        eps=guess.eps,
        plus=attacked.plus,
        hides_among=attacked.under_test.vocabulary.hides_among(attacked.plus) or None,
        prior=guess.prior,
        guess=guess.success,
        guess_at_0=guess.floor,
        certain=one_output["certain"],
        draws=draws,
        draws_measured=True,
        **counted,
        **earlier,
    )


def list_alternatives(
    database: Database,
    attacked: Attacked,
    figures: Figures,
    curve: Sequence[BayesResult],
    contexts: Sequence[ContextResult],
    one_output: Mapping[str, float],
) -> Iterator[Figures]:
    """Yield other settings to compare with, which takes a few seconds: a smaller eps, no kept stopwords, larger groups.

    curve, contexts: the best single guess and the context attack at several eps.
    """
    in_context = {one.eps: one.success for one in contexts}
    for one in curve:
        if one.eps < figures.eps:
            yield vary(figures, eps=one.eps, guess=one.success, context=in_context.get(one.eps))
    yield from compare_plus(attacked, figures)
    under_test, prior, info = attacked.under_test, attacked.prior, attacked.under_test.mapping.info
    vectors = info.embedding_sha256, info.words
    larger = [one for one in list_mappings(database)[0] if (one.embedding_sha256, one.words) == vectors]
    larger = sorted((one for one in larger if one.k > info.k), key=lambda one: one.k)
    if not larger:  # an estimate for about twice as large groups
        assert figures.guess is not None and figures.guess_at_0 is not None
        guess = figures.guess * one_output["floor_of_joined"] / figures.guess_at_0
        yield vary(figures, k=2 * figures.k, guess=guess, estimated=True)
        return
    name, calibration = larger[0].name, under_test.calibration
    other = MappingUnderTest(database, mapping=name, policy=under_test.policy, calibration=calibration)
    known = dict(zip(under_test.mapping.words, prior.chances.tolist(), strict=True))
    chances = np.array([known.get(word, 0.0) for word in other.mapping.words])
    share = float(chances.sum())
    guess = measure_guess(other, chances / share, figures.eps)
    yield vary(figures, mapping=name, k=larger[0].k, guess=guess, replaced=prior.drawn * share)


def compare_plus(attacked: Attacked, figures: Figures) -> Iterator[Figures]:
    """Yield the same settings without `plus`, if they have it."""
    if attacked.plus:
        guess = measure_guess(attacked.under_test, attacked.every.chances, figures.eps)
        yield vary(figures, plus=False, guess=guess, replaced=attacked.every.drawn)


# The page


def render_report(report: Report) -> str:
    """Return the page of a report."""
    data, verdict = report.let_through, report.verdict
    day = f"{report.created_at.day} {report.created_at:%B %Y}".replace(" ", "\N{NO-BREAK SPACE}")
    settings = (
        f"{'no texts' if data is None else data['dataset']}; eps = {report.eps:g} per word; mapping {report.mapping}, "
        f"K = {report.k}; stopwords {'kept' if report.plus else 'replaced'}; policy {report.policy}; "
        f"calibration {report.calibration}"
    )
    note = (
        f"Mapping {report.mapping}: {report.words:,} words in {report.groups:,} groups of about {report.k} words. "
        f"Calibration {report.calibration}{', stopwords kept' if report.plus else ''}. "
        f"Created {day}, {report.created_at:%H:%M}\N{NO-BREAK SPACE}UTC."
    )
    at_eps = {(one.prior, one.calibration): one for one in report.bayes if one.eps == report.eps}
    epsilons = sorted({one.eps for one in report.quantiles})
    return render_page(
        "report.html",
        title=f"Verdict: {verdict.color} ({settings})",
        subject="texts that were not named" if data is None else data["dataset"],
        about=f"{settings}. {day}.",
        sections=SECTIONS,
        is_long=sum(len(sentence.text) for name in SECTIONS for sentence in getattr(verdict, name)) > _LONG,
        figures_title=f"All figures: privacy at eps = {report.eps:g}",
        note=note,
        report=report,
        calibrations=CALIBRATIONS,
        at_eps=at_eps,
        best=at_eps[report.priors[-1], report.calibration],
        middle=next(one.n_ml for one in report.quantiles if (one.share, one.eps) == (0.5, report.eps)),
        certified=next(row for row in report.certificate if row.calibration == report.calibration),
        chart=_draw_success(report),
        epsilons=epsilons,
        query_rows=[*_find_query_rows(report, epsilons)],
        data=data,
        fates=[] if data is None else [*_list_fates(data)],
    )


def _list_fates(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what became of the words of some texts: each treatment of which there are any, as a part of a bar."""
    for entry, one in list_treatments(data["numbers"]):
        if words := data["counts"][one.name]:
            share, label = words / data["counts"]["words"], entry.labels + one.suffix
            yield {"mark": entry.mark, "label": label, "in_clear": one.fate.in_clear, "words": words, "share": share}


def _find_query_rows(report: Report, epsilons: Iterable[float]) -> Iterator[tuple[str, str, list[tuple[Any, Any]]]]:
    """Yield rows: a word or a share of the vocabulary, the attacker, and the draws needed at each eps, with errors."""
    found = {(result.word, result.eps): result for result in report.queries}
    for word in dict.fromkeys(result.word for result in report.queries):
        some = [found[word, eps] for eps in epsilons]
        yield word, "most frequent output", [(one.n_mode, one.n_mode_error) for one in some]
        yield "", "most likely input", [(one.n_ml, one.n_ml_error) for one in some]
    enough = {(one.share, one.eps): (one.n_ml, one.n_ml_error) for one in report.quantiles}
    for share in dict.fromkeys(one.share for one in report.quantiles):
        label = f"enough for {share:.0%} of {count_of(report.sample, 'random word')}"
        yield label, "most likely input", [enough[share, eps] for eps in epsilons]


def _draw_success(report: Report) -> str:
    """Return a chart of the success of the best single guess over eps: a curve per prior and calibration."""
    curves: dict[tuple[str, str], list[Point]] = {(name, one): [] for name in report.priors for one in CALIBRATIONS}
    for result in report.bayes:
        curves[result.prior, result.calibration].append(Point(result.eps, result.success))
    return embed_chart(
        "Success of the best single guess",
        [Series(f"{shorten(name)}, {one}", points, one == "tight") for (name, one), points in curves.items()],
        x_label="eps",
        y_label="probability of a correct guess",
        eps=report.eps,
        levels={f"floor, {shorten(result.prior)}": result.floor for result in report.bayes},
    )
