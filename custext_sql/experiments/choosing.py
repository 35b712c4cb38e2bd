"""The public function `choose`: measures several mappings, suggests one of them and its eps, and judges them."""

import math
import numbers
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import duckdb
import numpy as np

from custext_sql.arrays import Points
from custext_sql.errors import MappingError, SettingError
from custext_sql.experiments.bayes_attack import BayesResult, Prior, find_prior, measure_bayes, measure_one_output
from custext_sql.experiments.context_attack import ContextAttacker, ContextResult, read_public
from custext_sql.experiments.mechanisms import MappingUnderTest, ShareDone, list_strings, part_of
from custext_sql.experiments.report import (
    CURVE,
    Attacked,
    collect_figures,
    compare_plus,
    count_let_through,
    find_earlier,
    measure_sample,
)
from custext_sql.experiments.texts import find_public_column
from custext_sql.experiments.verdict import GUESSED, Figures, Verdict, judge, vary
from custext_sql.files.inputs.texts import Texts, list_texts, name_texts
from custext_sql.ledger.dataset import Dataset
from custext_sql.mapping.making import make_mapping
from custext_sql.mapping.mapping import Mapping, MappingInfo
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES
from custext_sql.mechanism.weights import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    check_calibration,
    check_epsilon,
    matrices_by_size,
)
from custext_sql.parameters import check_whole
from custext_sql.sanitizer.policy import DEFAULT_POLICY, Policy, choose_policy, name_policy
from custext_sql.store.building import name_new, read_words
from custext_sql.store.contents import load_mapping
from custext_sql.store.database import Database, reading
from custext_sql.store.embeddings import find_embedding, read_embeddings, read_vectors
from custext_sql.store.mappings import default_name, find_mapping, read_infos

BOUNDS = {"bayes": GUESSED.green, "context": GUESSED.amber}  # the default bound of each attack
SIZES = (20, 40, 80, 160)  # the K that are tried, besides that of the default mapping
_BOUND, _K = "--max-attack (in Python: max_attack)", "--k (in Python: k)"
_ELSE = "name stored mappings instead: --mapping NAME (in Python: mappings=...)"
_MAKING = 0.6  # the share of the time that it takes to make a mapping, rather than to attack it
_WORDS = 20_000  # that the context attack guesses: enough for a standard error of less than 0.004
_FEWEST = 50  # texts that it attacks, however long they are
_CONTEXT_CURVE = (0.0, 1.0, 3.0, 5.0, 8.0)  # fewer than of the best single guess, since each takes seconds
_SAMPLE = 50  # words whose draws are counted, as in a report
_FEWER = 0.01  # the share of words that a chosen mapping may replace less than another
_AS_CLOSE = 0.02  # distances that differ by less count as equal, and the smaller success decides
_WORTHWHILE = 0.03  # the least fall of the share that is guessed at eps = 0, for each doubling of K


@dataclass(frozen=True)
class Candidate:
    """A mapping, and an eps at which the attack stays within the bound.

    Distances are mean distances of a word from its replacement, where 1 is the typical (root mean square) distance of
    two random words; None if the vectors are no longer stored.
    """

    mapping: str  # its name; if it is not stored, the one that `build_mapping` would give it
    k: int  # its group size K
    embedding: str  # the name of the embedding it was built from
    stored: bool  # whether the database has it; if not, it was made in memory
    recipe: Recipe  # how it is made, by the settings of `build_mapping`
    words: int  # how many it has
    fingerprint: str  # the SHA-256 of its tables
    success_at_0: float  # of the attack at eps = 0, where an output shows the group of the word and nothing else
    distance_at_0: float | None
    max_eps: float  # the largest eps that was considered
    # 0, or the largest eps within the bound, rounded down to two digits: the one with the smaller distance, or, if they
    # are about equal, with the smaller success; None if neither is within the bound
    eps: float | None
    success: float | None  # of the attack at that eps
    distance: float | None  # at that eps
    drawn: float  # the share of all words, 0 to 1, that are replaced; the bound applies to these words only
    # The attack at several eps, in ascending order. Of the context attack, only at 0 if that exceeds the bound and no
    # larger eps can lower it, because no group has words that are kept and words that are replaced.
    curve: tuple[BayesResult | ContextResult, ...]
    # whether `custext sanitize` would refuse it, because the ledger knows your texts under another mapping only
    refused: bool = False

    @property
    def least(self) -> float:
        """The smallest success of the attack at the eps of the curve."""
        return min(result.success for result in self.curve)


@dataclass(frozen=True)
class Growth:
    """What larger groups do to the share of words that are guessed at eps = 0."""

    enough: int | None  # the K beyond which doubling K lowers it by less than `worthwhile`; None: larger groups help
    worthwhile: float  # 0.03
    k: int  # the step of K that decides: the first after which none is worthwhile, or the last one
    larger: int
    success: float  # the shares that are guessed at these K
    larger_success: float
    distance: float | None  # how far replacements are from the words, as in `Candidate`
    larger_distance: float | None


@dataclass(frozen=True)
class Choice:
    """The mappings that `choose` considered, and the one that it suggests."""

    attack: str  # "bayes" or "context"
    bound: float  # its largest acceptable success: `max_attack`, or the default
    prior: str  # the name of the word frequencies
    prior_words: int  # the number of words that they were counted from
    public: str | None  # the name of the public texts; None, like the next four, for the attack "bayes"
    left_out: int | None  # how many public texts were left out because they are also in the data
    skipped: int | None  # how many public texts were skipped because they are empty
    texts: int | None  # the number of your texts
    attacked: int | None  # how many of your texts were attacked
    plus: bool  # whether stopwords are kept
    policy: str  # its name
    calibration: str  # how eps sets the temperature, "paper" or "tight"
    candidates: tuple[Candidate, ...]  # one per mapping
    # The suggestion; None if no mapping meets the bound at any eps. If your texts were released before, it has the same
    # mapping, if possible; otherwise its `refused` is true.
    chosen: Candidate | None
    growth: Growth | None  # whether larger groups still help; None if the mappings differ in more than K
    verdict: Verdict | None  # what the suggestion means for your texts, in plain words
    released_under: str | None = None  # the mapping of earlier releases of your texts, if any candidate has another one


def choose(
    database: Database = None,
    *,
    data: Texts | None = None,
    column: str | None = None,
    max_attack: float | None = None,
    attack: str = "bayes",
    max_eps: float | None = None,
    k: int | Sequence[int] | None = None,
    embedding: str | None = None,
    mappings: str | Sequence[str] = (),
    prior: str | os.PathLike[str] | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    plus: bool = False,
    policy: str | Policy = DEFAULT_POLICY,
    calibration: str = "paper",
    dataset: str | None = None,
    progress: ShareDone | None = None,
) -> Choice:
    """Suggest a mapping and an eps at which an attack succeeds at most as often as you allow.

    The attack "bayes" is that of `attack_bayes`: computed exactly from the tables, for an attacker who knows how
    frequent words are. The attack "context" is that of `attack_context`: measured on your texts, or on about 20,000
    words of them, for an attacker who has public texts.

    Mappings of several K are compared, made like the default mapping in every other respect. Those that are not stored
    are made in memory, and not stored. For each mapping, eps is 0 or the largest one within the bound, whichever leaves
    replacements closer to the original words. Among the mappings, the suggestion is the one with the closest
    replacements, unless it replaces fewer words. Distances that differ by less than 0.02 count as equal; then the
    smaller success of the attack decides.

    data: your texts, in which words are counted: the path of a file, a DataTable, or a sequence of texts.
    max_attack: the largest acceptable share of correct guesses, above 0 and below 1; by default 0.2 for "bayes" and 0.4
        for "context", the thresholds of a verdict.
    attack: "bayes" or "context". "context" needs data and public.
    max_eps: the largest eps to consider: 0, or 0.001 to 100. By default the one at which the promise for a word would
        turn red in a verdict, because an output could make a word of its group more than 0.4 likely.
    k: the group sizes to try, each at least 2; by default 20, 40, 80, 160 and that of the default mapping.
    embedding: the embedding to group; by default that of the default mapping.
    mappings: the name of a stored mapping, or several, to compare instead.
    prior: the path of a file of word frequencies. It takes precedence over data.
    public: for "context", the texts from which the attacker learns, like data.
    dataset: the name of your texts in the ledger; by default their files or their table. If they were released before,
        the suggestion has the same mapping if that meets the bound, since a second one is refused.

    All other arguments are those of `write_report`. The values are computed from your texts and are not protected.

    SettingError if a setting is invalid or a file that the attack needs is not given; SourceError if a file cannot be
    read; MappingError if a mapping does not exist, or the vectors of the default mapping are no longer stored.
    """
    if attack not in BOUNDS:
        raise SettingError(f"attack must be one of {', '.join(BOUNDS)}; found {attack!r}")
    bound = _check_bound(BOUNDS[attack] if max_attack is None else max_attack)
    limit = None if max_eps is None else _check_max_eps(max_eps)
    check_calibration(calibration)
    settled, named = choose_policy(policy), Dataset(dataset)
    contenders = list_contenders(database, k, embedding, mappings)
    attacker, texts, sampled = _open_attacker(attack, data, column, public, public_column)
    frequencies = WordFrequencies(prior, data, column)
    if data is not None:
        list_texts(data, column, 1)  # a wrong name is found before anything is made

    def open_attack(mapping: Mapping) -> Attacked:
        under_test = MappingUnderTest(database, mapping=mapping, policy=settled, calibration=calibration)
        return Attacked(under_test, frequencies.find(under_test), plus)

    opened: dict[str, Mapping] = {}
    earlier: dict[str, dict[str, Any]] = {}

    def consider(contender: Contender, progress: ShareDone) -> Candidate:
        making = 0.0 if contender.stored else _MAKING
        mapping = opened[contender.name] = contender.open(lambda done: progress(making * done))
        attacked = open_attack(mapping)
        candidate = find_candidate(
            attacked,
            bound,
            attacker,
            max_eps=find_eps_limit(attacked.under_test.vocabulary.hides_among(plus)) if limit is None else limit,
            stored=contender.stored,
            progress=lambda done: progress(making + (1.0 - making) * done),
        )
        earlier[contender.name] = find_earlier(database, data, named, mapping, plus=plus)
        return replace(candidate, refused="released_under" in earlier[contender.name])

    in_order = sorted(contenders, key=lambda one: not one.stored)  # errors in texts come soon
    found = [consider(one, part_of(progress, place, len(in_order))) for place, one in enumerate(in_order)]
    names = [contender.name for contender in contenders]
    candidates = sorted(found, key=lambda one: names.index(one.mapping))
    chosen = pick_candidate([one for one in candidates if not one.refused]) or pick_candidate(candidates)
    attacked, verdict = open_attack(opened[(chosen or candidates[0]).mapping]), None
    if chosen is not None:
        figures = _measure(attacked, attacker, chosen.eps or 0.0, data, column, earlier[chosen.mapping])
        verdict = judge(figures, [*_list_alternatives(attacked, figures, candidates)])
    public_texts = None if attacker is None else attacker.public
    return Choice(
        attack=attack,
        bound=bound,
        prior=attacked.every.name,
        prior_words=attacked.every.words,
        public=public_texts and public_texts.name,
        left_out=public_texts and public_texts.left_out,
        skipped=public_texts and public_texts.skipped,
        texts=texts,
        attacked=sampled,
        plus=plus,
        policy=name_policy(settled),
        calibration=calibration,
        candidates=tuple(candidates),
        chosen=chosen,
        growth=measure_growth(candidates),
        verdict=verdict,
        released_under=next((one["released_under"] for one in earlier.values() if "released_under" in one), None),
    )


def _check_bound(bound: float) -> float:
    """Return the bound on an attack; SettingError if it is not a number above 0 and below 1."""
    if isinstance(bound, bool) or not isinstance(bound, numbers.Real):
        raise SettingError(f"{_BOUND} must be a number between 0 and 1; found {type(bound).__name__}")
    if not 0.0 < bound < 1.0:
        raise SettingError(f"{_BOUND} must be above 0 and below 1; found {float(bound):g}")
    return bound


def _check_max_eps(epsilon: float) -> float:
    """Return the largest eps to consider; SettingError if it is not a valid eps."""
    try:
        return check_epsilon(epsilon)
    except SettingError as error:
        raise SettingError(f"--max-eps (in Python: max_eps): {error}") from None


def _open_attacker(
    attack: str, data: Texts | None, column: str | None, public: Texts | None, public_column: str | None
) -> tuple[ContextAttacker | None, int | None, int | None]:
    """Return the attacker of the context attack, the number of texts, and of those to attack; else None for each."""
    if attack == "context":
        if data is None or public is None:
            raise SettingError(
                "the context attack needs your texts and public texts: custext choose INPUT --public FILE "
                "(in Python: data=... and public=...)"
            )
        texts = [text or "" for text in list_texts(data, column)]
        sample, from_column = sample_texts(texts), find_public_column(public, public_column, column)
        attacker = ContextAttacker(sample, read_public(public, from_column, texts), name_texts(data))
        return attacker, len(texts), len(sample)
    if public is not None or public_column is not None:
        raise SettingError(
            '--public (in Python: public) is for the context attack; add --attack context (in Python: attack="context")'
        )
    return None, None, None


def sample_texts(texts: Sequence[str], words: int = _WORDS, fewest: int = _FEWEST) -> Sequence[str]:
    """Return evenly spaced texts with about that many words, at least `fewest` texts; all if there are no more."""
    number = max(fewest, round(len(texts) * words / max(1, sum(len(text.split()) for text in texts))))
    return texts if number >= len(texts) else [texts[place * len(texts) // number] for place in range(number)]


class WordFrequencies:
    """The prior of each mapping: from a file of frequencies, or as counted in texts."""

    def __init__(self, prior: str | os.PathLike[str] | None, data: Texts | None, column: str | None) -> None:
        if prior is None and data is None:
            raise SettingError(
                "word frequencies are missing; name your texts, custext choose INPUT, or use --prior FILE (in Python: "
                "data=... or prior=...)"
            )
        self._prior, self._texts = prior, (data, column) if prior is None else (None, None)
        self._counted: tuple[Mapping, Prior] | None = None

    def find(self, under_test: MappingUnderTest) -> Prior:
        """Return the prior of a mapping. What was counted for another one is reused if it has the same words.

        With kept words, it is counted again: how many are replaced then also depends on who else is in a group.
        """
        mapping = under_test.mapping
        if self._counted is not None and not under_test.policy.keep_words:
            other, known = self._counted
            if len(other.words) == len(mapping.words) and all(word in other.index for word in mapping.words):
                order = np.array([other.index[word] for word in mapping.words])
                return replace(known, chances=known.chances[order])
        found = find_prior(under_test, self._prior, *self._texts)
        assert found is not None
        self._counted = mapping, found
        return found


def _measure(
    attacked: Attacked,
    attacker: ContextAttacker | None,
    eps: float,
    data: Texts | None,
    column: str | None,
    earlier: dict[str, Any],
) -> Figures:
    """Return what the verdict on a suggestion depends on, which takes a few seconds."""
    under_test, plus = attacked.under_test, attacked.plus
    [guess] = measure_bayes(under_test, [attacked.prior], [eps], plus=plus)
    context = None if attacker is None else attacker.report(under_test, [eps], plus=plus).results[0]
    draws = None  # at eps = 0, no number is enough
    if eps > 0.0:
        quantiles = measure_sample(under_test, min(_SAMPLE, len(under_test.mapping.words)), [eps])
        draws = next(one.n_ml for one in quantiles if one.share == 0.5)
    let_through = count_let_through(under_test, data, column, epsilon=eps, plus=plus)
    one_output = measure_one_output(under_test, attacked.prior.chances, eps, plus=plus)
    return collect_figures(attacked, guess, context, draws, one_output, let_through, earlier)


def _list_alternatives(attacked: Attacked, figures: Figures, others: Sequence[Candidate]) -> Iterator[Figures]:
    """Yield other settings that were measured: another K at the same eps, a smaller eps, no kept stopwords."""
    for one in others:
        for result in one.curve:
            same_eps = one.k > figures.k and result.eps == figures.eps
            if same_eps or (one.mapping == figures.mapping and result.eps < figures.eps):
                name = "context" if isinstance(result, ContextResult) else "guess"
                measured = {name: result.success, "replaced": one.drawn}
                yield vary(figures, mapping=one.mapping, k=one.k, eps=result.eps, **measured)
    yield from compare_plus(attacked, figures)


# The mappings to compare: stored ones, or one for each K, which are made in memory


class Contender(NamedTuple):
    """A mapping to compare with others. stored: whether the database has it. open: reads it, or makes it in memory."""

    name: str
    k: int
    stored: bool
    open: Callable[[ShareDone], Mapping]


def list_contenders(
    database: Database,
    k: int | Sequence[int] | None = None,
    embedding: str | None = None,
    mappings: str | Sequence[str] = (),
) -> list[Contender]:
    """Return the stored mappings of some names, or else a mapping for each K, in ascending order.

    The latter are like the default mapping apart from K and the embedding, and stored if there is one. By default, they
    have the K in SIZES and that of the default mapping, as far as there are enough words.

    SettingError if the arguments exclude each other, a K is not a whole number, or the default mapping was made with a
    function; CusTextError if a mapping, an embedding or the vectors of the default mapping do not exist.
    """
    if mappings:
        if k is not None or embedding is not None:
            other = _K if k is not None else "--embedding (in Python: embedding)"
            raise SettingError(f"--mapping (in Python: mappings) names stored mappings; leave out {other}")
        with reading(database) as connection:
            named = [find_mapping(connection, name) for name in dict.fromkeys(list_strings(mappings, "mappings"))]
        return [_store(database, info) for info in named]
    given = None if k is None else _check_sizes(k)
    with reading(database) as connection:
        infos = read_infos(connection)
        recipe, own = _find_recipe(connection, infos, embedding)
        source, words = read_words(connection, recipe)
        recipe, first = words.settle(recipe), default_name(connection)
    fitting = [size for size in sorted({*SIZES, *own}) if size <= len(words.words)]
    if given and given[-1] > len(words.words):
        raise SettingError(f"{_K} must not exceed the number of words, {len(words.words):,}; found {given[-1]:,}")

    @cache
    def read() -> Points:  # once for all K
        with reading(database) as connection:
            return read_vectors(connection, source, words.positions)

    def make(recipe: Recipe, name: str, progress: ShareDone) -> Mapping:
        return make_mapping(words, read(), recipe, name, progress=lambda done, total: progress(done / total))

    found = []
    for size in given or fitting or [len(words.words)]:
        wanted = replace(recipe, k=size)
        same = [one for one in infos if (one.recipe, one.embedding_sha256) == (wanted, words.sha256)]
        same.sort(key=lambda info: info.name != first)
        name = name_new(wanted, infos)
        found.append(_store(database, same[0]) if same else Contender(name, size, False, partial(make, wanted, name)))
    return found


def _store(database: Database, info: MappingInfo) -> Contender:
    return Contender(info.name, info.k, True, lambda progress: load_mapping(database, info.name))


def _check_sizes(sizes: int | Sequence[int]) -> list[int]:
    given = list(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, (str, bytes)) else [sizes]
    found = sorted({check_whole(size, _K) for size in given})  # type: ignore[arg-type]
    if not found or found[0] < 2:
        wrong = found[0] if found else "none"
        raise SettingError(f"{_K} must be group sizes of at least 2, such as 20,40; found {wrong}")
    return found


def _find_recipe(
    connection: duckdb.DuckDBPyConnection, infos: Sequence[MappingInfo], embedding: str | None
) -> tuple[Recipe, list[int]]:
    """Return the recipe to vary, and the K of the default mapping if it was made with that recipe."""
    if embedding is not None:
        find_embedding(connection, embedding)
        if not infos:
            return Recipe(embedding), []
    info = find_mapping(connection, None)
    if info.measure not in MEASURES:
        raise SettingError(
            f"mapping {info.name} was made with a similarity function, so no other K can be tried; {_ELSE}"
        )
    if embedding not in (None, info.embedding):
        return replace(info.recipe, embedding=str(embedding), word_limit=None), []
    digests = {one.name: one.sha256 for one in read_embeddings(connection)}
    if digests.get(info.embedding) != info.embedding_sha256:
        raise MappingError(
            f"trying several K needs the vectors from which mapping {info.name} was built, but embedding "
            f"{info.embedding!r} was dropped or replaced; load them again: custext load FILE --name {info.embedding} "
            f"--replace; or {_ELSE}"
        )
    return info.recipe, [info.k]


# The best eps of a mapping at which an attack stays within a bound, and the best of several mappings


def pick_candidate(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the best candidate; None if none is within the bound.

    A mapping that replaces fewer words than another is not chosen. Among the others, the replacements closest to the
    original words win; if some are about as close, the smallest success of the attack. If the distances are unknown,
    the largest eps wins.
    """
    most = max((candidate.drawn for candidate in candidates), default=0.0)
    fitting = [one for one in candidates if one.eps is not None and one.drawn >= most - _FEWER]
    known = [one.distance for one in fitting if one.distance is not None]
    if not known:
        return max(fitting, key=lambda one: one.eps or 0.0, default=None)
    close = [one for one in fitting if one.distance is not None and one.distance <= min(known) + _AS_CLOSE]
    return min(close, key=lambda one: (one.success or 0.0, one.eps or 0.0, one.k))


def find_candidate(
    attacked: Attacked,
    bound: float,
    attacker: ContextAttacker | None = None,
    *,
    max_eps: float = LARGEST_EPSILON,
    stored: bool = True,
    progress: ShareDone | None = None,
) -> Candidate:
    """Return a mapping with 0 or the largest eps within the bound, found by bisection between the eps of the curve.

    attacker: of the context attack; None for the best single guess. max_eps: the largest eps to consider. stored:
    whether the database has the mapping.
    """
    under_test, plus = attacked.under_test, attacked.plus

    def measure(
        epsilons: Sequence[float], progress: ShareDone | None = None
    ) -> Sequence[BayesResult] | Sequence[ContextResult]:
        if attacker is None:
            return measure_bayes(under_test, [attacked.prior], epsilons, plus=plus, progress=progress)
        return attacker.report(under_test, epsilons, plus=plus, progress=progress).results

    tell, measuring = part_of(progress, 0, 1), part_of(progress, 0, 2)
    if attacker is None:
        curve = [*measure(CURVE, measuring)]
    else:
        curve = [*measure([0.0], part_of(measuring, 0, 2))]
        # a larger eps can be safer only if a group has kept words too: a drawn word may then look like a kept one,
        # while a representative is never one of them
        if curve[0].success <= bound or mixes_kept(under_test, plus=plus):
            curve += measure(_CONTEXT_CURVE[1:], part_of(measuring, 1, 2))
    # the curve and 8 steps of bisection are precise to half a percent, 4 to the error of the context attack
    largest = _find_largest(
        lambda epsilon: measure([epsilon])[0].success <= bound,
        {one.eps: one.success <= bound for one in curve},
        max_eps,
        8 if attacker is None else 4,
        part_of(progress, 1, 2),
    )
    measured, info = [curve[0], *([] if largest is None else measure([largest]))], under_test.mapping.info
    distances = {one.eps: measure_distance(attacked, one.eps) for one in measured}
    none = Candidate(
        mapping=info.name,
        k=info.k,
        embedding=info.embedding,
        stored=stored,
        recipe=info.recipe,
        words=info.words,
        fingerprint=info.fingerprint,
        success_at_0=curve[0].success,
        distance_at_0=distances[0.0],
        max_eps=max_eps,
        eps=None,
        success=None,
        distance=None,
        drawn=attacked.prior.drawn,
        curve=tuple(curve),
    )
    within = [one for one in measured if one.success <= bound]
    tell(1.0)
    return pick_candidate([replace(none, **_at(one, distances[one.eps])) for one in within]) or none


def _at(result: BayesResult | ContextResult, distance: float | None) -> dict[str, Any]:
    return {"eps": result.eps, "success": result.success, "distance": distance}


def mixes_kept(under_test: MappingUnderTest, *, plus: bool) -> bool:
    """Return whether some group has both words that are replaced and words that are kept."""
    mapping = under_test.mapping
    undrawn = np.add.reduceat(under_test.find_undrawn(plus=plus).astype(np.int64), mapping.word_starts)
    return bool(((undrawn > 0) & (undrawn < mapping.sizes)).any())


def _find_largest(
    is_within: Callable[[float], bool], known: dict[float, bool], max_eps: float, steps: int, progress: ShareDone
) -> float | None:
    """Return about the largest eps within the bound; None if there is no eps above 0 within it.

    known: whether some eps are within it, 0 first.
    """
    if not any(known.values()) or max_eps < SMALLEST_EPSILON:
        return None
    low = max_eps
    if not is_within(max_eps):
        low = max((eps for eps in known if known[eps] and 0.0 < eps < max_eps), default=SMALLEST_EPSILON)
        high = min((eps for eps in known if not known[eps] and low < eps < max_eps), default=max_eps)
        if low == SMALLEST_EPSILON and not is_within(low):
            return None
        for step in range(steps):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if is_within(middle) else (low, middle)
            progress((step + 1) / (steps + 1))
    return max(SMALLEST_EPSILON, _round_down(low))


def _round_down(epsilon: float) -> float:
    """Return an eps rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.floor(epsilon / unit * (1.0 + 1e-12)) * unit:.6g}")


def find_eps_limit(hides_among: int) -> float:
    """Return the largest eps, to two digits, at which the promise for a word is not red in a verdict; 0 if none is.

    If all words of a group of n were equally likely before, an output can make one of them 1 / (1 + (n - 1) exp(-eps))
    likely. That must not exceed the share of words from which on a verdict is red.
    """
    most = (hides_among - 1) * GUESSED.amber / (1.0 - GUESSED.amber)
    return min(_round_down(math.log(most)), LARGEST_EPSILON) if most > 1.01 else 0.0


def measure_distance(attacked: Attacked, epsilon: float) -> float | None:
    """Return the mean distance of a word from its replacement; None if the vectors are no longer stored.

    The unit is the root mean square distance of two random words, so that the lengths of vectors do not matter.
    """
    under_test, chances, mapping = attacked.under_test, attacked.prior.chances, attacked.under_test.mapping
    try:
        space = under_test.space
    except MappingError:
        return None
    points, usual = space.centered, math.sqrt(4.0 * float(space.half_squares.mean(dtype=np.float64))) or 1.0
    if epsilon == 0.0:
        words = chances.nonzero()[0]
        apart = points[words] - points[under_test.vocabulary.representatives(attacked.plus)[words]]
        return float(chances[words] @ np.sqrt(np.einsum("ij,ij->i", apart, apart, dtype=np.float64))) / usual
    total = 0.0
    for groups, matrices in matrices_by_size(mapping.sizes, under_test.certify(epsilon).weights):
        words = mapping.word_starts[groups][:, None] + np.arange(matrices.shape[1])
        members = points[words].astype(np.float64)
        squares, products = (members**2).sum(axis=2), np.einsum("gid,gjd->gij", members, members)
        distances = np.sqrt(np.maximum(squares[:, :, None] + squares[:, None, :] - 2.0 * products, 0.0))
        total += float(((distances * (matrices / 2.0**64)).sum(axis=2) * chances[words]).sum())
    return total / usual


def measure_growth(candidates: Sequence[Candidate]) -> Growth | None:
    """Return what larger groups do. None if the candidates are not mappings of several K that are alike otherwise."""
    ordered = sorted(candidates, key=lambda candidate: candidate.k)
    kinds = {(replace(one.recipe, k=2), one.words) for one in ordered}
    if len({one.k for one in ordered}) < max(2, len(ordered)) or len(kinds) > 1:
        return None
    steps = [*pairwise(ordered)]
    falls = [(small.success_at_0 - large.success_at_0) / math.log2(large.k / small.k) for small, large in steps]
    last = max((place + 1 for place, fall in enumerate(falls) if fall >= _WORTHWHILE), default=0)
    small, large = steps[min(last, len(steps) - 1)]  # from the last one on, no step is worthwhile
    return Growth(
        enough=small.k if last < len(steps) else None,
        worthwhile=_WORTHWHILE,
        k=small.k,
        larger=large.k,
        success=small.success_at_0,
        larger_success=large.success_at_0,
        distance=small.distance_at_0,
        larger_distance=large.distance_at_0,
    )
