"""Reports and trade-offs: measures what they show, and writes pages."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import BayesResult, measure_bayes
from custext_sql.experiments.attacks.context_attack import attack_texts
from custext_sql.experiments.attacks.priors import Prior, find_prior, uniform_prior
from custext_sql.experiments.attacks.query_attack import measure_queries
from custext_sql.experiments.choosing.attack_curve import CURVE
from custext_sql.experiments.evaluation.tradeoff import TradeOffEvaluation
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.public_texts import find_public_column
from custext_sql.experiments.report import page
from custext_sql.experiments.report.alternatives import Attacked, list_alternatives
from custext_sql.experiments.report.contents import Report
from custext_sql.experiments.report.earlier_releases import find_earlier
from custext_sql.experiments.report.let_through import count_let_through
from custext_sql.experiments.report.one_output import measure_one_output
from custext_sql.experiments.report.quantiles import measure_sample
from custext_sql.experiments.report.verdict_figures import collect_figures
from custext_sql.experiments.trials import list_strings
from custext_sql.experiments.verdict.judging import judge
from custext_sql.mechanism.weights import CALIBRATIONS, check_calibration, check_epsilon
from custext_sql.release.inputs.texts import Texts
from custext_sql.replacing.policy import DEFAULT_POLICY, Policy, name_policy
from custext_sql.store.auditing import certify_mapping
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import check_place, publish_text
from custext_sql.store.ledger.dataset import Dataset

WORDS = ("car", "she", "doctor", "happy")  # shown if the caller names none
SIMULATIONS = 5_000  # per number for each of them: precise to about 2%
SAMPLE = 50  # words of the vocabulary, for quantiles

_EPSILONS = (0.0, 1.0, 2.0, 3.0, 8.0)  # of the query attack and the context attack, besides the chosen one
_FEWER = (0.0, 1.0, 3.0, 8.0, 20.0)  # of the best single guess under the other calibration, which may take a second
_STEPS = 5


@dataclass(frozen=True)
class ReportSettings:
    """The settings of a report, besides the mapping and the policy.

    data, column: the user's texts, if any. public, public_column: the texts from which the context attack learns, if
    any. dataset: with the name of the texts in the ledger, if it is not that of the files or the table.
    """

    eps: float = 1.0
    calibration: str = "paper"
    plus: bool = False
    words: tuple[str, ...] = ()
    data: Texts | None = None
    column: str | None = None
    public: Texts | None = None
    public_column: str | None = None
    dataset: Dataset = field(default_factory=Dataset)


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

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    html: where to write a self-contained page; None: no page.
    data: your texts, whose words are counted: the path of a file, a DataTable, or a sequence of texts. The counts are
        not protected.
    column: the column of that file; None for lines of text and for a sequence.
    prior: the path of a file of word frequencies to use instead of those in data, with a word and a number per line.
    public: public texts from which the attacker of the context attack on data learns, like data; None: no such attack.
    public_column: the column of `public`; by default that in `column`.
    words: a word or several for the query attack; by default a few common words.
    eps: the budget per word: 0, or 0.001 to 100.
    plus: whether stopwords are kept.
    policy: what to do with unknown words and numbers: "strict", "paper" or a Policy.
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    dataset: the name of your texts in the ledger, under which they were or will be released; by default their files or
        their table.
    force: whether to overwrite an existing page.
    progress: called with the share of the work done, 0 to 1.

    Returns a Report.

    OutputError if the page cannot be written or already exists; SettingError if a setting is invalid; SourceError if a
    file cannot be read; MappingError if the mapping does not exist or lacks a word.
    """
    if html is not None:
        check_place(Path(html), force=force)
    named = tuple(list_strings(words, "words"))
    if public is not None and data is None:
        raise SettingError("the context attack needs your texts too: custext report INPUT ... (in Python: data=...)")
    chosen = ReportSettings(
        check_epsilon(eps),
        check_calibration(calibration),
        plus,
        named,
        data,
        column,
        public,
        public_column,
        Dataset(dataset),
    )
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    known = find_prior(under_test, prior, *((data, column) if prior is None else (None, None)))
    report = gather_report(database, under_test, chosen, known, progress=progress)
    if html is not None:
        publish_text(Path(html), page.render_report(report), force=force)
    return report


def write_tradeoff(evaluation: TradeOffEvaluation, html: str | os.PathLike[str], *, force: bool = False) -> None:
    """Draw the results of `evaluate_tradeoff` as curves on a self-contained page.

    html: where to write the page. force: whether to overwrite an existing file. OutputError if the page cannot be
    written or already exists.
    """
    publish_text(Path(html), page.render_tradeoff(evaluation), force=force)


def gather_report(
    database: Database,
    under_test: MappingUnderTest,
    chosen: ReportSettings,
    prior: Prior | None = None,
    *,
    progress: ShareDone | None = None,
) -> Report:
    """Return a report. prior: a prior to report in addition to the uniform one."""
    mapping, epsilon, plus = under_test.mapping, chosen.eps, chosen.plus
    info = mapping.info
    every = [uniform_prior(len(mapping.words)), *([] if prior is None else [prior])]
    priors = [one.of_drawn(under_test, plus=plus) for one in every]
    bayes = _measure_curves(under_test, chosen, priors, progress)
    some = sorted({*_EPSILONS, epsilon})
    context = None
    if chosen.data is not None and chosen.public is not None:
        public_column = find_public_column(chosen.public, chosen.public_column, chosen.column)
        texts = chosen.data, chosen.column, chosen.public, public_column
        context = attack_texts(under_test, some, *texts, plus=plus, progress=part_of(progress, 2, _STEPS))
    kept = under_test.stopwords if plus else frozenset()
    words = chosen.words or tuple(word for word in WORDS if word in mapping.index and word not in kept)
    queries = measure_queries(
        mapping,
        words,
        some,
        calibration=chosen.calibration,
        simulations=SIMULATIONS,
        progress=part_of(progress, 3, _STEPS),
    )
    count = min(SAMPLE, len(mapping.words))
    quantiles = tuple(measure_sample(under_test, count, some, progress=part_of(progress, 4, _STEPS)))
    curve = [one for one in bayes if (one.prior, one.calibration) == (priors[-1].name, chosen.calibration)]
    attacked = Attacked(
        under_test=under_test,
        prior=priors[-1],
        every=every[-1],
        plus=plus,
        curve=curve,
        chosen=next(one for one in curve if one.eps == epsilon),
        context=context,
        one_output=measure_one_output(under_test, priors[-1], epsilon, plus=plus),
    )
    let_through = (
        None
        if chosen.data is None
        else count_let_through(under_test, chosen.data, chosen.column, epsilon=epsilon, plus=plus)
    )
    policy = name_policy(under_test.policy)
    in_context = () if attacked.context is None else attacked.context.results
    figures = collect_figures(
        under_test,
        attacked.prior,
        attacked.chosen,
        next((one for one in in_context if one.eps == epsilon), None),
        attacked.one_output,
        plus=plus,
        draws=next(one.n_ml for one in quantiles if (one.share, one.eps) == (0.5, epsilon)),
        let_through=let_through,
        earlier=find_earlier(database, chosen.data, chosen.dataset, mapping, plus=plus),
        alternatives=list_alternatives(database, attacked),
    )
    return Report(
        verdict=judge(figures),
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        mapping=info.name,
        fingerprint=info.fingerprint,
        k=info.k,
        words=len(mapping.words),
        groups=len(mapping.sizes),
        eps=epsilon,
        calibration=chosen.calibration,
        plus=plus,
        policy=policy,
        priors=tuple(one.name for one in priors),
        certificate=tuple(
            certify_mapping(mapping, under_test.vocabulary, epsilon, plus=plus, calibration=one) for one in CALIBRATIONS
        ),
        bayes=tuple(bayes),
        one_output=attacked.one_output,
        context=context,
        queries=tuple(queries),
        quantiles=quantiles,
        sample=count,
        let_through=let_through,
    )


def _measure_curves(
    under_test: MappingUnderTest,
    chosen: ReportSettings,
    priors: Sequence[Prior],
    progress: ShareDone | None,
) -> list[BayesResult]:
    """Return the best single guess under each prior and calibration, over eps."""
    grids = dict.fromkeys(CALIBRATIONS, _FEWER) | {chosen.calibration: CURVE}
    return [
        result
        for number, calibration in enumerate(CALIBRATIONS)
        for result in measure_bayes(
            under_test,
            priors,
            sorted({*grids[calibration], chosen.eps}),
            calibration=calibration,
            plus=chosen.plus,
            progress=part_of(progress, number, _STEPS),
        )
    ]
