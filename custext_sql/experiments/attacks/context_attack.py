"""The context attack: how often replaced words are guessed from all visible words of a text, with public texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from custext_sql.experiments.attacks.context_attacker import ContextAttacker, read_public
from custext_sql.experiments.mechanisms import CUSTEXT, CUSTEXT_PLUS, MappingUnderTest
from custext_sql.experiments.progress import ShareDone, part_of
from custext_sql.experiments.public_texts import find_public_column
from custext_sql.experiments.trials import Trial, list_epsilons
from custext_sql.parameters import check_at_least
from custext_sql.release.inputs.texts import Texts, list_texts, name_texts
from custext_sql.replacing.policy import Policy, name_policy
from custext_sql.store.database import Database


@dataclass(frozen=True)
class ContextResult:
    """The success of the context attack at one eps.

    mapping, k: the name of the mapping and its group size K.
    eps: the budget per word. calibration: how eps sets the temperature, "paper" or "tight".
    plus: whether stopwords are kept.
    success, standard_error: the share of replaced words that are guessed correctly, 0 to 1, and its standard error.
    single: the share guessed from one output and the frequencies of words in the public texts, without context.
    texts_guessed: the share of texts in which every replaced word is guessed, among texts with replaced words.
    success_at_0: the success at eps = 0, where outputs show the groups of replaced words and nothing else. It is
        not always the least: a drawn word may pass for a kept one of its group, but a representative cannot.
    """

    mapping: str
    k: int
    eps: float
    calibration: str
    plus: bool
    success: float
    standard_error: float
    single: float
    texts_guessed: float
    success_at_0: float


@dataclass(frozen=True)
class ContextAttack:
    """The success of the context attack on some texts.

    mapping, k: the name of the mapping and its group size K. calibration: "paper" or "tight". plus: whether stopwords
        are kept. policy: "paper" or "strict"; for any other Policy, how it differs from "strict".
    data, texts, words: the name of the attacked texts, their number, and the number of replaced words in them.
    public, public_texts: the name of the public texts, and the number of those that were learned from.
    left_out: the number of public texts that were left out because they also occur in the attacked texts.
    skipped: the number of public texts that were skipped because they are empty.
    results: one per eps.
    """

    mapping: str
    k: int
    calibration: str
    plus: bool
    policy: str
    data: str
    texts: int
    words: int
    public: str
    public_texts: int
    left_out: int
    skipped: int
    results: tuple[ContextResult, ...]


def attack_context(
    database: Database = None,
    *,
    public: Texts,
    data: Texts,
    column: str | None = None,
    public_column: str | None = None,
    rows: int | None = None,
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    plus: bool = False,
    policy: str | Policy = "paper",
    calibration: str = "paper",
    mapping: str | None = None,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> ContextAttack:
    """Sanitize texts, guess the replaced words from everything that is visible, and count how often this succeeds.

    The attacker knows the mapping, eps, the stopwords and public texts, and sees the sanitized texts only. A bigram
    model of the public texts says which words follow each other, and the tables say which words become which. The guess
    is the word with the largest exact posterior probability, given the whole text.

    database: a path; by default the file that CUSTEXT_DB names, else the user's default database.
    public: the texts from which the attacker learns: the path of a file, a DataTable, or a sequence of texts. Those
        that are also in `data`, apart from case and spaces, are left out.
    data: the texts to sanitize and attack, like public.
    column: the column of `data`; None for lines of text and for a sequence.
    public_column: the column of `public`; by default that in `column`.
    rows: the number of texts to attack, from the top, at least 1; None: all.
    eps: one budget per word or several: 0, or 0.001 to 100.
    plus: whether to keep stopwords.
    policy: what to do with unknown words and numbers: "paper", "strict" or a Policy.
    calibration: "paper" or "tight".
    mapping: its name; by default the database's default mapping.
    seed: the seed of the draws, at least 0.
    progress: called with the share of the work done, 0 to 1.

    Returns a ContextAttack.

    SettingError if a setting is invalid, no public text is left, or no word would be replaced; SourceError if a file
    cannot be read; MappingError if the mapping does not exist.
    """
    epsilons = list_epsilons(eps)
    if rows is not None:
        check_at_least(rows, 1, "rows")
    check_at_least(seed, 0, "seed")
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    public_column = find_public_column(public, public_column, column)
    return attack_texts(
        under_test, epsilons, data, column, public, public_column, rows=rows, plus=plus, seed=seed, progress=progress
    )


def attack_texts(
    under_test: MappingUnderTest,
    epsilons: Sequence[float],
    data: Texts,
    column: str | None,
    public: Texts,
    public_column: str | None,
    *,
    rows: int | None = None,
    plus: bool,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> ContextAttack:
    """Return what `attack_context` returns, for a mapping under test and settings that are checked."""
    texts = [text or "" for text in list_texts(data, column, rows)]
    attacker = ContextAttacker(texts, read_public(public, public_column, texts), name_texts(data))
    results = measure_context(attacker, under_test, epsilons, plus=plus, seed=seed, progress=progress)
    info = under_test.mapping.info
    return ContextAttack(
        mapping=info.name,
        k=info.k,
        calibration=under_test.calibration,
        plus=plus,
        policy=name_policy(under_test.policy),
        data=name_texts(data),
        texts=len(texts),
        words=attacker.attack(Trial(under_test, CUSTEXT_PLUS if plus else CUSTEXT, 0.0, seed)).replaced,
        public=attacker.public.name,
        public_texts=len(attacker.public.column),
        left_out=attacker.public.left_out,
        skipped=attacker.public.skipped,
        results=tuple(results),
    )


def measure_context(
    attacker: ContextAttacker,
    under_test: MappingUnderTest,
    epsilons: Sequence[float],
    *,
    plus: bool,
    seed: int = 0,
    progress: ShareDone | None = None,
) -> list[ContextResult]:
    """Return the success of an attacker at each eps."""
    info, mechanism = under_test.mapping.info, CUSTEXT_PLUS if plus else CUSTEXT
    at_0, *found = [
        attacker.attack(Trial(under_test, mechanism, epsilon, seed), part_of(progress, number, 1 + len(epsilons)))
        for number, epsilon in enumerate((0.0, *epsilons))
    ]
    return [
        ContextResult(
            mapping=info.name,
            k=info.k,
            eps=epsilon,
            calibration=under_test.calibration,
            plus=plus,
            success=counts.success,
            standard_error=counts.standard_error,
            single=counts.single,
            texts_guessed=counts.texts_guessed,
            success_at_0=at_0.success,
        )
        for epsilon, counts in zip(epsilons, found, strict=True)
    ]
