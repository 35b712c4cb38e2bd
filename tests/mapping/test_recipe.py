"""Recipes are checked, and name the mappings that they make."""

from itertools import product
from typing import Any

import pytest

from custext_sql.errors import SettingError
from custext_sql.mapping.recipe import Recipe


def test_the_usual_name_says_how_words_were_grouped() -> None:
    assert Recipe("glove", k=40).name_mapping(None) == "glove-euclidean-k40"
    assert Recipe("glove", k=40, grouping="refined").name_mapping(None) == "glove-euclidean-k40-refined"
    assert Recipe("glove", grouping="refined").name_mapping("mine") == "mine"
    every = Recipe("glove", 5, "refined", "cosine", True, "word", "random", 7, "german", 900)
    assert every.name_mapping(None) == "glove-cosine-k5-refined-by-word-seed7-apart-german-first900"
    assert Recipe("glove", stopword_language="english").name_mapping(None) == "glove-euclidean-k20-apart"


def test_recipes_that_differ_have_different_names() -> None:
    choices: list[list[dict[str, Any]]] = [
        [{"k": 20}, {"k": 40}],
        [{}, {"grouping": "refined"}],
        [{}, {"measure": "cosine", "larger_is_closer": True}],
        [{}, {"normalization": "word"}],
        [{}, {"pivot_order": "random", "seed": 1}, {"pivot_order": "random", "seed": 2}],
        [{}, {"stopword_language": "english"}, {"stopword_language": "german"}],
        [{}, {"word_limit": 100}, {"word_limit": 200}],
    ]
    names = [
        Recipe("glove", **{name: value for setting in settings for name, value in setting.items()}).name_mapping(None)
        for settings in product(*choices)
    ]
    assert len(set(names)) == len(names) == 432


def test_a_name_beside_another_mapping_says_what_differs() -> None:
    plain = Recipe("starter")
    assert plain.name_beside(Recipe("starter", word_limit=900)) == "starter-euclidean-k20-all"
    other = Recipe("starter", grouping="refined", stopword_language="english")
    assert plain.name_beside(other) == "starter-euclidean-k20-greedy-together"
    assert Recipe("starter", grouping="refined").name_beside(other) == "starter-euclidean-k20-refined-together"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grouping": "best"}, r"--grouping \(in Python: grouping\) must be one of greedy, refined; found 'best'"),
        ({"normalization": "rows"}, "normalization must be one of group, word; found 'rows'"),
        ({"word_limit": 1}, r"--limit \(in Python: limit\) must be a whole number from 2 to 2\*\*31 - 1; found 1"),
        ({"word_limit": 2.5}, "must be a whole number; found 2.5"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Recipe("glove", **settings)  # type: ignore[arg-type]
