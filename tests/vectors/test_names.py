"""An embedding has the name of its source, unless it is given another one."""

import numpy as np
import pytest

from custext_sql import load_embeddings
from custext_sql.errors import SettingError
from custext_sql.parameters import check_name
from custext_sql.vectors.opening import name_source


@pytest.mark.parametrize(
    ("source", "member", "name"),
    [
        ("/data/Wiki News 300d.vec.zip", None, "Wiki-News-300d"),
        ("glove.6B.zip", "folder/glove.6B.50d.txt", "glove.6B.50d"),
        ("GoogleNews-vectors-negative300.bin.GZ", None, "GoogleNews-vectors-negative300"),
        ("spacy:models/en_large", None, "en_large"),
        ("C:\\data\\vektoren_für_alle.npz", None, "vektoren_für_alle"),
        ("--(1) .parquet", None, "1"),
        ("starter", None, "starter"),
        ("x" * 200 + ".txt", None, "x" * 60),
    ],
)
def test_the_name_is_that_of_the_file_without_suffixes(source: str, member: str | None, name: str) -> None:
    assert name_source(source, member) == name == check_name(name, "an embedding")


@pytest.mark.parametrize("source", ["", "...", "/", "!.txt"])
def test_a_file_without_a_usable_name_needs_one(source: str) -> None:
    with pytest.raises(SettingError, match=r"use --name NAME \(in Python: name=...\)"):
        name_source(source)


def test_words_with_an_array_need_a_name() -> None:
    with pytest.raises(SettingError, match="give the embedding one: name="):
        load_embeddings(None, (["a", "b"], np.eye(2)))
