"""Compares a spaCy pipeline with the component to the same pipeline without it."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import spacy
from spacy.language import Language

from benchmarks.measuring import best_time, best_times
from benchmarks.sanitizing import read_corpora
from custext_sql.store.building import load_starter

BLANK = 'blank("en")'


def main() -> None:
    _, texts = read_corpora()
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "custext.duckdb"
        load_starter(database)
        plain, annotating, replacing, carrying = (spacy.blank("en") for _ in range(4))
        annotating.add_pipe("custext", config={"database": str(database)})
        replacing.add_pipe("custext", config={"database": str(database), "output": "replace"})
        carrying.add_pipe("custext", config={"database": str(database), "output": "replace", "carry": ["tokens"]})
        works = {
            BLANK: lambda: exhaust(plain, texts),
            "with custext, reading every doc._.custext": lambda: sum(
                len(doc._.custext) for doc in annotating.pipe(texts)
            ),
            'with custext, output "replace"': lambda: exhaust(replacing, texts),
            'with custext, output "replace", carry "tokens"': lambda: exhaust(carrying, texts),
        }
        for nlp in (annotating, replacing, carrying):
            nlp("The doctor said so.")  # loads the tables
        first = {title: best_time(work, runs=1) for title, work in works.items()}
        later = best_times(works)
        tokens = sum(map(len, plain.pipe(texts)))
    print(f"\nspaCy, {len(texts):,} reviews, {tokens / 1e6:.2f} million tokens, one process")
    print(f"  {'':46s}  first pass       later passes (tokenizer cache filled)")
    for title in works:
        figures = (f"{times[title]:6.2f} s  {times[title] / times[BLANK]:.2f}x" for times in (first, later))
        print(f"  {title:46s}", "  ".join(figures), flush=True)


def exhaust(nlp: Language, texts: Iterable[str]) -> None:
    for _ in nlp.pipe(texts):
        pass


if __name__ == "__main__":
    main()
