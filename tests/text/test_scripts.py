"""Scripts of words."""

import pytest

from custext_sql.text.characters import find_scripts, find_usual_scripts


@pytest.mark.parametrize(
    ("word", "scripts"),
    [
        ("word", {"LATIN"}),
        ("ärzte", {"LATIN"}),
        ("мария", {"CYRILLIC"}),
        ("東京", {"CJK"}),
        ("ひらがな", {"HIRAGANA"}),
        ("ｗｉｄｅ", {"LATIN"}),  # full width
        ("iphone用", {"LATIN", "CJK"}),
        ("12_", set()),
        ("ʼ", set()),  # a modifier letter
        ("", set()),
    ],
)
def test_a_word_has_the_scripts_of_its_letters(word: str, scripts: set[str]) -> None:
    assert find_scripts(word) == scripts


def test_rare_scripts_are_not_usual() -> None:
    assert find_usual_scripts(["word"] * 990 + ["слово"] * 9 + ["東京"]) == {"LATIN"}
    assert find_usual_scripts(["слово"] * 98 + ["word"] * 2) == {"LATIN", "CYRILLIC"}
    assert find_usual_scripts(["word"] * 50_000 + ["слово"] * 50_000) == {"LATIN", "CYRILLIC"}
    assert find_usual_scripts([]) == set()
