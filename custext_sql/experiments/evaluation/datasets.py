"""Labelled texts for experiments: GLUE's files as they are, others that DuckDB reads, NLTK's sentence polarity."""

import gzip
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from custext_sql.errors import SettingError, SourceError
from custext_sql.experiments.measurements import digest_texts
from custext_sql.release.data_files import Source, identifier, list_files, open_files, tell_format
from custext_sql.release.lines import open_text, read_lines
from custext_sql.release.releases import open_instance
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.text.columns import TextColumn, open_column

POLARITY = "sentence_polarity"
_TEST_EVERY = 5  # of the sentences of a class in NLTK's corpus, the last of each five is for testing


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts and their labels. texts: a row has one text, or two in tasks on pairs. left_out: lines of the file without
    all of its columns.
    """

    name: str
    texts: Sequence[tuple[str, ...]]
    labels: Sequence[str]
    left_out: int = 0

    @cached_property
    def digest(self) -> str:
        """sha256 over all texts and labels."""
        return digest_texts(
            field for texts, label in zip(self.texts, self.labels, strict=True) for field in (*texts, label)
        )


def read_labelled(path: str, text_columns: Sequence[str], label_column: str) -> LabelledTexts:
    """A file with a column of labels and one or two of texts.

    TSV files are taken as GLUE has them: a first line of names, tabs between fields, quotes meaning nothing.
    """
    if not 1 <= len(text_columns) <= 2:
        raise SettingError(f"a row has one text or two: --text NAME, once or twice; found {len(text_columns)}")
    wanted = [*text_columns, label_column]
    if tell_format(list_files(path)[0]) == "tsv":
        rows, left_out = _read_glue(path, wanted, label=True)
    else:
        rows, left_out = _read_by_duckdb(path, wanted), 0
    if not rows:
        raise SourceError(f"{path}: there are no rows")
    return LabelledTexts(
        "/".join(Path(path).parts[-2:]), [row[:-1] for row in rows], [row[-1] for row in rows], left_out
    )


def stream_texts(path: str, column: str | None, rows: int | None = None) -> Iterator[TextColumn]:
    """The texts of a column, or lines, some at a time; missing ones too. rows: not more than these, from the top."""
    files = list_files(path)
    found = tell_format(files[0])
    if (found == "text") != (column is None):
        raise SettingError(
            f"{path}: lines have no columns; leave --column out"
            if column is not None
            else f"{path}: name the column of the texts: --column NAME"
        )
    batches = _stream_lines(path, files) if column is None else _stream_column(path, files, found, column, rows)
    seen = 0
    for batch in batches:
        some = batch if rows is None else batch[slice(0, min(len(batch), rows - seen))]
        seen += len(some)
        yield some
        if rows is not None and seen >= rows:
            return


def read_texts(path: str, column: str | None, rows: int | None = None) -> list[str | None]:
    """The same as a list."""
    return [text for batch in stream_texts(path, column, rows) for text in batch.to_arrow().to_pylist()]


def _stream_lines(path: str, files: Sequence[Path]) -> Iterator[TextColumn]:
    for file in files:
        with open_text(file) as lines:
            yield from read_lines(lines, path)


def _stream_column(
    path: str, files: Sequence[Path], format: str | None, column: str, rows: int | None
) -> Iterator[TextColumn]:
    if format == "tsv":
        yield open_column([text for (text,) in _read_glue(path, [column])[0]])[0]
        return
    with open_instance() as connection:
        source = open_files(connection, path, files)
        name = identifier(source.find_text_column(column))
        limit = "" if rows is None else f" LIMIT {rows}"
        with safe_errors(names=source.list_names([column])):
            query = f"SELECT CAST({name} AS VARCHAR) FROM {source.reader}{limit}"
            reader = connection.sql(query).to_arrow_reader(1 << 16)
            for batch in reader:
                yield TextColumn.from_arrow(batch.column(0))


def read_sentence_polarity(source: str = POLARITY) -> tuple[LabelledTexts, LabelledTexts]:
    """NLTK's corpus of 10,662 sentences, for training and for testing; the split is always the same.

    source: the path of sentence_polarity.zip, or the corpus's name, under which NLTK finds it.
    """
    sentences = {label: _read_sentences(source, f"rt-polarity.{label}") for label in ("neg", "pos")}
    parts: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for label, texts in sentences.items():
        for number, text in enumerate(texts):
            parts[number % _TEST_EVERY == _TEST_EVERY - 1].append((text, label))
    train, test = (
        LabelledTexts(f"{POLARITY} ({name})", [(text,) for text, _ in part], [label for _, label in part])
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


def _read_glue(path: str, wanted: Sequence[str], *, label: bool = False) -> tuple[list[tuple[str, ...]], int]:
    """Columns of TSV files, and how many lines do not have them all. label: whether the last may not be empty."""
    rows: list[tuple[str, ...]] = []
    left_out = 0
    for file in list_files(path):
        lines = _read_lines(file)
        header = lines[0].split("\t")
        source = Source(file.name, "tsv", "", dict.fromkeys(header, "VARCHAR"))
        places = [header.index(source.find_column(name, wanted)) for name in wanted]
        for number, line in enumerate(lines[1:], start=2):
            fields = line.split("\t")
            if not line:
                continue
            if len(fields) <= max(places):
                left_out += 1
            elif label and not fields[places[-1]]:
                raise SourceError(f"{file.name}, line {number}: expected a label, found none")
            else:
                rows.append(tuple(fields[place] for place in places))
    return rows, left_out


def _read_lines(file: Path) -> list[str]:
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix.lower() == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error):
        raise SourceError(f"{file.name}: the file cannot be read") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{file.name}, line {line}: expected UTF-8, found other bytes") from None
    if not text.strip():
        raise SourceError(f"{file.name}: the file is empty")
    return [line.rstrip("\r") for line in text.split("\n")]


def _read_by_duckdb(path: str, wanted: Sequence[str]) -> list[tuple[str, ...]]:
    with open_instance() as connection:
        source = open_files(connection, path, list_files(path))
        if source.format == "text":
            raise SourceError(f"{path}: lines of text have no labels; expected a file with columns")
        columns = ", ".join(f"CAST({identifier(source.find_column(name, wanted))} AS VARCHAR)" for name in wanted)
        with safe_errors(names=source.list_names(wanted)):
            rows = fetch(connection, f"SELECT {columns} FROM {source.reader}")
    for number, row in enumerate(rows):
        if None in row:
            missing = wanted[row.index(None)]
            raise SourceError(f"{path}: row {number + 1} has no {missing}; every row needs its texts and its label")
    return rows
