"""Which words are carried into the space of the shipped vectors, and how; the script that does it."""

import json
import os
import tarfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from custext_sql.arrays import Floats
from custext_sql.text.word_boundaries import are_words
from custext_sql.vectors.starter import FILES, FIRST_WORDS, WORDS, unpack
from tools.starter.carrying import Carrier
from tools.starter.choosing import REMNANTS, SYLLABLES, choose_words
from tools.starter.make import MEMBER, main, read_package

SHIPPED = files("custext_sql.starter")
NAMES = ("kowalczyk", "mateusz", "siobhan", "matsumura", "okonkwo", "krzysztof", "peoria", "warszawa", "citigroup")
TERMS = ("osteoarthritis", "xanax", "crohn", "zoloft", "fibromyalgia", "endometriosis", "ptsd")


def two_spaces(count: int, seed: int) -> tuple[Floats, Floats]:
    """Return the same words in two spaces; the second is no linear function of the first."""
    generator = np.random.default_rng(seed)
    given = generator.normal(size=(count, 4))
    bent = np.abs(given @ np.random.default_rng(1).normal(size=(4, 6)))
    return given, given @ np.random.default_rng(2).normal(size=(4, 6)) + bent


@pytest.mark.slow
def test_carried_words_are_single_words_without_digits() -> None:
    first, second = (unpack(SHIPPED.joinpath(file).read_bytes()).words for file in FILES)
    assert (len(first), len(second)) == (FIRST_WORDS, WORDS - FIRST_WORDS)
    assert are_words(second).all()
    assert all(word.isascii() and word.isalpha() and word == word.lower() and len(word) > 1 for word in second)
    assert not set(second) & {*first, *REMNANTS}
    assert set(second) & set(SYLLABLES) == {"vihch"}  # which is less close to the others than the bound
    assert set(second) >= {*NAMES, *TERMS}


def test_words_are_chosen_in_the_order_of_the_file_and_by_the_rules() -> None:
    refused = ["The", "x", "b2b", "well-known", "naïve", "bgcolor", "of", "...", *SYLLABLES, "mahn"]
    words = ["arafat", *refused, "xinhua", "pronounced", "later"]
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(len(words), 50))
    fragment = generator.normal(size=50)
    for row, word in enumerate(words):
        if word in (*SYLLABLES, "mahn", "pronounced"):  # the last is too long to be a syllable
            vectors[row] = fragment + 0.1 * vectors[row]
    choice = choose_words(words, vectors, ["of"], 3)
    assert [words[row] for row in choice.rows] == ["arafat", "xinhua", "pronounced"]
    assert choice.syllables == len(SYLLABLES) + 1


def test_carrying_learns_more_than_least_squares_and_keeps_the_usual_distance() -> None:
    given, wanted = two_spaces(3000, seed=0)
    new, true = two_spaces(200, seed=5)
    carrier = Carrier.fit(given, wanted, wanted)
    carried = carrier.carry(new)
    far, usual = (np.linalg.norm(points - wanted.mean(axis=0), axis=1).mean() for points in (carried, wanted))
    assert far == pytest.approx(usual)
    directions, expected, linear = (
        points / np.linalg.norm(points, axis=1, keepdims=True)
        for points in (table - wanted.mean(axis=0) for table in (carried, true, carrier.carry_linearly(new)))
    )
    assert np.square(directions - expected).sum() < 0.5 * np.square(linear - expected).sum()


def test_the_package_is_read_in_its_order(tmp_path: Path) -> None:
    vectors = {"the": [1.5, -2.0, 2.5, 0], "a": [0.0, 3.0, 3.0, 1]}
    content = json.dumps({"dimensions": 2, "words": ["a", "the"], "vectors": vectors}).encode()
    (tmp_path / "package.json").write_bytes(content)
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package.json", MEMBER)
    for path in tmp_path.iterdir():
        table = read_package(path)
        assert (table.words, table.vectors.tolist()) == (["a", "the"], [[0.0, 3.0], [1.5, -2.0]])


@pytest.mark.slow
@pytest.mark.skipif("CUSTEXT_GLOVE_6B" not in os.environ, reason="CUSTEXT_GLOVE_6B must name the npm package's file")
def test_the_shipped_files_are_made_again_from_the_public_files(shared_data: Path) -> None:
    main(str(shared_data / "glove.840B.300d.34k.txt.gz"), os.environ["CUSTEXT_GLOVE_6B"], "--check")
