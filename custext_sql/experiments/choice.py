"""The choice of a mapping and of an eps at which an attack stays within a bound."""

import math
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import BayesResult, measure_bayes
from custext_sql.experiments.attacks.best_guess import measure_success
from custext_sql.experiments.attacks.context_attack import ContextResult, measure_context, open_attacker
from custext_sql.experiments.attacks.context_attacker import ContextAttacker
from custext_sql.experiments.attacks.priors import Prior, find_prior
from custext_sql.experiments.measurements import ShareDone, part_of
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.replacement_distance import measure_distance
from custext_sql.experiments.text_files import Texts, has_columns, list_texts
from custext_sql.experiments.trials import list_once
from custext_sql.mechanism.certified_table import certify
from custext_sql.mechanism.weights import LARGEST_EPSILON, SMALLEST_EPSILON, check_calibration
from custext_sql.store.database import Database
from custext_sql.store.mappings import list_mappings

BAYES, CONTEXT = "bayes", "context"
CURVE = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
_CONTEXT_CURVE = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)  # fewer, since each takes seconds
_FEWER = 0.01  # the share of words that a chosen mapping may replace less than another
_BOUND = "--max-attack (in Python: max_attack)"
_Result = BayesResult | ContextResult
_STEPS = 8  # bisection steps: precise to half a percent, since eps is given to two digits


@dataclass(frozen=True)
class Candidate:
    """A mapping, and an eps at which the attack stays within the bound.

    mapping, k, embedding: the name of the mapping, its group size K, and the name of the embedding it was built from.
    floor: the success of the attack at eps = 0, where an output reveals the group of the word and nothing else.
    eps: 0, or the largest eps within the bound, rounded down to two digits: the one with the smaller distance; None if
        neither is within the bound.
    success: the success of the attack at that eps; None if eps is None.
    distance: the mean distance of a word from its replacement at that eps, where 1 is the typical (root mean square)
        distance of two random words; None if eps is None or the vectors are no longer stored.
    drawn: the share of all words, 0 to 1, that are replaced. The bound applies to these words only.
    curve: the attack at several eps, in ascending order.
    """

    mapping: str
    k: int
    embedding: str
    floor: float
    eps: float | None
    success: float | None
    distance: float | None
    drawn: float
    curve: tuple[BayesResult | ContextResult, ...]


@dataclass(frozen=True)
class Choice:
    """The mappings that `choose` considered, and the one that it suggests.

    attack: "bayes" or "context". bound: its largest acceptable success, as passed in `max_attack`.
    prior, prior_words: the name of the word frequencies, and the number of words that they were counted from.
    public, left_out: for the context attack, the name of the public texts, and how many of them were left out because
        they are also in the data; None for others.
    plus: whether stopwords are kept. calibration: how eps sets the temperature, "paper" or "tight".
    candidates: one per mapping.
    chosen: the suggested candidate; None if no mapping meets the bound at any eps.
    """

    attack: str
    bound: float
    prior: str
    prior_words: int
    public: str | None
    left_out: int | None
    plus: bool
    calibration: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None


def choose(
    database: Database = None,
    *,
    max_attack: float,
    attack: str = "bayes",
    data: Texts | None = None,
    column: str | None = None,
    prior: str | os.PathLike[str] | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    plus: bool = False,
    calibration: str = "paper",
    mappings: str | Sequence[str] = (),
    progress: ShareDone | None = None,
) -> Choice:
    """Suggest a mapping and an eps at which an attack succeeds at most as often as you allow.

    The attack "bayes" is that of `attack_bayes`: computed exactly from the tables, for an attacker who knows how
    frequent words are. The attack "context" is that of `attack_context`: measured on your texts, for an attacker who
    has public texts. For each mapping, eps is 0 or the largest one within the bound, whichever leaves replacements
    closer to the original words. Among several mappings, the suggestion is the one with the closest replacements,
    unless it replaces fewer words.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    max_attack: the largest acceptable share of correct guesses, above 0 and below 1.
    attack: "bayes" or "context". "context" needs data and public.
    data: your texts, in which words are counted: the path of a file, or a sequence of texts.
    column: the column of that file; None for lines of text and for a sequence.
    prior: the path of a file of word frequencies, with a word and a number per line. It takes precedence over data.
    public: for "context", the texts from which the attacker learns, like data.
    public_column: the column of `public`; by default that in `column`.
    plus: whether stopwords are kept. calibration: "paper" or "tight".
    mappings: a name, or several; by default all mappings in the database.
    progress: called with the share of the work done, 0 to 1.

    Returns a Choice; its `chosen` is None if no mapping meets the bound. The values, which are also saved in the table
    `measurements`, are computed from your texts and are not protected.

    SettingError if a setting is invalid or a file that the attack needs is not given; SourceError if a file cannot be
    read; MappingError if a mapping does not exist.
    """
    check_bound(max_attack)
    check_calibration(calibration)
    if attack not in (BAYES, CONTEXT):
        raise SettingError(f"attack must be one of {BAYES}, {CONTEXT}; found {attack!r}")
    attacker = None
    if attack == CONTEXT:
        if data is None or public is None:
            raise SettingError(
                "the context attack needs your texts and public texts; use --data FILE and --public FILE "
                "(in Python: data=... and public=...)"
            )
        texts = [text or "" for text in list_texts(data, column)]
        attacker = open_attacker(data, texts, public, public_column or (column if has_columns(public) else None))
    elif public is not None or public_column is not None:
        raise SettingError(
            '--public (in Python: public) is for the context attack; add --attack context (in Python: attack="context")'
        )
    names: Sequence[str | None] = (
        list_once(mappings, "mappings") or [info.name for info in list_mappings(database)[0]] or [None]
    )
    candidates = []
    for name in names:
        under_test = MappingUnderTest(database, mapping=name, calibration=calibration)
        known = find_prior(under_test, prior, *((data, column) if prior is None else (None, None)))
        if known is None:
            raise SettingError(
                "word frequencies are missing; use --data FILE or --prior FILE (in Python: data=... or prior=...)"
            )
        candidates.append((under_test, known))
    return choose_setting(database, candidates, max_attack, attacker, plus=plus, progress=progress)


def check_bound(bound: float) -> float:
    """Return the bound on an attack; SettingError if it is not a number above 0 and below 1."""
    if isinstance(bound, bool) or not isinstance(bound, numbers.Real):
        raise SettingError(f"{_BOUND} must be a number between 0 and 1; found {type(bound).__name__}")
    if not 0.0 < bound < 1.0:
        raise SettingError(f"{_BOUND} must be above 0 and below 1; found {float(bound):g}")
    return bound


def choose_setting(
    database: Database,
    candidates: Sequence[tuple[MappingUnderTest, Prior]],
    bound: float,
    attacker: ContextAttacker | None = None,
    *,
    plus: bool = False,
    progress: ShareDone | None = None,
) -> Choice:
    """Return the choice among some mappings of the same calibration, each given with the prior of its words.

    The chosen one has the replacements closest to the original words. A mapping that replaces fewer words than another
    is not chosen. attacker: of the context attack; None: the best single guess.
    """
    check_bound(bound)
    found = []
    for number, (under_test, prior) in enumerate(candidates):
        known = prior.without(under_test.is_stopword) if plus else prior
        attack = _Attack(database, under_test, known, attacker, plus)
        found.append(_find_candidate(attack, bound, part_of(progress, number, len(candidates))))
    most = max(candidate.drawn for candidate in found)
    fitting = [one for one in found if one.eps is not None and one.drawn >= most - _FEWER]
    under_test, prior = candidates[0]
    return Choice(
        attack=BAYES if attacker is None else CONTEXT,
        bound=bound,
        prior=prior.name,
        prior_words=prior.words,
        public=None if attacker is None else attacker.public.name,
        left_out=None if attacker is None else attacker.public.left_out,
        plus=plus,
        calibration=under_test.calibration,
        candidates=tuple(found),
        chosen=min(fitting, key=_rank, default=None),
    )


def _rank(candidate: Candidate) -> tuple[float, float]:
    """Return a sort key: the smallest distance first, then the largest eps; unknown distances last."""
    assert candidate.eps is not None
    return (math.inf if candidate.distance is None else candidate.distance, -candidate.eps)


@dataclass(frozen=True)
class _Attack:
    """An attack on a mapping: the context attack, or the best single guess if there is no attacker."""

    database: Database
    under_test: MappingUnderTest
    prior: Prior
    attacker: ContextAttacker | None
    plus: bool

    @property
    def curve(self) -> tuple[float, ...]:
        return CURVE if self.attacker is None else _CONTEXT_CURVE

    def measure(self, epsilons: Sequence[float], progress: ShareDone | None = None) -> list[_Result]:
        """Return the results at some eps, which are saved."""
        mapping, calibration = self.under_test.mapping, self.under_test.calibration
        if self.attacker is None:
            priors = [self.prior]
            return [*measure_bayes(self.database, mapping, priors, epsilons, calibration=calibration, plus=self.plus)]
        found = measure_context(
            self.database, self.attacker, self.under_test, epsilons, plus=self.plus, progress=progress
        )
        return [*found]

    def find_success(self, epsilon: float) -> float:
        """Return the success at an eps above 0, which need not be saved."""
        if self.attacker is not None:
            return self.measure([epsilon])[0].success
        mapping = self.under_test.mapping
        weights = certify(mapping.sizes, mapping.scores, epsilon, self.under_test.calibration).weights
        return measure_success(mapping.sizes, weights, self.prior.chances)


def _find_candidate(attack: _Attack, bound: float, progress: ShareDone) -> Candidate:
    """Return a mapping with 0 or the largest eps within the bound, found by bisection between the eps of the curve."""
    under_test, prior = attack.under_test, attack.prior
    curve = attack.measure(attack.curve, part_of(progress, 0, 2))
    fitting = [one.eps for one in curve[1:] if one.success <= bound]
    low = max(fitting, default=SMALLEST_EPSILON)
    high = min((one.eps for one in curve if one.success > bound and one.eps > low), default=LARGEST_EPSILON)
    steps = _STEPS if fitting or attack.find_success(SMALLEST_EPSILON) <= bound else 0
    for step in range(steps):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if attack.find_success(middle) > bound else (middle, high)
        progress(0.5 + 0.5 * (step + 1) / (steps + 1))
    largest = attack.measure([max(SMALLEST_EPSILON, _round_down(low))])
    info = under_test.mapping.info
    options = [
        Candidate(
            mapping=info.name,
            k=info.k,
            embedding=info.embedding,
            floor=curve[0].success,
            eps=result.eps,
            success=result.success,
            distance=measure_distance(under_test, prior, result.eps, plus=attack.plus),
            drawn=prior.drawn,
            curve=tuple(curve),
        )
        for result in (curve[0], *largest)
        if result.success <= bound
    ]
    progress(1.0)
    nothing = Candidate(info.name, info.k, info.embedding, curve[0].success, None, None, None, prior.drawn, (*curve,))
    return min(options, key=_rank, default=nothing)


def _round_down(epsilon: float) -> float:
    """Return an eps rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.floor(epsilon / unit * (1.0 + 1e-12)) * unit:.6g}")
