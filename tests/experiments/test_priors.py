"""How frequent words are."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import Policy, Sanitizer, load_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments.attacks.bayes_attack import Prior, count_words, read_frequencies
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.mapping.mapping import Mapping
from custext_sql.text.columns import open_column


@pytest.fixture
def mapping(mapped_db: Path) -> Mapping:
    return load_mapping(mapped_db)


def by_word(prior: Prior, mapping: Mapping) -> dict[str, float]:
    return {word: chance for word, chance in zip(mapping.words, prior.chances.tolist(), strict=True) if chance}


def test_words_of_texts_are_counted_as_they_are_looked_up(mapping: Mapping, mapped_db: Path) -> None:
    texts = [open_column(["Alice, ALICE and bob", None])[0], open_column(["nobody's bob"])[0]]
    prior = count_words(texts, MappingUnderTest(mapped_db), "texts")
    assert by_word(prior, mapping) == {"alice": 0.5, "bob": 0.5}
    assert (prior.words, prior.drawn) == (7, 4 / 7)  # "nobody", "and" and the ending are not in the vocabulary


@pytest.mark.parametrize(
    ("policy", "counted", "words"),
    [
        ("strict", {"alice": 2, "bob": 1}, 5),
        ("paper", {"alice": 1, "bob": 1}, 10),
        (Policy(invisible="keep"), {"alice": 1, "bob": 1}, 6),
        (Policy(units="keep"), {"alice": 2, "bob": 1}, 9),
        (Policy(keep_words={"Bob"}), {"alice": 2}, 5),
    ],
)
def test_words_are_counted_as_a_release_counts_them(
    mapping: Mapping, mapped_db: Path, policy: str | Policy, counted: dict[str, int], words: int
) -> None:
    texts = ["al\u00adice and alice", "bob 2020-01-02-03-04"]
    prior = count_words([open_column(texts)[0]], MappingUnderTest(mapped_db, policy=policy), "texts")
    total = sum(counted.values())
    assert by_word(prior, mapping) == {word: count / total for word, count in counted.items()}
    assert (prior.words, prior.drawn) == (words, total / words)
    assert Sanitizer.load(mapped_db, policy=policy).release(texts)[1].words == words


@pytest.mark.parametrize("text", ["alice\t3\nbob\t1\n", "Alice,3\nbob,1", "alice 2\r\nalice 1\nbob 1.0\nother 9\n\n"])
def test_a_file_of_frequencies_is_read(mapping: Mapping, tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text)
    prior = read_frequencies(file, mapping)
    assert by_word(prior, mapping) == {"alice": 0.75, "bob": 0.25}
    assert prior.name == "words.txt"
    assert prior.drawn == (4 / 13 if "other" in text else 1.0)


def test_a_file_is_not_mistaken_for_the_uniform_prior(mapping: Mapping, tmp_path: Path) -> None:
    (tmp_path / "uniform").write_text("alice 1\n")
    assert read_frequencies(tmp_path / "uniform", mapping).name == "uniform (a file)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alice 3\nsecret\n", r"words.txt, line 2: expected a word and a number, such as: the,1000$"),
        ("alice 3\nsecret minus\n", r"words.txt, line 2: expected a word and a number"),
        ("alice -3\n", "line 1"),
        ("alice nan\n", "line 1"),
        ("the\t1,000\nalice\t12\n", "line 1"),
        ("the 1,000\nalice 12\n", "line 1"),
        ("two words,3\n", "line 1"),
        ("other 3\n", "words.txt: found no words that the mapping would replace"),
    ],
)
def test_errors_name_the_line_of_a_bad_file(mapping: Mapping, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text)
    with pytest.raises(CusTextError, match=message) as caught:
        read_frequencies(file, mapping)
    assert "secret" not in str(caught.value)


def test_bytes_that_are_not_utf_8_are_refused(mapping: Mapping, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"alice 1\ncaf\xe9 3\n")
    with pytest.raises(CusTextError, match="words.txt, line 2: not UTF-8"):
        read_frequencies(file, mapping)


def test_kept_words_are_removed(mapping: Mapping) -> None:
    prior = Prior("some", np.array([0.5, 0.3, 0.2]), 10)
    rest = prior.without(np.array([True, False, False]))
    assert rest.chances.tolist() == [0.0, 0.6, 0.4]
    assert rest.drawn == 0.5
    with pytest.raises(CusTextError, match="no word"):
        prior.without(np.array([True, True, True]))
