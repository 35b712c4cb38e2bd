"""A new Doc reveals its text and what it was asked to carry, and nothing else."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from custext_sql import CusTextError, build_mapping, load_embeddings
from spacy_plugin.component import CusText
from tests.spacy_plugin.pipelines import make_cutter, make_pipeline, tokens_of
from tests.vector_samples import write_glove

TITLES = ["mr", "sir", "lord", "dame"]  # spaCy keeps "Mr." as one token and splits the others with a period in two
MASKED = ["Zzyzxa.", "Qwrtz.", "1234567.", "7654321.", "Zzyzxa-Qwrtz"]


@pytest.fixture(scope="module")
def titles_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with one group of four words, for tests that only read it."""
    folder = tmp_path_factory.mktemp("titles")
    vectors = np.random.default_rng(7).normal(size=(len(TITLES), 5)).astype(np.float32)
    load_embeddings(folder / "titles.duckdb", write_glove(folder / "titles.txt", TITLES, vectors), name="titles")
    build_mapping(folder / "titles.duckdb", embedding="titles", k=4)
    return folder / "titles.duckdb"


def open_pipeline(database: Path, *before: str, **config: Any) -> Language:
    """Return a pipeline that makes new Docs."""
    config = {"eps": 0.01, "policy": "paper", "output": "replace", **config}
    return make_pipeline(database, *before, **config)


def check_text_determines_doc(nlp: Language, inputs: Iterable[str], draws: int) -> int:
    """Check that new Docs with equal texts are equal, byte for byte; return how many texts came from several inputs."""
    found: dict[str, set[tuple[bytes, bytes]]] = defaultdict(set)
    origins: dict[str, set[str]] = defaultdict(set)
    stream = [(text, text) for text in inputs for _ in range(draws)]
    for doc, original in nlp.pipe(stream, as_tuples=True):
        found[doc.text].add((doc.to_bytes(), DocBin(docs=[doc], store_user_data=True).to_bytes()))
        origins[doc.text].add(original)
    assert {text: len(forms) for text, forms in found.items()} == dict.fromkeys(found, 1)
    return sum(len(texts) > 1 for texts in origins.values())


@pytest.mark.slow
@pytest.mark.parametrize("before", [(), ("sentencizer",), ("sentencizer", "entity_ruler")])
@pytest.mark.parametrize("config", [{}, {"policy": "strict"}, {"plus": True, "carry": []}, {"carry": ["sentences"]}])
def test_a_new_doc_of_one_word_is_a_function_of_its_text(
    titles_db: Path, before: tuple[str, ...], config: dict[str, Any]
) -> None:
    nlp = open_pipeline(titles_db, *before, **config)
    for pattern in ("{}", "{}.", '"{}."', "({}.) "):
        inputs = [pattern.format(form) for word in TITLES for form in (word, word.capitalize(), word.upper())]
        assert check_text_determines_doc(nlp, inputs, 8) == len(TITLES)
    shared = check_text_determines_doc(nlp, MASKED, 2)
    assert shared == (2 if config.get("policy") == "strict" else 0)


@pytest.mark.slow
def test_a_new_doc_of_many_words_is_a_function_of_its_text(titles_db: Path) -> None:
    nlp = open_pipeline(titles_db)
    inputs = [f"{a}. ({b}) {c}!" for a in ("Mr", "Sir") for b in ("Mr", "lord.") for c in ("dame", "Mr.")]
    assert check_text_determines_doc(nlp, inputs, 100) > 30


def test_carried_tokens_reveal_what_the_default_does_not(titles_db: Path) -> None:
    """The counter-test: with the tokens of the original, Docs with equal texts differ."""
    with pytest.raises(AssertionError):
        check_text_determines_doc(open_pipeline(titles_db, carry=["tokens"]), ["Mr.", "Sir."], 40)
    docs = open_pipeline(titles_db, carry=["tokens"]).pipe(["Mr.", "Sir."] * 20)
    assert {len(doc) for doc in list(docs)[::2]} == {1}
    for doc in open_pipeline(titles_db).pipe(["Mr.", "Sir."] * 20):
        assert tokens_of(doc) == [doc.text.removesuffix("."), "."]


def test_masks_are_tokenized_like_words_and_numbers(english_db: Path) -> None:
    nlp = open_pipeline(english_db, "sentencizer", policy={"units": "keep"})
    doc = nlp("Zzyzxa-Qwrtz (Zzyzxa's), $1234567.7654321 1234567% Qwrtz@zzyzxa.com. can't xunkx Zzyzxa")
    tokens = tokens_of(doc)
    assert tokens[:8] == ["<unk>", "-", "<unk>", "(", "<unk>", "'s", ")", ","]
    assert tokens[8:13] == ["$", "<num>.<num>", "<num>", "%", "<unk>@<unk>." + tokens[12].rpartition(".")[2]]
    assert tokens[-2:] == ["<unk>", "<unk>"] and "xunkx" not in doc.text
    assert {token.norm_ for token in doc if token.text == "<unk>"} == {"<unk>"}
    assert doc._.custext == doc.text == "".join(token.text_with_ws for token in doc)


def test_tokenizer_exceptions_keep_their_norm_next_to_masks(titles_db: Path) -> None:
    for text in ("can't mr", "can't zzyzxa"):
        doc = open_pipeline(
            titles_db, sensitive={"@misc": "custext.words.v1", "words": ["mr", "zzyzxa"]}, policy="strict"
        )(text)
        assert [(token.text, token.norm_) for token in doc][:2] == [("ca", "can"), ("n't", "not")]


def test_without_a_component_that_finds_sentences_none_begins(titles_db: Path) -> None:
    """Not even if the original has a mark on its first token."""
    nlp = open_pipeline(titles_db)
    for words in (["mr"], ["mr", "sir"]):
        original = Doc(nlp.vocab, words=words, sent_starts=[True] + [None] * (len(words) - 1))
        doc = nlp.get_pipe("custext")(original)
        assert [token.sent_start for token in doc] == [token.sent_start for token in nlp.tokenizer(doc.text)]


def test_the_current_tokenizer_is_used_and_may_not_change_the_text(titles_db: Path) -> None:
    nlp = open_pipeline(titles_db)
    plain = nlp.tokenizer
    nlp.tokenizer = make_cutter(nlp.vocab, "everywhere")
    doc = nlp(plain("mr sir"))
    assert tokens_of(doc) == list(doc.text)
    nlp.tokenizer = lambda text: Doc(nlp.vocab, words=[*text.split(), "x"])
    for text in ("mr sir", ""):
        with pytest.raises(CusTextError, match="tokenizer changes the text"):
            nlp(plain(text))


def test_a_component_made_by_hand_needs_a_pipeline_for_new_docs(titles_db: Path) -> None:
    with pytest.raises(CusTextError, match=r"nlp: .*CusText\(nlp=nlp, "):
        CusText(database=str(titles_db), output="replace")
    nlp = spacy.blank("en")
    settings: dict[str, Any]
    for settings in ({"nlp": nlp}, {"nlp": spacy.blank("en")}, {"carry": ["tokens"]}):
        doc = CusText(database=str(titles_db), policy="paper", output="replace", **settings)(nlp("Mr. can't"))
        assert doc.vocab is nlp.vocab and len(doc) == (4 if "nlp" in settings else 3)
    assert CusText(database=str(titles_db))(nlp("Mr."))._.custext
