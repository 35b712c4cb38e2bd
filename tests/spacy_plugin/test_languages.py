"""The component keeps the stopwords of its pipeline's language, and refuses those of another one."""

from pathlib import Path
from typing import Any

import pytest

from custext_sql import CusTextError, add_stopwords, build_mapping, make_key
from custext_sql.store.database import writing
from custext_sql.store.stopwords import write_stopwords
from tests.spacy_plugin.pipelines import kinds_of, make_pipeline

TEXT = "der was will"


@pytest.fixture
def german_db(few_db: Path) -> Path:
    with writing(few_db) as connection:
        write_stopwords(connection, "german", ["der"], "a test")
    return few_db


def test_stopwords_are_those_of_the_language_of_the_pipeline(german_db: Path) -> None:
    cases: list[tuple[str, dict[str, Any], list[str]]] = [
        ("de", {}, ["stopword", "replaced", "replaced"]),
        ("en", {"language": "german"}, ["stopword", "replaced", "replaced"]),
        ("de", {"language": "english"}, ["unknown", "stopword", "stopword"]),
        ("de", {"sensitive": {"@misc": "custext.all_but_stopwords.v1"}}, ["stopword", "replaced", "replaced"]),
    ]
    for code, config, expected in cases:
        assert kinds_of(make_pipeline(german_db, code=code, plus=True, **config)(TEXT)) == expected
    assert kinds_of(make_pipeline(german_db, code="is")("was"))  # without plus, no list is needed


def test_a_list_of_ones_own_is_used_by_its_name(few_db: Path, tmp_path: Path) -> None:
    (tmp_path / "legal.txt").write_text("will\n", encoding="utf-8")
    add_stopwords(few_db, language="legal", file=tmp_path / "legal.txt")
    build_mapping(few_db, embedding="starter", k=20, separate_stopwords=True, name="apart")  # the English ones
    for mapping in (None, "apart"):
        nlp = make_pipeline(few_db, code="de", plus=True, mapping=mapping, language="legal")
        assert kinds_of(nlp(TEXT))[1:] == ["replaced", "stopword"]
    # the mapping is named before the missing list: adding the list would not help
    with pytest.raises(CusTextError, match="mapping: 'apart' was made with the stopwords for english"):
        make_pipeline(few_db, code="de", plus=True, mapping="apart")


@pytest.mark.parametrize(
    ("code", "config", "message"),
    [
        ("de", {}, "the database has no stopwords for 'german', only for english; run: custext stopwords --language"),
        ("xx", {}, 'language: NLTK has no stopwords for the language of this pipeline, "xx"'),
        ("en", {"language": "legal"}, "the database has no stopwords for 'legal', only for english"),
        ("en", {"language": 7}, "language must be a string; found int"),
    ],
)
def test_a_missing_list_is_an_error(few_template: Path, code: str, config: dict[str, Any], message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        make_pipeline(few_template, code=code, plus=True, **config)


@pytest.mark.slow
def test_a_mapping_or_a_key_for_another_language_is_an_error(german_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "english", german_db, plus=True)
    make_key(tmp_path / "german", german_db, plus=True, language="german")
    make_key(tmp_path / "none", german_db)
    build_mapping(german_db, embedding="starter", k=20, separate_stopwords=True, name="apart")
    for wrong, message in (
        ({"mapping": "apart"}, "mapping: 'apart' was made with the stopwords for english, but the .* is german"),
        ({"key_file": str(tmp_path / "english")}, "key_file: the key was made with .* english, but the .* is german"),
    ):
        with pytest.raises(CusTextError, match=message):
            make_pipeline(german_db, code="de", **wrong)
        assert make_pipeline(german_db, code="de", language="english", **wrong)
    for right in ("german", "none"):
        assert make_pipeline(german_db, code="de", key_file=str(tmp_path / right))
