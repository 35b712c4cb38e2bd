"""The mappings that `choose` compares: several K, made in memory unless they are stored."""

from pathlib import Path

import numpy as np
import pytest

from custext_sql import build_mapping, drop_embedding, list_mappings, load_embeddings, load_mapping, use_mapping
from custext_sql.errors import CusTextError
from custext_sql.experiments import choose
from custext_sql.experiments.choosing import WordFrequencies, list_contenders, sample_texts
from custext_sql.experiments.mechanisms import MappingUnderTest

TEXTS = ["the doctor said that the nurse was kind and the doctor was late", "I love this camera and the music"]


def test_several_k_are_tried_and_nothing_is_stored(few_db: Path) -> None:
    before = list_mappings(few_db)
    shares: list[float] = []
    choice = choose(few_db, data=TEXTS, k=[40, 20, 10], max_attack=0.9, progress=shares.append)
    assert [(one.k, one.stored) for one in choice.candidates] == [(10, False), (20, True), (40, False)]
    assert list_mappings(few_db) == before
    assert shares == sorted(shares) and shares[-1] == 1.0
    for one in choice.candidates:
        assert {result.k for result in one.curve} == {one.k}


def test_a_mapping_in_memory_is_the_one_that_would_be_built(few_db: Path) -> None:
    build_mapping(few_db, embedding="starter", k=15, grouping="refined", separate_stopwords=True, name="mine")
    use_mapping(few_db, name="mine")
    made = {one.k: one for one in choose(few_db, data=TEXTS, k=(15, 30), max_attack=0.9).candidates}
    assert made[15].stored and made[15].mapping == "mine"
    report = build_mapping(few_db, embedding="starter", k=30, grouping="refined", separate_stopwords=True)
    assert report.info.name == made[30].mapping == "starter-euclidean-k30-refined-apart"
    assert report.info.fingerprint == made[30].fingerprint
    again = choose(few_db, data=TEXTS, k=(15, 30), max_attack=0.9)
    assert again.candidates[1].stored and again.candidates[1].curve == made[30].curve


def test_the_usual_k_are_those_for_which_there_are_enough_words(few_db: Path, mapped_db: Path) -> None:
    assert [one.k for one in list_contenders(few_db)] == [20, 40, 80, 160]
    assert [(one.k, one.stored) for one in list_contenders(mapped_db)] == [(4, True)]


def test_another_embedding_is_grouped_in_the_same_way(few_db: Path) -> None:
    load_embeddings(few_db, "starter", name="other", limit=300)
    [contender] = list_contenders(few_db, 30, "other")
    assert (contender.name, contender.stored) == ("other-euclidean-k30", False)
    assert len(contender.open(lambda share: None).words) == 300


def test_an_embedding_without_mappings_is_grouped_as_usual(loaded_db: Path) -> None:
    [contender] = list_contenders(loaded_db, [4], "small")
    assert contender.name == "small-euclidean-k4"
    mapping = contender.open(lambda share: None)
    build_mapping(loaded_db, embedding="small", k=4)
    assert load_mapping(loaded_db).info.fingerprint == mapping.info.fingerprint


def test_what_cannot_be_tried_is_an_error_that_says_what_to_do(mapped_db: Path) -> None:
    for sizes, message in (([1], "at least 2, such as 20,40; found 1"), ([], "found none"), ("20", "a whole number")):
        with pytest.raises(CusTextError, match=message):
            list_contenders(mapped_db, sizes, None)  # type: ignore[arg-type]
    with pytest.raises(CusTextError, match="embedding 'smal' does not exist; did you mean 'small'"):
        list_contenders(mapped_db, None, "smal")
    with pytest.raises(CusTextError, match=r"leave out --k \(in Python: k\)"):
        choose(mapped_db, data=TEXTS, k=4, mappings="small-euclidean-k4")
    with pytest.raises(CusTextError, match="must not exceed the number of words, 16; found 17"):
        list_contenders(mapped_db, [4, 17], None)
    drop_embedding(mapped_db, name="small")
    with pytest.raises(CusTextError, match="custext load FILE --name small --replace; or name stored mappings"):
        list_contenders(mapped_db)
    assert list_contenders(mapped_db, mappings="small-euclidean-k4")[0].stored


@pytest.mark.parametrize(
    ("data", "message"), [("nothing.txt", "nothing.txt does not exist"), (["unknown"], "found no words")]
)
def test_wrong_texts_are_found_before_anything_is_made(
    mapped_db: Path, data: str | list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custext_sql.experiments.choosing.make_mapping", None)
    with pytest.raises(CusTextError, match=message):
        choose(mapped_db, data=data, k=[2, 4])


def test_a_similarity_function_has_no_other_k(loaded_db: Path) -> None:
    build_mapping(loaded_db, embedding="small", k=4, measure=lambda a, b: a @ b.T, larger_is_closer=True)
    with pytest.raises(CusTextError, match="made with a similarity function.*--mapping NAME"):
        list_contenders(loaded_db)


def test_words_are_counted_once_for_mappings_of_the_same_words(few_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frequencies = WordFrequencies(None, TEXTS, None)
    made = [one.open(lambda share: None) for one in list_contenders(few_db, [20, 30])]
    first = frequencies.find(MappingUnderTest(few_db, mapping=made[0]))
    under_test = MappingUnderTest(few_db, mapping=made[1])
    counted = WordFrequencies(None, TEXTS, None).find(under_test)
    monkeypatch.setattr("custext_sql.experiments.choosing.find_prior", None)
    found = frequencies.find(under_test)
    assert not np.array_equal(found.chances, first.chances)
    assert np.array_equal(found.chances, counted.chances)


def test_a_sample_of_texts_covers_all_of_them() -> None:
    texts = [f"word {number}" for number in range(1000)]
    assert sample_texts(texts) == texts
    sample = sample_texts(texts, words=200, fewest=50)
    assert sample[:3] == ["word 0", "word 10", "word 20"] and len(sample) == 100
    assert len(sample_texts(texts, words=20, fewest=50)) == 50
