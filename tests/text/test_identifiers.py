"""Identifiers of twenty countries are masked whole."""

import pytest

from tests.text.identifiers import KINDS, find_misses, make_cases


@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_are_masked_whole(kind: str) -> None:
    """The rates are in docs/privacy.md: python -m benchmarks identifiers"""
    assert len(make_cases(kind)) >= 300
    misses = find_misses(kind)
    assert len(misses) <= 0.03 * len(make_cases(kind)), misses[:5]
