"""Texts of experiments: public TSV files in GLUE's format, all others as in releases."""

from pathlib import Path

import pytest

from custext_sql import CusTextError, DataFiles
from custext_sql.experiments.text_files import list_texts
from tests.experiments.test_datasets import SST2, write


def test_quotes_have_no_meaning_in_public_tsv_files(tmp_path: Path) -> None:
    found = list_texts(write(tmp_path, "x.tsv", SST2), "sentence", 1, public=True)
    assert found == ["hide new secretions from the parental units "]
    stray = 'id\tbody\n1\t"a b\n2\tc"d\n3\n'
    assert list_texts(write(tmp_path, "y.tsv", stray), "body", public=True) == ['"a b', 'c"d']
    (tmp_path / "z.dat").write_bytes(stray.replace("a", "é").encode("latin-1"))
    assert list_texts(DataFiles(tmp_path / "z.dat", "tsv", "latin-1"), "body", public=True) == [
        '"é b',
        'c"d',
    ]


def test_private_tsv_files_are_read_as_a_release_reads_them(tmp_path: Path) -> None:
    path = write(tmp_path, "x.tsv", 'id\tbody\n1\t"a b\nc d"\n2\te\n')
    assert list_texts(path, "body") == ["a b\nc d", "e"]
    with pytest.raises(CusTextError, match="add --no-quotes"):
        list_texts(write(tmp_path, "y.tsv", 'id\tbody\n1\t"a b\n2\te\n'), "body")


def test_other_files_are_read_as_releases_read_them(tmp_path: Path) -> None:
    comma = write(tmp_path, "x.csv", 'id,body\n1,"a ""b"""\n2,\n3,c\n')
    assert list_texts(comma, "body") == ['a "b"', None, "c"]
    assert list_texts(comma, "body", 1) == ['a "b"']
    assert list_texts(write(tmp_path, "x.txt", "one\ntwo\nthree\n"), None, 2) == ["one\n", "two\n"]


def test_quotes_can_be_ordinary_characters_in_any_table_of_text(tmp_path: Path) -> None:
    stray = write(tmp_path, "x.csv", 'id,body\n1,"a b\n2,c"d\n')
    assert list_texts(DataFiles(stray, quotes=False), "body") == ['"a b', 'c"d']
    glue = write(tmp_path, "x.tsv", 'id\tbody\n1\t"a b\n2\tc\n')
    assert list_texts(DataFiles(glue, quotes=False), "body") == ['"a b', "c"]
