"""The table of kinds: what everything that counts, shows or treats words by their kind reads."""

import itertools

import pytest

from custext_sql import Kind, Policy
from custext_sql.kinds import COUNTS, KINDS, Fate, list_treatments, spread_counts
from custext_sql.playground.workbench import list_kinds

MARKS = {"green", "gray", "yellow", "orange", "red", "purple"}  # that pages have in their style


def test_every_kind_has_an_entry_with_all_that_pages_need() -> None:
    assert sorted(KINDS) == list(Kind) == list(range(len(Kind)))
    assert len({entry.weight for entry in KINDS.values()}) == len(Kind)
    assert {entry.mark for entry in KINDS.values()} <= MARKS
    assert {one["number"]: one["name"] for one in list_kinds()} == {int(kind): kind.name.lower() for kind in Kind}


@pytest.mark.parametrize(
    ("unknown", "numbers"), list(itertools.product(["keep", "mask", "random"], ["keep", "mask", "shape"]))
)
def test_a_policy_treats_each_kind_in_one_way(unknown: str, numbers: str) -> None:
    treatments = Policy(unknown=unknown, numbers=numbers).treatments
    assert set(treatments) == set(Kind)
    assert {treatments[kind].choice for kind in (Kind.UNKNOWN, Kind.NUMBER)} == {unknown, numbers}
    assert (treatments[Kind.UNKNOWN].fate is Fate.EXPOSED) == (unknown == "keep")
    assert (treatments[Kind.NUMBER].fate is Fate.EXPOSED) == (numbers == "keep")
    assert len({one.name for one in treatments.values()}) == len(Kind)  # no two kinds are counted together
    assert [one.name for _, one in list_treatments(numbers)] == list(COUNTS)


def test_strict_exposes_nothing() -> None:
    assert Fate.EXPOSED not in {one.fate for one in Policy().treatments.values()}


def test_counts_become_fields() -> None:
    assert spread_counts({"a": 1, "counts": None, "b": 2}) == {"a": 1, **dict.fromkeys(COUNTS), "b": 2}
