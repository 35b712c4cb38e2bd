"""Privacy against utility, over eps and mappings: the paper's Figures 3 and 4."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, stdev

import numpy as np

from custext_sql.arrays import Floats
from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.mask_measuring import MaskAttack, measure_masks
from custext_sql.experiments.attacks.measuring import attack_all_words
from custext_sql.experiments.evaluation.utility import Experiment, measure_utility
from custext_sql.experiments.measurements import Measurement, ShareDone, part_of, write_settings
from custext_sql.experiments.mechanisms import CUSTEXT_PLUS, ORIGINAL
from custext_sql.experiments.trials import Cell
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.words import find_words
from custext_sql.store.database import Database
from custext_sql.text.columns import TextColumn, open_column
from custext_sql.text.encoded_text import EncodedText

_Place = tuple[str, str | None, str | None, int | None, float | None]  # mechanism, embedding, mapping, K, eps


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, its spread (the standard deviation; None of one seed), and the rows it comes from."""

    mean: float
    spread: float | None
    measurement_ids: tuple[str, ...]


@dataclass(frozen=True)
class TradeOff:
    """One point: how useful the texts of a mechanism are, and how often an attack on them succeeds."""

    mechanism: str
    embedding: str | None
    mapping: str | None
    k: int | None
    eps: float | None
    metric: str
    utility: Figure
    attack: str
    success: Figure


def summarize(measurements: Iterable[Measurement]) -> Figure:
    """The mean and spread of some values."""
    found = list(measurements)
    values = [one.value for one in found if one.value is not None]
    if not values:
        raise SettingError("there is nothing to summarize")
    spread = stdev(values) if len(values) > 1 else None
    return Figure(fmean(values), spread, tuple(one.measurement_id for one in found))


def measure_tradeoff(
    database: Database,
    experiment: Experiment,
    cells: Sequence[Cell],
    attack: MaskAttack | None,
    *,
    progress: ShareDone | None = None,
) -> list[TradeOff]:
    """Utility as `measure_utility` finds it, and the success of an attack on the test texts.

    attack: mask token inference; None: the best one-shot guess from the tables, exactly, by an attacker who knows how
    frequent words are in these texts. That one is for CusText's own mechanisms; words in clear count as guessed.
    """
    if any(cell.mechanism == ORIGINAL for cell in cells):
        raise SettingError("original is no mechanism to attack: its words are there to be read; leave it out")
    if attack is None and not all(cell.uses_groups for cell in cells):
        raise SettingError("the bayes attack goes by groups, which only custext and custext+ have; use: --attack mask")
    first, second = (part_of(progress, number, 2) for number in range(2))
    utilities = measure_utility(database, experiment, cells, progress=first)
    find = _guess_once if attack is None else partial(_guess_masks, attack)
    successes = find(database, experiment, cells, second)
    by_point: dict[_Place, list[Measurement]] = {}
    for cell, utility in zip(cells, utilities, strict=True):
        by_point.setdefault(_place(cell), []).append(utility)
    return [
        TradeOff(
            *place,
            metric=found[0].subject.metric,
            utility=summarize(found),
            attack="bayes" if attack is None else f"mask ({attack.name})",
            success=successes[place],
        )
        for place, found in by_point.items()
    ]


def _place(cell: Cell) -> _Place:
    """Where the cells of all seeds come together."""
    subject = cell.describe("", "")
    return cell.mechanism, subject.embedding, subject.mapping, subject.k, cell.epsilon


def _guess_masks(
    attack: MaskAttack, database: Database, experiment: Experiment, cells: Sequence[Cell], progress: ShareDone
) -> dict[_Place, Figure]:
    texts = [text for row in experiment.test.texts for text in row]
    measured = measure_masks(database, cells, texts, attack, dataset=experiment.test.name, progress=progress)
    by_place: dict[_Place, list[Measurement]] = {}
    for cell, (found, _) in zip(cells, measured, strict=True):
        by_place.setdefault(_place(cell), []).append(found)
    return {place: summarize(found) for place, found in by_place.items()}


def _guess_once(
    database: Database, experiment: Experiment, cells: Sequence[Cell], progress: ShareDone
) -> dict[_Place, Figure]:
    column = open_column([text for row in experiment.test.texts for text in row])[0]
    figures: dict[_Place, Figure] = {}
    for number, cell in enumerate(cells):
        if _place(cell) not in figures and cell.epsilon is not None:
            about = replace(
                cell.describe("bayes", "success_of_all"),
                dataset=experiment.test.name,
                digest=experiment.tested,
                settings=write_settings(**cell.handling),
            )
            drawn, in_clear = _share_out(column, cell)
            mapping, calibration = cell.arena.mapping, cell.arena.calibration
            found = attack_all_words(
                database, mapping, drawn, in_clear, cell.epsilon, about=about, calibration=calibration
            )
            figures[_place(cell)] = summarize([found])
        progress((number + 1) / len(cells))
    return figures


def _share_out(column: TextColumn, cell: Cell) -> tuple[Floats, float]:
    """Of all words of some texts, the share of each that is drawn, and the share of those that stand in clear."""
    vocabulary, policy = cell.arena.vocabulary, cell.arena.policy
    plus = cell.mechanism == CUSTEXT_PLUS
    found = find_words(EncodedText(column.text), column.offsets, vocabulary, plus=plus)
    counts = np.bincount(found.kinds, minlength=len(Kind))
    drawn = np.bincount(found.numbers[found.at(Kind.SAMPLED)], minlength=vocabulary.size)
    in_clear = int(counts[Kind.STOPWORD] + counts[Kind.ENDING])
    in_clear += int(counts[Kind.UNKNOWN]) if policy.unknown == "keep" else 0
    in_clear += int(counts[Kind.NUMBER]) if policy.numbers == "keep" else 0
    return drawn / max(len(found.kinds), 1), in_clear / max(len(found.kinds), 1)
