"""The public function `choose`: it measures several mappings, suggests one of them, and judges the suggestion."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.bayes_attack import Prior, find_prior, measure_bayes
from custext_sql.experiments.attacks.context_attack import ContextAttacker, ContextResult, read_public
from custext_sql.experiments.choosing.choice import Candidate, Choice, measure_growth
from custext_sql.experiments.choosing.contenders import list_contenders
from custext_sql.experiments.choosing.selection import (
    MappingAttack,
    check_bound,
    check_max_eps,
    find_candidate,
    find_eps_limit,
    pick_candidate,
)
from custext_sql.experiments.mechanisms import MappingUnderTest, ShareDone, part_of
from custext_sql.experiments.public_texts import find_public_column
from custext_sql.experiments.report.contents import count_let_through, measure_one_output, measure_sample
from custext_sql.experiments.report.earlier_releases import Earlier, find_earlier
from custext_sql.experiments.report.verdict_figures import Measured, collect_figures
from custext_sql.experiments.verdict.figures import Alternative
from custext_sql.experiments.verdict.judging import judge
from custext_sql.experiments.verdict.thresholds import GUESSED
from custext_sql.ledger.dataset import Dataset
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.weights import check_calibration
from custext_sql.release.inputs.texts import Texts, list_texts, name_texts
from custext_sql.sanitizer.policy import DEFAULT_POLICY, Policy, choose_policy, name_policy
from custext_sql.store.database import Database

BOUNDS = {"bayes": GUESSED.green, "context": GUESSED.amber}  # the default bound of each attack
_MAKING = 0.6  # the share of the time that it takes to make a mapping, rather than to attack it
_WORDS = 20_000  # that the context attack guesses: enough for a standard error of less than 0.004
_FEWEST = 50  # texts that it attacks, however long they are
_SAMPLE = 50  # words whose draws are counted, as in a report


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

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    data: your texts, in which words are counted: the path of a file, a DataTable, or a sequence of texts.
    column: their column; None for lines of text and for a sequence.
    max_attack: the largest acceptable share of correct guesses, above 0 and below 1; by default 0.2 for "bayes" and 0.4
        for "context", the thresholds of a verdict.
    attack: "bayes" or "context". "context" needs data and public.
    max_eps: the largest eps to consider: 0, or 0.001 to 100. By default the one at which the promise for a word would
        turn red in a verdict, because an output could make a word of its group more than 0.4 likely.
    k: the group sizes to try, each at least 2; by default 20, 40, 80, 160 and that of the default mapping.
    embedding: the embedding to group; by default that of the default mapping.
    mappings: the name of a stored mapping, or several, to compare instead.
    prior: the path of a file of word frequencies, with a word and a number per line. It takes precedence over data.
    public: for "context", the texts from which the attacker learns, like data.
    public_column: the column of `public`; by default that in `column`.
    plus: whether stopwords are kept. calibration: "paper" or "tight".
    policy: what to do with unknown words and numbers: "strict", "paper" or a Policy.
    dataset: the name of your texts in the ledger; by default their files or their table. If they were released before,
        the suggestion has the same mapping if that meets the bound, since a second one is refused.
    progress: called with the share of the work done, 0 to 1.

    Returns a Choice; its `chosen` is None if no mapping meets the bound. The values are computed from your texts and
    are not protected.

    SettingError if a setting is invalid or a file that the attack needs is not given; SourceError if a file cannot be
    read; MappingError if a mapping does not exist, or the vectors of the default mapping are no longer stored.
    """
    if attack not in BOUNDS:
        raise SettingError(f"attack must be one of {', '.join(BOUNDS)}; found {attack!r}")
    bound = check_bound(BOUNDS[attack] if max_attack is None else max_attack)
    limit = None if max_eps is None else check_max_eps(max_eps)
    check_calibration(calibration)
    settled, named = choose_policy(policy), Dataset(dataset)
    contenders = list_contenders(database, k, embedding, mappings)
    attacker, texts, sampled = _open_attacker(attack, data, column, public, public_column)
    frequencies = WordFrequencies(prior, data, column)
    if data is not None:
        list_texts(data, column, 1)  # a wrong name is found before anything is made

    def open_attack(mapping: Mapping) -> tuple[MappingAttack, Prior]:
        under_test = MappingUnderTest(database, mapping=mapping, policy=settled, calibration=calibration)
        every = frequencies.find(under_test)
        known = every.of_drawn(under_test, plus=plus)
        return MappingAttack(under_test, known, attacker, plus), every

    opened: dict[str, Mapping] = {}
    found: list[Candidate] = []
    earlier: dict[str, Earlier | None] = {}
    for number, contender in enumerate(sorted(contenders, key=lambda one: not one.stored)):  # errors in texts come soon
        tell = part_of(progress, number, len(contenders))
        making, attacking = _split_progress(tell, 0.0 if contender.stored else _MAKING)
        opened[contender.name] = contender.open(making)
        attacked, every = open_attack(opened[contender.name])
        largest = find_eps_limit(attacked.under_test.vocabulary.hides_among(plus)) if limit is None else limit
        candidate = find_candidate(attacked, bound, max_eps=largest, stored=contender.stored, progress=attacking)
        earlier[candidate.mapping] = find_earlier(database, data, named, opened[contender.name], plus=plus)
        found.append(replace(candidate, refused=_find_other(earlier[candidate.mapping]) is not None))
    names = [contender.name for contender in contenders]
    candidates = sorted(found, key=lambda one: names.index(one.mapping))
    chosen = pick_candidate([one for one in candidates if not one.refused]) or pick_candidate(candidates)
    verdict = None
    if chosen is not None:
        attacked, every = open_attack(opened[chosen.mapping])
        measured = _measure(attacked, every, chosen.eps or 0.0, data, column)
        alternatives = _list_alternatives(measured, chosen, candidates)
        verdict = judge(collect_figures(measured, earlier[chosen.mapping], alternatives))
    return Choice(
        attack=attack,
        bound=bound,
        prior=every.name,
        prior_words=every.words,
        public=None if attacker is None else attacker.public.name,
        left_out=None if attacker is None else attacker.public.left_out,
        skipped=None if attacker is None else attacker.public.skipped,
        texts=texts,
        attacked=sampled,
        plus=plus,
        policy=name_policy(settled),
        calibration=calibration,
        candidates=tuple(candidates),
        chosen=chosen,
        growth=measure_growth(candidates),
        verdict=verdict,
        released_under=next(filter(None, map(_find_other, earlier.values())), None),
    )


def _find_other(earlier: Earlier | None) -> str | None:
    """Return the mapping of earlier releases, if it is another one."""
    return None if earlier is None or earlier.second is None else earlier.second.before


def _split_progress(progress: ShareDone, share: float) -> tuple[ShareDone, ShareDone]:
    """Return functions that report the progress of the first share of some work, and of the rest."""
    return (lambda done: progress(share * done)), (lambda done: progress(share + (1.0 - share) * done))


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
    """Return texts at equal distances over all of them, with about so many words; all texts if they have fewer."""
    count = max(fewest, round(len(texts) * words / max(1, sum(len(text.split()) for text in texts))))
    if count >= len(texts):
        return texts
    return [texts[place * len(texts) // count] for place in range(count)]


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


def _measure(attack: MappingAttack, every: Prior, eps: float, data: Texts | None, column: str | None) -> Measured:
    """Return what the verdict on a suggestion depends on, which takes a few seconds."""
    under_test, prior, plus = attack.under_test, attack.prior, attack.plus
    [guess] = measure_bayes(under_test, [prior], [eps], plus=plus)
    found = [] if attack.attacker is None else attack.measure([eps])
    draws = None  # at eps = 0, no number is enough
    if eps > 0.0:
        quantiles = measure_sample(under_test, min(_SAMPLE, len(under_test.mapping.words)), [eps])
        draws = next(one.n_ml for one in quantiles if one.share == 0.5)
    return Measured(
        under_test=under_test,
        prior=prior,
        every=every,
        plus=plus,
        guess=guess,
        context=next((one for one in found if isinstance(one, ContextResult)), None),
        draws=draws,
        one_output=measure_one_output(under_test, prior, eps, plus=plus),
        let_through=count_let_through(under_test, data, column, epsilon=eps, plus=plus),
    )


def _list_alternatives(measured: Measured, chosen: Candidate, others: Sequence[Candidate]) -> Iterator[Alternative]:
    """Yield other settings that were measured: another K at the same eps, a smaller eps, no kept stopwords."""
    eps = measured.guess.eps
    for one in others:
        for result in one.curve:
            same_eps = one.k > chosen.k and result.eps == eps
            if same_eps or (one.mapping == chosen.mapping and result.eps < eps):
                in_context = isinstance(result, ContextResult)
                guess, context = (None, result.success) if in_context else (result.success, None)
                yield Alternative(one.mapping, one.k, result.eps, measured.plus, guess, context, one.drawn)
    yield from measured.compare_plus()
