"""The cache of guarantees."""

from typing import Any

import pytest

from custext_sql.mechanism.sampler import Sampler
from custext_sql.sanitizer.vocabulary import Guarantees, Vocabulary
from tests.small_mapping import small_mapping


class Forgetful(dict[Any, Any]):
    """A dict that another thread clears after every write."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.clear()


def test_a_guarantee_is_found_although_another_thread_clears_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = small_mapping(["a", "b", "c"], k=3)
    guarantees = Guarantees(mapping, Vocabulary(mapping, frozenset()), Sampler(mapping, "paper"))
    monkeypatch.setattr(guarantees, "_found", Forgetful())
    assert guarantees.find([2.0], [False]).budgets == (2.0,)
