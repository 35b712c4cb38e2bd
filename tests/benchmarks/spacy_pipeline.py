"""A spaCy pipeline with the component, against the same pipeline without it."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import spacy
from spacy.language import Language

from custext_sql.starter import load_starter
from tests.benchmarks.measuring import best_times
from tests.benchmarks.sanitizing import read_corpora


def main() -> None:
    _, texts = read_corpora()
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "custext.duckdb"
        load_starter(database)
        plain, annotating, replacing = (spacy.blank("en") for _ in range(3))
        annotating.add_pipe("custext", config={"database": str(database)})
        replacing.add_pipe("custext", config={"database": str(database), "output": "replace"})
        tokens = sum(map(len, plain.pipe(texts)))
        seconds = best_times(
            {
                "plain": lambda: exhaust(plain, texts),
                "annotating": lambda: sum(len(doc._.custext) for doc in annotating.pipe(texts)),
                "replacing": lambda: exhaust(replacing, texts),
            }
        )
    print(f"\nspaCy, {len(texts):,} reviews, {tokens / 1e6:.2f} million tokens, one process")
    print(f'  blank("en")                             {seconds["plain"]:6.2f} s')
    for title, key in (("reading doc._.custext of each", "annotating"), ('output = "replace"', "replacing")):
        print(f"  and custext, {title:29s}{seconds[key]:6.2f} s  {seconds[key] / seconds['plain']:.2f}x", flush=True)


def exhaust(nlp: Language, texts: Iterable[str]) -> None:
    for _ in nlp.pipe(texts):
        pass


if __name__ == "__main__":
    main()
