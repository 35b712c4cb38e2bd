"""Recipes are checked, and name the mappings that they make."""

import pytest

from custext_sql.errors import SettingError
from custext_sql.mapping.recipe import Recipe


def test_the_usual_name_says_how_words_were_grouped() -> None:
    assert Recipe("glove", k=40).name_mapping(None) == "glove-euclidean-k40"
    assert Recipe("glove", k=40, grouping="refined").name_mapping(None) == "glove-euclidean-k40-refined"
    assert Recipe("glove", grouping="refined").name_mapping("mine") == "mine"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grouping": "best"}, r"--grouping \(in Python: grouping\) must be one of greedy, refined; found 'best'"),
        ({"grouping": None}, "must be one of greedy, refined; found None"),
        ({"word_limit": 1}, r"--limit \(in Python: limit\) must be a whole number from 2 to 2\*\*31 - 1; found 1"),
        ({"word_limit": 2.5}, "must be a whole number; found 2.5"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Recipe("glove", **settings)  # type: ignore[arg-type]
