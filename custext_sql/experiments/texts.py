"""Texts that experiments read as a release reads its own: public ones, from which attackers learn, and labeled ones."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.files.inputs.encodings import renamed_errors
from custext_sql.files.inputs.source import choose_reader
from custext_sql.files.inputs.texts import (
    AnyPath,
    DataFiles,
    DataTable,
    Texts,
    has_columns,
    list_texts,
    name_texts,
    open_texts,
    stream_texts,
)
from custext_sql.parameters import count_of
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.quoting import quote_name
from custext_sql.text.columns import TextColumn

POLARITY = "sentence_polarity"
_ORDINARY_QUOTES = "if quotes are ordinary characters in this file, add --no-quotes (in Python: quotes=False)"
_TEST_EVERY = 5  # of every five sentences of a class in NLTK's corpus, the last is a test row

_OPTIONS = {  # what errors about public texts call what errors about a release's texts name
    **{f"--{name}": f"--public-{name}" for name in ("column", "format", "encoding", "no-quotes", "table")},
    "--data": "--public",
    "in Python: column": "in Python: public_column",
    "leave out column": "leave out public_column",
}


def stream_public(public: Texts, column: str | None) -> Iterator[TextColumn]:
    """Yield public texts in blocks, as `stream_texts` does for others."""
    with renamed_errors(_OPTIONS):
        yield from stream_texts(public, column)


def list_public(public: Texts, column: str | None) -> tuple[list[str], int]:
    """Return the public texts that are not empty, and the number of those that are."""
    with renamed_errors(_OPTIONS):
        texts = list_texts(public, column)
    found = [text for text in texts if text and text.strip()]
    return found, len(texts) - len(found)


def find_public_column(public: Texts, public_column: str | None, column: str | None) -> str | None:
    """Return the column of public texts: the given one, else that of the user's texts; None if they have no columns."""
    with renamed_errors(_OPTIONS):
        return public_column or (column if has_columns(public) else None)


def check_column_use(texts: Texts | None, column: str | None, *, public: bool) -> None:
    """Raise SettingError if a column is named, but no texts. public: whether it is the column of public texts."""
    if column is not None and texts is None:
        option = "--public-column (in Python: public_column)" if public else "--column (in Python: column)"
        raise SettingError(f"{option} names a column of texts, but no texts were given")


@dataclass(frozen=True, eq=False)
class LabeledTexts:
    """Texts and their labels, for training or testing.

    name: the name that results show.
    texts: a tuple per row, with one text, or with two for tasks on pairs.
    labels: a string per row: a class, or a number that says how similar the two texts are.
    skipped: the number of other rows, which have no text or no label.

    SettingError if there are no rows, the numbers of rows and labels differ, or something has the wrong type.
    """

    name: str
    texts: Sequence[tuple[str, ...]]
    labels: Sequence[str]
    skipped: int = 0

    def __post_init__(self) -> None:
        if not len(self.texts) or len(self.texts) != len(self.labels):
            raise SettingError(
                f"{self.name}: expected one label per row; found {count_of(len(self.labels), 'label')} for "
                f"{count_of(len(self.texts), 'row')}"
            )
        for row, (texts, label) in enumerate(zip(self.texts, self.labels, strict=True), start=1):
            where = f"{self.name}, row {row}"
            if not isinstance(texts, tuple) or {type(text) for text in texts} != {str} or len(texts) > 2:
                raise SettingError(f'{where}: expected a tuple of one or two texts, such as ("a text",)')
            if len(texts) != len(self.texts[0]):
                raise SettingError(f"{where}: expected as many texts as in row 1; found {len(texts)}")
            if not isinstance(label, str):
                raise SettingError(f"{where}: expected a string as the label; found {type(label).__name__}")

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


def read_labeled(data: AnyPath | DataFiles | DataTable, text_columns: Sequence[str], label_column: str) -> LabeledTexts:
    """Return the labeled texts of files or a table with a column of labels and one or two columns of texts.

    Rows without a text or a label are skipped and counted, also lines of CSV and TSV files without quoting that lack
    columns. SettingError if a column does not exist; SourceError if the data cannot be read or no row is left.
    """
    if not 1 <= len(text_columns) <= 2:
        raise SettingError(
            f"expected one or two columns of texts: --text NAME (in Python: text=...); found {len(text_columns)}"
        )
    wanted = [*text_columns, label_column]
    with _explained_header(), open_texts(data, padded=True) as opened:
        source = opened.source
        if source.format == "text":
            raise SourceError(f"{source.name}: plain text has no labels; expected a file with columns")
        columns = [source.find_text_column(name, wanted) for name in text_columns]
        columns += [source.find_column(label_column, wanted)]
        fields = ", ".join(f"CAST({quote_name(column)} AS VARCHAR)" for column in columns)
        with safe_errors(names=source.list_names(wanted)):
            reader = choose_reader(source, columns, None, source.format)
            rows = fetch(opened.connection, f"SELECT {fields} FROM {reader}")
    hint = f"; {_ORDINARY_QUOTES}" if source.format in ("csv", "tsv") and source.quotes else ""
    if source.format == "tsv" and source.quotes:
        for number, row in enumerate(rows, start=1):
            if any(_contains_rows(text or "", len(source.columns)) for text in row):
                raise SourceError(f"{source.name}, row {number}: a quoted text seems to contain whole lines{hint}")
    found = [row for row in rows if all(field and field.strip() for field in row)]
    if not found:
        raise SourceError(f"{source.name}: found no rows with a text and a label{hint if rows else ''}")
    path = data.path if isinstance(data, DataFiles) else data
    name = name_texts(path) if isinstance(path, DataTable) else "/".join(Path(path).parts[-2:])
    texts, labels = [row[:-1] for row in found], [row[-1] for row in found]
    return LabeledTexts(name, texts, labels, len(rows) - len(found))


@contextmanager
def _explained_header() -> Iterator[None]:
    """Add to errors about the first line of CSV and TSV files what to do if that line is a row."""
    try:
        yield
    except SourceError as error:
        if "first line" not in str(error):
            raise
        raise SourceError(
            f"{error}; if the first line is a row, as in GLUE's CoLA, number the columns: --no-header --text 4 --label "
            '2 (in Python: DataFiles(..., header=False), text="4", label="2")'
        ) from None


def _contains_rows(text: str, columns: int) -> bool:
    r"""Return whether a text has as many tabs and line ends as rows that stray quotes would join, such as 'a\t1\nb'."""
    return text.count("\t") == text.count("\n") * (columns - 1) > 0


def read_sentence_polarity(source: str | os.PathLike[str] = POLARITY) -> tuple[LabeledTexts, LabeledTexts]:
    """Return NLTK's corpus of 10,662 sentences, split into training rows and test rows; the split never changes.

    source: the path of sentence_polarity.zip, or the name of the corpus if NLTK has installed it. SourceError if it
    cannot be read.
    """
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for label in ("neg", "pos"):
        for number, text in enumerate(_read_sentences(os.fspath(source), f"rt-polarity.{label}"), start=1):
            parts["train" if number % _TEST_EVERY else "test"].append((text, label))
    train, test = (
        LabeledTexts(f"{POLARITY} ({name})", [(text,) for text, _ in part], [label for _, label in part])
        for name, part in parts.items()
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
