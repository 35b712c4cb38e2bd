"""Reports and trade-offs: measures what they show, and writes pages."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import (
    BayesResult,
    find_prior,
    measure_curves,
    measure_guess,
    uniform_prior,
)
from custext_sql.experiments.attacks.context_attack import ContextResult, attack_texts
from custext_sql.experiments.attacks.query_attack import measure_queries
from custext_sql.experiments.choosing.selection import CURVE
from custext_sql.experiments.evaluation.evaluations import TradeOffEvaluation
from custext_sql.experiments.mechanisms import MappingUnderTest, ShareDone, list_strings, part_of
from custext_sql.experiments.public_texts import find_public_column
from custext_sql.experiments.report import page
from custext_sql.experiments.report.contents import Report, count_let_through, measure_one_output, measure_sample
from custext_sql.experiments.report.earlier_releases import find_earlier
from custext_sql.experiments.report.verdict_figures import Measured, collect_figures
from custext_sql.experiments.verdict.figures import Alternative
from custext_sql.experiments.verdict.judging import judge
from custext_sql.ledger.dataset import Dataset
from custext_sql.mapping.mapping import MappingInfo
from custext_sql.mechanism.weights import CALIBRATIONS, check_calibration, check_epsilon
from custext_sql.release.inputs.texts import Texts
from custext_sql.sanitizer.policy import DEFAULT_POLICY, Policy, name_policy
from custext_sql.store.auditing import certify_mapping
from custext_sql.store.contents import list_mappings
from custext_sql.store.database import Database
from custext_sql.store.outputs import check_place, publish_text

WORDS = ("car", "she", "doctor", "happy")  # shown if the caller names none
SIMULATIONS = 5_000  # per number for each of them: precise to about 2%
SAMPLE = 50  # words of the vocabulary, for quantiles

_EPSILONS = (0.0, 1.0, 2.0, 3.0, 8.0)  # of the query attack and the context attack, besides the chosen one
_FEWER = (0.0, 1.0, 3.0, 8.0, 20.0)  # of the best single guess under the other calibration, which may take a second
_STEPS = 5


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
    epsilon, calibration, to_release = check_epsilon(eps), check_calibration(calibration), Dataset(dataset)
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    tables = under_test.mapping
    info = tables.info
    known = find_prior(under_test, prior, *((data, column) if prior is None else (None, None)))
    every = [uniform_prior(len(tables.words)), *([] if known is None else [known])]
    priors = [one.of_drawn(under_test, plus=plus) for one in every]
    grids = {one: sorted({*(CURVE if one == calibration else _FEWER), epsilon}) for one in CALIBRATIONS}
    bayes = measure_curves(under_test, priors, grids, plus=plus, progress=progress, parts=_STEPS)
    curve = [one for one in bayes if (one.prior, one.calibration) == (priors[-1].name, calibration)]
    some, context = sorted({*_EPSILONS, epsilon}), None
    if data is not None and public is not None:
        texts = data, column, public, find_public_column(public, public_column, column)
        context = attack_texts(under_test, some, *texts, plus=plus, progress=part_of(progress, 2, _STEPS))
    kept = under_test.stopwords if plus else frozenset()
    queries = measure_queries(
        tables,
        named or tuple(word for word in WORDS if word in tables.index and word not in kept),
        some,
        calibration=calibration,
        simulations=SIMULATIONS,
        progress=part_of(progress, 3, _STEPS),
    )
    count = min(SAMPLE, len(tables.words))
    quantiles = measure_sample(under_test, count, some, progress=part_of(progress, 4, _STEPS))
    measured = Measured(
        under_test=under_test,
        prior=priors[-1],
        every=every[-1],
        plus=plus,
        guess=next(one for one in curve if one.eps == epsilon),
        context=next((one for one in context.results if one.eps == epsilon), None) if context else None,
        draws=next(one.n_ml for one in quantiles if (one.share, one.eps) == (0.5, epsilon)),
        one_output=measure_one_output(under_test, priors[-1], epsilon, plus=plus),
        let_through=count_let_through(under_test, data, column, epsilon=epsilon, plus=plus),
    )
    earlier = find_earlier(database, data, to_release, tables, plus=plus)
    alternatives = list_alternatives(database, measured, curve, () if context is None else context.results)
    report = Report(
        verdict=judge(collect_figures(measured, earlier, alternatives)),
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
        certificate=tuple(
            certify_mapping(tables, under_test.vocabulary, epsilon, plus=plus, calibration=one) for one in CALIBRATIONS
        ),
        bayes=tuple(bayes),
        one_output=measured.one_output,
        context=context,
        queries=tuple(queries),
        quantiles=tuple(quantiles),
        sample=count,
        let_through=measured.let_through,
    )
    if html is not None:
        publish_text(Path(html), page.render_report(report), force=force)
    return report


def write_tradeoff(evaluation: TradeOffEvaluation, html: str | os.PathLike[str], *, force: bool = False) -> None:
    """Draw the results of `evaluate_tradeoff` as curves on a self-contained page.

    html: where to write the page. force: whether to overwrite an existing file. OutputError if the page cannot be
    written or already exists.
    """
    publish_text(Path(html), page.render_tradeoff(evaluation), force=force)


def list_alternatives(
    database: Database, measured: Measured, curve: Sequence[BayesResult], contexts: Sequence[ContextResult]
) -> Iterator[Alternative]:
    """Yield other settings to compare with, which takes a few seconds: a smaller eps, no kept stopwords, larger groups.

    curve, contexts: the best single guess and the context attack at several eps.
    """
    now, in_context = measured.guess, {one.eps: one.success for one in contexts}
    for one in curve:
        if one.eps < now.eps:
            yield Alternative(now.mapping, now.k, one.eps, measured.plus, one.success, in_context.get(one.eps))
    yield from measured.compare_plus()
    under_test, prior = measured.under_test, measured.prior
    larger = _find_larger(database, under_test.mapping.info)
    if larger is None:  # an estimate for about twice as large groups
        guess = now.success * measured.one_output.floor_of_joined / now.floor
        yield Alternative(now.mapping, 2 * now.k, now.eps, measured.plus, guess, estimated=True)
        return
    other = MappingUnderTest(
        database, mapping=larger.name, policy=under_test.policy, calibration=under_test.calibration
    )
    known = dict(zip(under_test.mapping.words, prior.chances.tolist(), strict=True))
    chances = np.array([known.get(word, 0.0) for word in other.mapping.words])
    share = float(chances.sum())
    guess = measure_guess(other, chances / share, now.eps)
    yield Alternative(larger.name, larger.k, now.eps, measured.plus, guess, replaced=prior.drawn * share)


def _find_larger(database: Database, mapping: MappingInfo) -> MappingInfo | None:
    """Return the stored mapping of the same vectors and number of words with the next larger K."""
    others = [
        one
        for one in list_mappings(database)[0]
        if (one.embedding_sha256, one.words) == (mapping.embedding_sha256, mapping.words) and one.k > mapping.k
    ]
    return min(others, key=lambda one: one.k, default=None)
