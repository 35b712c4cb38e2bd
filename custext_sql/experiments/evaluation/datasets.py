"""Labeled texts: from GLUE's files, other files or tables that DuckDB reads, or NLTK's sentence polarity corpus."""

import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.measurements import digest_texts
from custext_sql.experiments.text_files import read_glue_columns
from custext_sql.parameters import count_of
from custext_sql.release.inputs.input_files import list_files
from custext_sql.release.inputs.texts import DataTable, find_format, name_texts, open_texts
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.files.quoting import quote_name

POLARITY = "sentence_polarity"
_TEST_EVERY = 5  # of every five sentences of a class in NLTK's corpus, the last is a test row


@dataclass(frozen=True, eq=False)
class LabeledTexts:
    """Texts and their labels, for training or testing.

    name: the name that results show.
    texts: a tuple per row, with one text, or with two for tasks on pairs.
    labels: a string per row: a class, or a number that says how similar the two texts are.
    left_out: the number of lines of a file that were skipped because they lack some columns.

    SettingError if the numbers of rows and labels differ or something has the wrong type.
    """

    name: str
    texts: Sequence[tuple[str, ...]]
    labels: Sequence[str]
    left_out: int = 0

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise SettingError(
                f"{self.name}: expected one label per row; found {count_of(len(self.labels), 'label')} for "
                f"{count_of(len(self.texts), 'row')}"
            )
        for row, (texts, label) in enumerate(zip(self.texts, self.labels, strict=True), start=1):
            where = f"{self.name}, row {row}"
            if not isinstance(texts, tuple) or {type(text) for text in texts} != {str} or len(texts) > 2:
                raise SettingError(f'{where}: expected a tuple of one or two texts, such as ("a text",)')
            if not isinstance(label, str):
                raise SettingError(f"{where}: expected a string as the label; found {type(label).__name__}")

    @cached_property
    def digest(self) -> str:
        """A keyed digest of all texts and labels."""
        return digest_texts(
            field for texts, label in zip(self.texts, self.labels, strict=True) for field in (*texts, label)
        )

    def take(self, rows: int) -> "LabeledTexts":
        """Return that many rows, spread evenly, since rows may be sorted by label; all rows if there are no more."""
        count = len(self.texts)
        if count <= rows:
            return self
        places = [place * count // rows for place in range(rows)]
        return replace(
            self,
            name=f"{self.name} ({rows:,} of {count_of(count, 'row')})",
            texts=[self.texts[place] for place in places],
            labels=[self.labels[place] for place in places],
        )


def read_labeled(
    data: str | os.PathLike[str] | DataTable, text_columns: Sequence[str], label_column: str, *, header: bool = True
) -> LabeledTexts:
    """Return the labeled texts of a file or table with a column of labels and one or two columns of texts.

    TSV files are read in GLUE's format: the first line has the names, fields are separated by tabs, and quotes have no
    meaning. header: False if all lines of a TSV file are rows, as in GLUE's CoLA; columns are then numbers, from 1.
    SettingError if a column does not exist; SourceError if the file cannot be read or a value is missing.
    """
    if not 1 <= len(text_columns) <= 2:
        raise SettingError(
            f"expected one or two columns of texts: --text NAME (in Python: text=...); found {len(text_columns)}"
        )
    wanted = [*text_columns, label_column]
    if not isinstance(data, DataTable) and find_format(data) == "tsv":
        rows, left_out = read_glue_columns(list_files(os.fspath(data)), wanted, label=True, header=header)
    elif not header:
        raise SettingError(
            f"{name_texts(data)}: only TSV files can be without a header, as GLUE's CoLA; leave out --no-header (in "
            "Python: header)"
        )
    else:
        rows, left_out = _read_by_duckdb(data, wanted), 0
    name = name_texts(data) if isinstance(data, DataTable) else "/".join(Path(data).parts[-2:])
    if not rows:
        raise SourceError(f"{name}: found no rows")
    return LabeledTexts(name, [row[:-1] for row in rows], [row[-1] for row in rows], left_out)


def read_sentence_polarity(source: str | os.PathLike[str] = POLARITY) -> tuple[LabeledTexts, LabeledTexts]:
    """Return NLTK's corpus of 10,662 sentences, split into training rows and test rows; the split never changes.

    source: the path of sentence_polarity.zip, or the name of the corpus if NLTK has installed it. SourceError if it
    cannot be read.
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
                raise SourceError(f"{path.name}: expected NLTK's {POLARITY}, but {name} is missing")
            content = archive.read(member)
    except (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error):
        raise SourceError(f"{path}: expected NLTK's {POLARITY}.zip, found no readable zip archive") from None
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
            f"(or give the path of {POLARITY}.zip)"
        )
    raise SourceError(f"{source} does not exist; expected {POLARITY} or the path of {POLARITY}.zip")


def _read_by_duckdb(data: str | os.PathLike[str] | DataTable, wanted: Sequence[str]) -> list[tuple[str, ...]]:
    with open_texts(data) as opened:
        source = opened.source
        if source.format == "text":
            raise SourceError(f"{source.name}: plain text has no labels; expected a file with columns")
        columns = ", ".join(f"CAST({quote_name(source.find_column(name, wanted))} AS VARCHAR)" for name in wanted)
        with safe_errors(names=source.list_names(wanted)):
            rows = fetch(opened.connection, f"SELECT {columns} FROM {source.reader}")
    for number, row in enumerate(rows):
        if None in row:
            missing = wanted[row.index(None)]
            raise SourceError(f"{source.name}, row {number + 1}: expected a value in column {missing!r}, found none")
    return rows
