"""Texts from files and from sequences."""

from pathlib import Path

import pytest

from custext_sql.errors import CusTextError
from custext_sql.experiments.text_files import list_texts, name_texts
from tests.experiments.test_datasets import SST2, write


def test_texts_are_streamed_from_columns_and_lines(tmp_path: Path) -> None:
    comma = write(tmp_path, "x.csv", 'id,body\n1,"a ""b"""\n2,\n3,c\n')
    assert list_texts(comma, "body") == ['a "b"', None, "c"]
    assert list_texts(comma, "body", 1) == ['a "b"']
    assert list_texts(write(tmp_path, "x.txt", "one\ntwo\nthree\n"), None, 2) == ["one\n", "two\n"]
    assert list_texts(write(tmp_path, "x.tsv", SST2), "sentence", 1) == ["hide new secretions from the parental units "]
    with pytest.raises(CusTextError, match=r"name the column of the texts: --column NAME \(in Python: column=\.\.\.\)"):
        list_texts(comma, None)
    with pytest.raises(CusTextError, match=r"plain text has no columns; leave out --column \(in Python: column\)"):
        list_texts(str(tmp_path / "x.txt"), "body")


def test_a_sequence_of_texts_is_as_good_as_a_file() -> None:
    assert list_texts(["one", None, "two"], None, 2) == ["one", None]
    assert name_texts(["one"]) == "texts" and name_texts("folder/some.csv") == "some.csv"
    with pytest.raises(CusTextError, match="a sequence of texts has no columns"):
        list_texts(["one"], "body")
