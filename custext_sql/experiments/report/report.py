"""Reports and trade-offs: measures what is missing, gathers results, and writes pages."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import BayesResult, measure_bayes
from custext_sql.experiments.attacks.context_attack import attack_context
from custext_sql.experiments.attacks.priors import Prior, find_prior, uniform_prior
from custext_sql.experiments.attacks.query_attack import SAMPLE_SIMULATIONS, QueryResult, find_quantile, measure_queries
from custext_sql.experiments.choice import CURVE
from custext_sql.experiments.evaluation.tradeoff import TradeOffEvaluation
from custext_sql.experiments.measurements import (
    ShareDone,
    Subject,
    describe_mapping,
    measure_or_reuse,
    part_of,
    read_measurements,
    write_settings,
)
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.report import page
from custext_sql.experiments.report.contents import CertificateRow, Number, Quantile, Report, as_number
from custext_sql.experiments.report.let_through import count_let_through
from custext_sql.experiments.report.results import TradeOffCurves, find_tradeoffs, find_utility
from custext_sql.experiments.text_files import Texts
from custext_sql.experiments.trials import list_strings
from custext_sql.mechanism.weights import CALIBRATIONS, check_calibration, check_epsilon
from custext_sql.replacing.policy import DEFAULT_POLICY, POLICIES
from custext_sql.store.auditing import Certificate, certify_mapping
from custext_sql.store.database import Database
from custext_sql.store.files.atomic_outputs import check_place, publish_text
from custext_sql.store.key_files import digest_stopwords

WORDS = ("car", "she", "doctor", "happy")  # shown if the caller names none
SIMULATIONS = 5_000  # per number for each of them: precise to about 2%
SAMPLE = 50  # words of the vocabulary, for quantiles
QUANTILES = (0.05, 0.5, 0.95)

_EPSILONS = (0.0, 1.0, 2.0, 3.0, 8.0)  # of the query attack and the context attack, besides the chosen one


@dataclass(frozen=True)
class ReportSettings:
    """The settings of a report.

    policy: its name. data, column: the user's texts, if any. public, public_column: the texts from which the context
    attack learns, if any.
    """

    eps: float = 1.0
    calibration: str = "paper"
    plus: bool = False
    policy: str = DEFAULT_POLICY
    words: tuple[str, ...] = ()
    data: Texts | None = None
    column: str | None = None
    public: Texts | None = None
    public_column: str | None = None


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
    policy: str = DEFAULT_POLICY,
    calibration: str = "paper",
    mapping: str | None = None,
    force: bool = False,
    progress: ShareDone | None = None,
) -> Report:
    """Report how private and how useful texts are at one eps, as values and as a page.

    The report covers attacks, utility, what stays in the clear and what is verified. Attacks on the tables are measured
    now, unless they were measured before. Utility and trade-offs come from earlier calls of `evaluate_utility` and
    `evaluate_tradeoff`.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    html: where to write a self-contained page; None: no page.
    data: your texts, whose words are counted: the path of a file, or a sequence of texts. The counts are not protected.
    column: the column of that file; None for lines of text and for a sequence.
    prior: the path of a file of word frequencies to use instead of those in data, with a word and a number per line.
    public: public texts from which the attacker of the context attack on data learns, like data; None: no such attack.
    public_column: the column of `public`; by default that in `column`.
    words: a word or several for the query attack; by default a few common words.
    eps: the budget per word: 0, or 0.001 to 100.
    plus: whether stopwords are kept.
    policy: what to do with unknown words and numbers, "strict" or "paper".
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    force: whether to overwrite an existing page.
    progress: called with the share of the work done, 0 to 1.

    Returns a Report.

    OutputError if the page cannot be written or already exists; SettingError if a setting is invalid; SourceError if a
    file cannot be read; MappingError if the mapping does not exist or lacks a word.
    """
    if html is not None:
        check_place(Path(html), force=force)
    under_test = MappingUnderTest(database, mapping=mapping)
    named = tuple(list_strings(words, "words"))
    if policy not in POLICIES:
        raise SettingError(f"policy must be one of {', '.join(POLICIES)}; found {policy!r}")
    if public is not None and data is None:
        raise SettingError("the context attack needs your texts too; use --data FILE (in Python: data=...)")
    chosen = ReportSettings(
        check_epsilon(eps), check_calibration(calibration), plus, policy, named, data, column, public, public_column
    )
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
    setup, points = evaluation.setup, evaluation.points
    curves = TradeOffCurves(setup.dataset, setup.model, setup.metric, evaluation.attack, points)
    publish_text(Path(html), page.render_tradeoff(curves), force=force)


def gather_report(
    database: Database,
    under_test: MappingUnderTest,
    chosen: ReportSettings,
    prior: Prior | None = None,
    *,
    progress: ShareDone | None = None,
) -> Report:
    """Return a report: what takes seconds is measured now, unless it was before; the rest comes from saved results.

    prior: a prior to report in addition to the uniform one.
    """
    mapping, epsilon = under_test.mapping, check_epsilon(chosen.eps)
    tell = (part_of(progress, number, 5) for number in range(5))
    priors = [uniform_prior(len(mapping.words)), *([] if prior is None else [prior])]
    if chosen.plus:
        priors = [one.without(under_test.is_stopword) for one in priors]
    certificate = tuple(_certify(database, under_test, epsilon, plus=chosen.plus))
    grid = sorted({*CURVE, epsilon})
    bayes: list[BayesResult] = []
    for calibration in CALIBRATIONS:
        told = next(tell)
        bayes += measure_bayes(
            database, mapping, priors, grid, calibration=calibration, plus=chosen.plus, progress=told
        )
    kept = under_test.stopwords if chosen.plus else frozenset()
    words = chosen.words or tuple(word for word in WORDS if word in mapping.index and word not in kept)
    some = sorted({*_EPSILONS, epsilon})
    context = None
    if chosen.data is not None and chosen.public is not None:
        context = attack_context(
            database,
            public=chosen.public,
            data=chosen.data,
            column=chosen.column,
            public_column=chosen.public_column,
            eps=some,
            plus=chosen.plus,
            policy=chosen.policy,
            calibration=chosen.calibration,
            mapping=mapping.info.name,
            progress=next(tell),
        )
    queries = measure_queries(
        database, mapping, words, some, calibration=chosen.calibration, simulations=SIMULATIONS, progress=next(tell)
    )
    count = min(SAMPLE, len(mapping.words))
    drawn = [mapping.words[place] for place in np.random.default_rng(0).choice(len(mapping.words), count, False)]
    sampled = measure_queries(
        database,
        mapping,
        drawn,
        some,
        calibration=chosen.calibration,
        simulations=SAMPLE_SIMULATIONS,
        progress=next(tell),
    )
    known = read_measurements(database)
    info = mapping.info
    return Report(
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        mapping=info.name,
        fingerprint=info.fingerprint,
        k=info.k,
        words=len(mapping.words),
        groups=len(mapping.sizes),
        eps=epsilon,
        calibration=chosen.calibration,
        plus=chosen.plus,
        policy=chosen.policy,
        priors=tuple(one.name for one in priors),
        certificate=certificate,
        bayes=tuple(bayes),
        context=context,
        queries=tuple(queries),
        quantiles=tuple(_find_quantiles(sampled, some)),
        sample=count,
        utility=tuple(find_utility(known)),
        tradeoffs=tuple(find_tradeoffs(known)),
        let_through=None
        if chosen.data is None
        else count_let_through(
            database,
            under_test,
            chosen.data,
            chosen.column,
            epsilon=epsilon,
            plus=chosen.plus,
            policy=chosen.policy,
        ),
    )


def _certify(
    database: Database, under_test: MappingUnderTest, epsilon: float, *, plus: bool
) -> Iterator[CertificateRow]:
    made: dict[str, Certificate] = {}
    settings = write_settings(plus=True, stopwords=digest_stopwords(under_test.stopwords)) if plus else "{}"

    def measure(subject: Subject, tell: ShareDone) -> tuple[float, None]:
        calibration = str(subject.calibration)
        if calibration not in made:
            made[calibration] = certify_mapping(
                under_test.mapping, under_test.vocabulary, epsilon, plus=plus, calibration=calibration
            )
        return float(getattr(made[calibration], subject.metric)), None

    for calibration in CALIBRATIONS:
        subjects = [
            replace(
                describe_mapping(under_test.mapping, "certificate", metric, epsilon, calibration),
                settings=settings,
            )
            for metric in ("worst_log_ratio", "median_log_ratio", "shrunk", "hides_among")
        ]
        yield CertificateRow(calibration, *map(as_number, measure_or_reuse(database, subjects, measure)))


def _find_quantiles(sampled: Sequence[QueryResult], epsilons: Sequence[float]) -> Iterator[Quantile]:
    for share in QUANTILES:
        for epsilon in epsilons:
            some = [result for result in sampled if result.eps == epsilon]
            numbers = []
            for place, (value, error) in enumerate((("n_mode", "n_mode_error"), ("n_ml", "n_ml_error"))):
                wanted = find_quantile([getattr(result, value) for result in some], share)
                whose = next(result for result in some if getattr(result, value) == wanted)
                numbers.append(Number(wanted, whose.measurement_ids[place], getattr(whose, error)))
            yield Quantile(share, epsilon, *numbers)
