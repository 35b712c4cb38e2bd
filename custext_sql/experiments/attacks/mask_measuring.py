"""The mask token inference attack on mechanisms, measured and kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.masking import Attacker, MaskResult, attack_masks
from custext_sql.experiments.attacks.ngrams import learn_ngrams
from custext_sql.experiments.measurements import Measurement, ShareDone, Subject, digest_texts, obtain, write_settings
from custext_sql.experiments.pretrained import digest_model
from custext_sql.experiments.trials import Cell
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.store.database import Database

NGRAM = "ngram"


@dataclass(frozen=True)
class MaskAttack:
    """Who guesses. open: the guesser for a vocabulary, and for stopwords kept or not, by which words are cut.
    learned: a digest of what the built-in guesser learned from, or of a model's files.
    """

    name: str
    open: Callable[[Vocabulary, bool], Attacker]
    learned: str | None = None


def open_attack(model: str, *, public: Sequence[str | None] | None, batch_size: int = 32) -> MaskAttack:
    """The built-in guesser, which learns from public texts, or a masked language model of Hugging Face."""
    if model == NGRAM:
        if public is None:
            raise SettingError("the n-gram attacker learns from public texts: --public FILE")
        texts = public

        @lru_cache(maxsize=4)
        def learn(vocabulary: Vocabulary, plus: bool) -> Attacker:
            return learn_ngrams(texts, vocabulary, plus=plus)

        return MaskAttack(NGRAM, learn, digest_texts(text or "" for text in public))
    from custext_sql.experiments.attacks.language_model import open_language_model  # PyTorch: an extra

    guesser = open_language_model(model, batch_size=batch_size)
    return MaskAttack(model, lambda vocabulary, plus: guesser, digest_model(model))


def measure_masks(
    database: Database,
    cells: Sequence[Cell],
    texts: Sequence[str],
    attack: MaskAttack,
    *,
    dataset: str,
    progress: ShareDone | None = None,
) -> list[tuple[Measurement, Measurement]]:
    """For each cell r_mask, the share of words that are guessed right, of all words and of those that were drawn."""
    digest = digest_texts(texts)
    subjects: dict[Subject, Cell] = {}
    for cell in cells:
        settings = write_settings(attacker=attack.name, learned=attack.learned, **cell.handling)
        for metric in ("r_mask", "r_mask_sampled"):
            subjects[replace(cell.describe("mask", metric), dataset=dataset, digest=digest, settings=settings)] = cell
    latest: dict[Cell, MaskResult] = {}

    def measure(subject: Subject, tell: ShareDone) -> tuple[float | None, float | None]:
        cell = subjects[subject]
        if cell not in latest:
            latest.clear()
            epsilon = 1.0 if cell.epsilon is None else cell.epsilon
            contender = cell.arena.open(cell.mechanism)
            guesser = attack.open(cell.arena.vocabulary, contender.plus)
            latest[cell] = attack_masks(contender.compare(texts, epsilon, cell.seed), guesser, progress=tell)
        result = latest[cell]
        if subject.metric == "r_mask":
            return result.r_mask, result.standard_error
        return result.r_mask_sampled, None

    measured = iter(obtain(database, list(subjects), measure, progress=progress, one_by_one=True))
    return list(zip(measured, measured, strict=True))
