"""Labeled texts: GLUE's files as they are, others that DuckDB reads, NLTK's sentence polarity."""

import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.measurements import digest_texts
from custext_sql.experiments.text_files import read_glue_columns
from custext_sql.release.duckdb_instances import open_instance
from custext_sql.release.inputs.data_files import open_files
from custext_sql.release.inputs.file_formats import tell_format
from custext_sql.release.inputs.input_files import list_files
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_name

POLARITY = "sentence_polarity"
_TEST_EVERY = 5  # of the sentences of a class in NLTK's corpus, the last of each five is for testing


@dataclass(frozen=True, eq=False)
class LabeledTexts:
    """Texts and their labels, to train on or to test on.

    name: what results call them. texts: a tuple per row, of one text, or of two in tasks on pairs. labels: one per row;
    numbers as text where they say how alike two texts are. left_out: lines of a file that lack some of its columns.
    """

    name: str
    texts: Sequence[tuple[str, ...]]
    labels: Sequence[str]
    left_out: int = 0

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise SettingError(f"{self.name}: expected a label per row; found {len(self.labels)} for {len(self.texts)}")
        for row, (texts, label) in enumerate(zip(self.texts, self.labels, strict=True), start=1):
            where = f"{self.name}, row {row}"
            if not isinstance(texts, tuple) or {type(text) for text in texts} != {str} or len(texts) > 2:
                raise SettingError(f'{where}: expected a tuple of one or two texts, such as ("a text",)')
            if not isinstance(label, str):
                raise SettingError(f"{where}: expected a label as a string; found {type(label).__name__}")

    @cached_property
    def digest(self) -> str:
        """Return a keyed digest of all texts and labels."""
        return digest_texts(
            field for texts, label in zip(self.texts, self.labels, strict=True) for field in (*texts, label)
        )


def read_labeled(path: str | os.PathLike[str], text_columns: Sequence[str], label_column: str) -> LabeledTexts:
    """Return the labeled texts of a file with a column of labels and one or two of texts.

    TSV files are read as GLUE has them: a first line of names, tabs between fields, quotes meaning nothing.
    """
    path = os.fspath(path)
    if not 1 <= len(text_columns) <= 2:
        raise SettingError(f"a row has one text or two: name one or two columns (--text); found {len(text_columns)}")
    wanted = [*text_columns, label_column]
    if tell_format(list_files(path)[0]) == "tsv":
        rows, left_out = read_glue_columns(path, wanted, label=True)
    else:
        rows, left_out = _read_by_duckdb(path, wanted), 0
    if not rows:
        raise SourceError(f"{path}: there are no rows")
    return LabeledTexts(
        "/".join(Path(path).parts[-2:]), [row[:-1] for row in rows], [row[-1] for row in rows], left_out
    )


def read_sentence_polarity(source: str | os.PathLike[str] = POLARITY) -> tuple[LabeledTexts, LabeledTexts]:
    """Return NLTK's corpus of 10,662 sentences, for training and for testing; the split is always the same.

    source: the path of sentence_polarity.zip, or the corpus's name, under which NLTK finds it.
    """
    sentences = {label: _read_sentences(os.fspath(source), f"rt-polarity.{label}") for label in ("neg", "pos")}
    parts: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for label, texts in sentences.items():
        for number, text in enumerate(texts):
            parts[number % _TEST_EVERY == _TEST_EVERY - 1].append((text, label))
    train, test = (
        LabeledTexts(f"{POLARITY} ({name})", [(text,) for text, _ in part], [label for _, label in part])
        for name, part in (("train", parts[False]), ("test", parts[True]))
    )
    return train, test


def _read_sentences(source: str, name: str) -> list[str]:
    path = _find_corpus(source)
    try:
        with zipfile.ZipFile(path) as archive:
            member = next((entry for entry in archive.namelist() if entry.rsplit("/", 1)[-1] == name), None)
            if member is None:
                raise SourceError(f"{path.name}: expected NLTK's {POLARITY}, found no {name} in it")
            content = archive.read(member)
    except (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error):
        raise SourceError(f"{path}: expected NLTK's {POLARITY}.zip, found no archive that can be read") from None
    return [line.strip() for line in content.decode("latin-1").split("\n") if line.strip()]


def _find_corpus(source: str) -> Path:
    if Path(source).is_file():
        return Path(source)
    if source == POLARITY:
        import nltk

        for folder in nltk.data.path:
            if (found := Path(folder) / "corpora" / f"{POLARITY}.zip").is_file():
                return found
        raise SourceError(
            f"NLTK's {POLARITY} is not installed; run: python -m nltk.downloader {POLARITY} "
            f"(or name the path of {POLARITY}.zip)"
        )
    raise SourceError(f"{source}: there is no such file; expected {POLARITY}, or the path of {POLARITY}.zip")


def _read_by_duckdb(path: str, wanted: Sequence[str]) -> list[tuple[str, ...]]:
    with open_instance() as connection:
        source = open_files(connection, path, list_files(path))
        if source.format == "text":
            raise SourceError(f"{path}: lines of text have no labels; expected a file with columns")
        columns = ", ".join(f"CAST({quote_name(source.find_column(name, wanted))} AS VARCHAR)" for name in wanted)
        with safe_errors(names=source.list_names(wanted)):
            rows = fetch(connection, f"SELECT {columns} FROM {source.reader}")
    for number, row in enumerate(rows):
        if None in row:
            missing = wanted[row.index(None)]
            raise SourceError(f"{path}: row {number + 1} has no {missing}; every row needs its texts and its label")
    return rows
