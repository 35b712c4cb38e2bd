"""Results of earlier evaluations, restored from saved measurements: tables of utility, curves of trade-offs."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.evaluation.tradeoff import Figure, TradeOff, summarize
from custext_sql.experiments.measurements import Measurement
from custext_sql.experiments.mechanisms import MECHANISMS
from custext_sql.mapping.mapping import MappingInfo
from custext_sql.parameters import suggest

_USUAL = {"unknown": "keep", "numbers": "shape", "case": "lower", "invisible": "keep", "converted": True}


@dataclass(frozen=True)
class UtilityRow:
    """One mechanism at several eps.

    remark: what is unusual about its settings. figures: the utility by eps; None stands for any eps.
    """

    mechanism: str
    embedding: str | None
    mapping: str | None
    k: int | None
    remark: str
    figures: dict[float | None, Figure]


@dataclass(frozen=True)
class UtilityTable:
    """The paper's Table 1 for some data and a model. seeds: the number of repetitions."""

    dataset: str
    model: str
    metric: str
    seeds: int
    rows: tuple[UtilityRow, ...]

    @property
    def epsilons(self) -> list[float]:
        """All eps of the rows, in ascending order."""
        return sorted({eps for row in self.rows for eps in row.figures if eps is not None})


@dataclass(frozen=True)
class TradeOffCurves:
    """The paper's Figures 3 and 4 for some data, a model and an attack."""

    dataset: str
    model: str
    metric: str
    attack: str
    points: tuple[TradeOff, ...]


def select_results(
    measurements: Sequence[Measurement], mapping: MappingInfo, evaluated_on: str | None = None
) -> list[Measurement]:
    """Return what was measured with a mapping, and with baselines on the same vectors and data.

    evaluated_on: only evaluations on this data, by the name that they show, or by the name of one of its files or of
    their folder. SettingError if nothing was evaluated on it.
    """
    evaluated = {str(one.subject.dataset) for one in measurements if one.subject.kind == "utility"}
    wanted = {name for name in evaluated if evaluated_on is None or evaluated_on in _list_names(name)}
    if evaluated_on is not None and not wanted:
        known = "run custext evaluate first"
        if evaluated:
            known = suggest(evaluated_on, evaluated, "evaluated so far", quoted=True)
        raise SettingError(
            f"nothing was evaluated on {evaluated_on!r}, named by --evaluated-on (in Python: evaluated_on=...); {known}"
        )
    found = [
        one
        for one in measurements
        if (one.subject.kind != "utility" or one.subject.dataset in wanted)
        and (
            _uses(one, mapping) or (one.subject.mapping is None and one.subject.embedding in (None, mapping.embedding))
        )
    ]
    alone = {
        one.measurement_id
        for group in _group_utility(found).values()
        if not any(_uses(one, mapping) for one in group)
        for one in group
    }
    return [one for one in found if one.measurement_id not in alone]


def _uses(measurement: Measurement, mapping: MappingInfo) -> bool:
    return measurement.subject.mapping is not None and measurement.subject.fingerprint == mapping.fingerprint


def _list_names(dataset: str) -> set[str]:
    """Return the names of data: as shown, those of its parts, and of their files and folders."""
    parts = [Path(part) for part in dataset.split("; ")]
    return {dataset, *map(str, parts), *(part.name for part in parts), *(part.parent.name for part in parts)} - {""}


def find_utility(measurements: Iterable[Measurement]) -> Iterator[UtilityTable]:
    """Yield all tables, oldest first."""
    for (_, model, metric, _), found in _group_utility(measurements).items():
        rows: dict[tuple[str, str | None, str | None, int | None, str], dict[float | None, list[Measurement]]] = {}
        for one in found:
            about = one.subject
            row = rows.setdefault((str(about.mechanism), about.embedding, about.mapping, about.k, _remark(one)), {})
            row.setdefault(about.eps, []).append(one)
        ordered = sorted(rows.items(), key=lambda item: (_order(item[0][0]), item[0][3] or 0, *map(str, item[0])))
        yield UtilityTable(
            dataset=str(found[0].subject.dataset),
            model=model,
            metric=metric,
            seeds=len({one.subject.seed for one in found}),
            rows=tuple(
                UtilityRow(*key, figures={eps: summarize(some) for eps, some in row.items()}) for key, row in ordered
            ),
        )


def find_tradeoffs(measurements: Sequence[Measurement]) -> Iterator[TradeOffCurves]:
    """Yield all curves: a point wherever both the utility and an attack were measured on the same texts."""
    attacks = _group_attacks(measurements)
    for (_, model, metric, tested), found in _group_utility(measurements).items():
        by_place: dict[tuple[Any, ...], list[Measurement]] = {}
        for one in found:
            by_place.setdefault(_place(one), []).append(one)
        for (attack, attacked), successes in attacks.items():
            points = [
                TradeOff(
                    mechanism=str(some[0].subject.mechanism),
                    embedding=some[0].subject.embedding,
                    mapping=some[0].subject.mapping,
                    k=some[0].subject.k,
                    eps=some[0].subject.eps,
                    metric=metric,
                    utility=summarize(some),
                    attack=attack,
                    success=summarize(successes[place]),
                )
                for place, some in by_place.items()
                if attacked == tested and place in successes
            ]
            if points:
                points.sort(key=lambda point: (_order(point.mechanism), point.k or 0, point.eps or 0.0))
                yield TradeOffCurves(str(found[0].subject.dataset), model, metric, attack, tuple(points))


def _group_utility(measurements: Iterable[Measurement]) -> dict[tuple[str, str, str, str], list[Measurement]]:
    """Group measurements by data, model, metric and test texts."""
    groups: dict[tuple[str, str, str, str], list[Measurement]] = {}
    for one in measurements:
        if one.subject.kind == "utility":
            settings = _settings(one)
            model = " ".join(
                [str(settings["model"]), *(f"{name}={settings[name]}" for name in _OPTIONS if name in settings)]
            )
            key = (str(one.subject.digest), model, one.subject.metric, str(settings["tested"]))
            groups.setdefault(key, []).append(one)
    return groups


_OPTIONS = ("length", "epochs", "batch_size", "learning_rate")


def _group_attacks(
    measurements: Iterable[Measurement],
) -> dict[tuple[str, str], dict[tuple[Any, ...], list[Measurement]]]:
    """Group measurements by attack and attacked texts."""
    learned: dict[str, set[str]] = {}  # the digests of what guessers of each name learned from
    for one in measurements:
        if one.subject.kind in ("context", "mask"):
            learned.setdefault(_name_guesser(one), set()).add(str(_settings(one)["learned"]))
    groups: dict[tuple[str, str], dict[tuple[Any, ...], list[Measurement]]] = {}
    for one in measurements:
        about = one.subject
        if (about.kind, about.metric) == ("bayes", "success_of_all"):
            attack = "bayes"
        elif (about.kind, about.metric) in (("context", "success_of_all"), ("mask", "r_mask")):
            name = _name_guesser(one)
            which = str(_settings(one)["learned"])[:6] if len(learned[name]) > 1 else ""
            attack = ", ".join(filter(None, (name, which)))
            attack = f"mask ({attack})" if about.kind == "mask" else attack
        else:
            continue
        groups.setdefault((attack, str(about.digest)), {}).setdefault(_place(one), []).append(one)
    return groups


def _name_guesser(measurement: Measurement) -> str:
    """Return the name of what guesses in an attack that learns."""
    return str(_settings(measurement)["attacker"]) if measurement.subject.kind == "mask" else "context"


def _place(measurement: Measurement) -> tuple[Any, ...]:
    """Return what the trials of all seeds have in common."""
    about, settings = measurement.subject, _settings(measurement)
    handling = tuple(settings.get(name) for name in (*_USUAL, "stopwords"))
    return about.mechanism, about.fingerprint, about.eps, about.calibration, handling


def _remark(measurement: Measurement) -> str:
    """Return what is unusual about the settings with which the texts were sanitized."""
    settings, calibration = _settings(measurement), measurement.subject.calibration
    remarks = [
        "eps not converted" if name == "converted" else f"{name} {settings[name]}"
        for name, usual in _USUAL.items()
        if settings.get(name, usual) != usual and (name != "converted" or measurement.subject.k is None)
    ]
    return ", ".join([*([f"calibration {calibration}"] if calibration not in (None, "paper") else []), *remarks])


def _settings(measurement: Measurement) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(measurement.subject.settings)
    return found


def _order(mechanism: str) -> int:
    """Return a sort key: original first, then mechanisms in the order of MECHANISMS."""
    order = ("original", *MECHANISMS)
    return order.index(mechanism) if mechanism in order else len(order)
