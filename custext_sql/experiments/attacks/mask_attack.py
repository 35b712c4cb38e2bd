"""The mask attack (mask token inference): how often words are guessed from the sanitized words around them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.mask_guesses import GuessCounts, Guesser, count_guesses
from custext_sql.experiments.attacks.ngram_guesser import learn_ngrams
from custext_sql.experiments.measurements import (
    Measurement,
    ShareDone,
    Subject,
    digest_texts,
    measure_or_reuse,
    write_settings,
)
from custext_sql.experiments.mechanisms import CUSTEXT, CUSTEXT_PLUS, MappingUnderTest
from custext_sql.experiments.pretrained_models import digest_model
from custext_sql.experiments.public_texts import find_public_column, list_public
from custext_sql.experiments.trials import Trial, list_epsilons
from custext_sql.parameters import check_at_least
from custext_sql.release.inputs.texts import Texts, list_texts, name_texts
from custext_sql.replacing.policy import Policy, name_policy
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.store.database import Database

NGRAM = "ngram"


@dataclass(frozen=True)
class MaskResult:
    """The success of the mask attack at one eps.

    eps: the budget per word.
    r_mask, standard_error: the share of all words that are guessed correctly, 0 to 1, and its standard error.
    privacy: the share of words that are not guessed, 1 - r_mask.
    r_mask_sampled: the share guessed correctly among words replaced by a draw; None if there is no such word.
    mechanism: "custext", or "custext+" if stopwords are kept. mapping: its name.
    model: the name or folder of the model that guesses, or "ngram". rows: the number of texts attacked.
    measurement_ids: the rows of the table `measurements` that hold r_mask and r_mask_sampled, in this order.
    """

    eps: float
    r_mask: float
    standard_error: float
    privacy: float
    r_mask_sampled: float | None
    mechanism: str
    mapping: str
    model: str
    rows: int
    measurement_ids: tuple[str, str]


@dataclass(frozen=True)
class MaskAttack:
    """The success of the mask attack on some texts.

    mapping: its name. mechanism: "custext", or "custext+" if stopwords are kept.
    policy: "paper" or "strict"; for any other Policy, how it differs from "strict".
    model: the name or folder of the model that guesses, or "ngram". rows: the number of texts attacked.
    skipped: by the name of the texts, how many were skipped because they are empty. results: one per eps.
    """

    mapping: str
    mechanism: str
    policy: str
    model: str
    rows: int
    skipped: dict[str, int]
    results: tuple[MaskResult, ...]


@dataclass(frozen=True)
class ChosenGuesser:
    """A guesser that a caller chose.

    open: takes a vocabulary and whether stopwords are kept, which decide how texts are split into words, and returns
        the guesser for them.
    learned: a digest of the texts from which the n-gram guesser learned, or of a model's files.
    """

    name: str
    open: Callable[[Vocabulary, bool], Guesser]
    learned: str | None = None


def attack_mask(
    database: Database = None,
    *,
    model: str | os.PathLike[str],
    data: Texts,
    column: str | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    rows: int | None = 200,
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    plus: bool = False,
    policy: str | Policy = "paper",
    calibration: str = "paper",
    mapping: str | None = None,
    seed: int = 0,
    batch_size: int = 32,
    progress: ShareDone | None = None,
) -> MaskAttack:
    """Sanitize texts, mask each word in turn, and count how often a model guesses the original word.

    This is the paper's mask token inference attack.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    model: a masked language model of Hugging Face, by its name or folder (needs the extra `models`), or "ngram",
        which learns from `public`.
    data: the texts to attack: the path of a file, a DataTable, or a sequence of texts.
    column: the column of that file; None for lines of text and for a sequence.
    public: the texts from which "ngram" learns, like data. public_column: its column; by default that in `column`.
    rows: the number of texts to attack, from the top, at least 1; None: all.
    eps: one budget per word or several: 0, or 0.001 to 100.
    plus: whether to keep stopwords.
    policy: what to do with unknown words and numbers: "paper", "strict" or a Policy.
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    seed: the seed of the draws, at least 0.
    batch_size: masked texts per model call, at least 1.
    progress: called with the share of the work done, 0 to 1.

    Returns a MaskAttack. Results are saved in the table `measurements` and reused.

    SettingError if a setting is invalid, the model cannot be loaded or there is no word to attack; SourceError if a
    file cannot be read; MappingError if the mapping does not exist.
    """
    epsilons = list_epsilons(eps)
    if rows is not None:
        check_at_least(rows, 1, "rows")
    check_at_least(seed, 0, "seed")
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    given = list_texts(data, column, rows)
    texts = [text for text in given if text and text.strip()]
    skipped = {name_texts(data): len(given) - len(texts)}
    learned = None
    if public is not None:
        learned, skipped[name_texts(public)] = list_public(public, find_public_column(public, public_column, column))
    guesser = choose_guesser(os.fspath(model), public=learned, batch_size=batch_size)
    mechanism = CUSTEXT_PLUS if plus else CUSTEXT
    trials = [Trial(under_test, mechanism, epsilon, seed) for epsilon in epsilons]
    measured = measure_masks(database, trials, texts, guesser, dataset=name_texts(data), progress=progress)
    name = under_test.mapping.info.name
    results = tuple(_as_mask_result(*pair, guesser.name, len(texts)) for pair in measured)
    return MaskAttack(name, mechanism, name_policy(under_test.policy), guesser.name, len(texts), skipped, results)


def choose_guesser(model: str, *, public: Sequence[str] | None, batch_size: int = 32) -> ChosenGuesser:
    """Return the n-gram guesser, which learns from public texts, or a masked language model of Hugging Face."""
    if model == NGRAM:
        if public is None:
            raise SettingError("the model ngram learns from public texts; use --public FILE (in Python: public=...)")
        texts = public

        @lru_cache(maxsize=4)
        def learn(vocabulary: Vocabulary, plus: bool) -> Guesser:
            return learn_ngrams(texts, vocabulary, plus=plus)

        return ChosenGuesser(NGRAM, learn, digest_texts(public))
    from custext_sql.experiments.attacks.language_model_guesser import open_language_model  # needs PyTorch, an extra

    guesser = open_language_model(model, batch_size=batch_size)
    return ChosenGuesser(model, lambda vocabulary, plus: guesser, digest_model(model))


def measure_masks(
    database: Database,
    trials: Sequence[Trial],
    texts: Sequence[str],
    guesser: ChosenGuesser,
    *,
    dataset: str,
    progress: ShareDone | None = None,
) -> list[tuple[Measurement, Measurement]]:
    """Return r_mask of each trial, twice: among all words, and among those replaced by a draw."""
    digest = digest_texts(texts)
    subjects: dict[Subject, Trial] = {}
    for trial in trials:
        settings = write_settings(attacker=guesser.name, learned=guesser.learned, **trial.handling)
        for metric in ("r_mask", "r_mask_sampled"):
            subjects[replace(trial.describe("mask", metric), dataset=dataset, digest=digest, settings=settings)] = trial
    latest: dict[Trial, GuessCounts] = {}

    def measure(subject: Subject, tell: ShareDone) -> tuple[float | None, float | None]:
        trial = subjects[subject]
        if trial not in latest:
            latest.clear()
            epsilon = 1.0 if trial.epsilon is None else trial.epsilon
            mechanism = trial.under_test.open(trial.mechanism)
            opened = guesser.open(trial.under_test.vocabulary, mechanism.plus)
            latest[trial] = count_guesses(mechanism.compare(texts, epsilon, trial.seed), opened, progress=tell)
        counts = latest[trial]
        if subject.metric == "r_mask":
            return counts.r_mask, counts.standard_error
        return counts.r_mask_sampled, None

    measured = iter(measure_or_reuse(database, list(subjects), measure, progress=progress, one_by_one=True))
    return list(zip(measured, measured, strict=True))


def _as_mask_result(of_all: Measurement, of_drawn: Measurement, model: str, rows: int) -> MaskResult:
    subject = of_all.subject
    assert subject.eps is not None and of_all.value is not None and of_all.standard_error is not None
    return MaskResult(
        eps=subject.eps,
        r_mask=of_all.value,
        standard_error=of_all.standard_error,
        privacy=1.0 - of_all.value,
        r_mask_sampled=of_drawn.value,
        mechanism=str(subject.mechanism),
        mapping=str(subject.mapping),
        model=model,
        rows=rows,
        measurement_ids=(of_all.measurement_id, of_drawn.measurement_id),
    )
