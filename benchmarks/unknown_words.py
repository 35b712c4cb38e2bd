"""Counts the words of two corpora that the shipped vectors lack: all words, and those of the first file alone."""

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

from custext_sql.kinds import Kind
from custext_sql.sanitizer.words import Vocabulary, find_words
from custext_sql.text.encoded_text import EncodedText, join_texts
from custext_sql.text.word_boundaries import are_words, fold_word
from custext_sql.vectors.starter import FIRST_WORDS, open_starter
from tests.small_mapping import small_mapping


def main() -> None:
    data = os.environ.get("CUSTEXT_DATA")
    if not data:
        print("\nunknown_words needs CUSTEXT_DATA, a folder with movie_reviews.zip and pii_presidio_synth.json")
        return
    corpora = {
        "movie_reviews": read_reviews(Path(data) / "movie_reviews.zip"),
        "pii_presidio_synth": read_synthetic(Path(data) / "pii_presidio_synth.json"),
    }
    with open_starter() as source:
        entries = [word for batch in source.batches for word in batch.words]
    print("\nunknown words, numbers not counted: distinct, and share of all words")
    for listed in (entries[:FIRST_WORDS], entries):
        words = [word for word, single in zip(listed, are_words(listed), strict=True) if single]
        vocabulary = Vocabulary(small_mapping(words, k=20), ())
        for name, texts in corpora.items():
            distinct, share = count_unknown(vocabulary, texts)
            print(f"  {len(words):>7,} words, {name:<18}  {distinct:>6,}  {share:6.2%}", flush=True)


def count_unknown(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[int, float]:
    """Return how many distinct words are unknown, and their share of all words of the texts."""
    content, offsets = join_texts(texts)
    found = find_words(EncodedText(content), offsets, vocabulary, plus=False)
    unknown = found.at(Kind.UNKNOWN)
    spans = zip(found.starts[unknown].tolist(), found.ends[unknown].tolist(), strict=True)
    distinct = {fold_word(content[start:end].tobytes().decode()) for start, end in spans}
    return len(distinct), len(unknown) / len(found.starts)


def read_reviews(archive: Path) -> list[str]:
    """Return the texts of NLTK's movie reviews."""
    with zipfile.ZipFile(archive) as opened:
        names = sorted(name for name in opened.namelist() if name.endswith(".txt") and "/cv" in name)
        return [opened.read(name).decode("latin-1") for name in names]


def read_synthetic(path: Path) -> list[str]:
    """Return the texts of the synthetic records with personal data."""
    return [record["full_text"] for record in json.loads(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    main()
