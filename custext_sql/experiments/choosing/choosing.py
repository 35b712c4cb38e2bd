"""The public function `choose`."""

import os
from collections.abc import Sequence
from dataclasses import replace

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.priors import Prior
from custext_sql.experiments.choosing.attack_curve import MappingAttack
from custext_sql.experiments.choosing.candidate import Candidate
from custext_sql.experiments.choosing.choice import Choice
from custext_sql.experiments.choosing.contenders import Contender, list_sizes, list_stored
from custext_sql.experiments.choosing.eps_limit import check_max_eps, find_eps_limit
from custext_sql.experiments.choosing.growth import measure_growth
from custext_sql.experiments.choosing.judgment import Judgment
from custext_sql.experiments.choosing.sampled_attacker import SampledAttacker, sample_attacker
from custext_sql.experiments.choosing.selection import check_bound, find_candidate, pick_candidate
from custext_sql.experiments.choosing.word_frequencies import WordFrequencies
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.public_texts import find_public_column
from custext_sql.experiments.report.earlier_releases import Earlier, find_earlier
from custext_sql.experiments.verdict.thresholds import GUESSED
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.weights import check_calibration
from custext_sql.release.inputs.texts import Texts, list_texts
from custext_sql.replacing.policy import DEFAULT_POLICY, Policy, choose_policy, name_policy
from custext_sql.store.database import Database
from custext_sql.store.ledger.dataset import Dataset

BOUNDS = {"bayes": GUESSED.green, "context": GUESSED.amber}  # the default bound of each attack
_MAKING = 0.6  # the share of the time that it takes to make a mapping, rather than to attack it


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
    contenders = _list_contenders(database, k, embedding, mappings)
    attacker = _open_attacker(attack, data, column, public, public_column)
    frequencies = WordFrequencies(prior, data, column)
    if data is not None:
        list_texts(data, column, 1)  # a wrong name is found before anything is made

    def open_attack(mapping: Mapping) -> tuple[MappingAttack, Prior]:
        under_test = MappingUnderTest(database, mapping=mapping, policy=settled, calibration=calibration)
        every = frequencies.find(under_test)
        known = every.of_drawn(under_test, plus=plus)
        return MappingAttack(under_test, known, None if attacker is None else attacker.attacker, plus), every

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
        verdict = Judgment(attacked, every, chosen, candidates, data, column, earlier[chosen.mapping]).judge()
    return Choice(
        attack=attack,
        bound=bound,
        prior=every.name,
        prior_words=every.words,
        public=None if attacker is None else attacker.attacker.public.name,
        left_out=None if attacker is None else attacker.attacker.public.left_out,
        skipped=None if attacker is None else attacker.attacker.public.skipped,
        texts=None if attacker is None else attacker.texts,
        attacked=None if attacker is None else attacker.attacked,
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


def _list_contenders(
    database: Database, k: int | Sequence[int] | None, embedding: str | None, mappings: str | Sequence[str]
) -> list[Contender]:
    if not mappings:
        return list_sizes(database, k, embedding)
    if k is not None or embedding is not None:
        other = "--k (in Python: k)" if k is not None else "--embedding (in Python: embedding)"
        raise SettingError(f"--mapping (in Python: mappings) names stored mappings; leave out {other}")
    return list_stored(database, mappings)


def _open_attacker(
    attack: str, data: Texts | None, column: str | None, public: Texts | None, public_column: str | None
) -> SampledAttacker | None:
    if attack == "context":
        if data is None or public is None:
            raise SettingError(
                "the context attack needs your texts and public texts: custext choose INPUT --public FILE "
                "(in Python: data=... and public=...)"
            )
        return sample_attacker(data, column, public, find_public_column(public, public_column, column))
    if public is not None or public_column is not None:
        raise SettingError(
            '--public (in Python: public) is for the context attack; add --attack context (in Python: attack="context")'
        )
    return None
