"""Measures an attack that a key does not prevent: submitting texts under a record whose released text is known.

The group of every released word is public. The attacker submits each word of the group under that record, as often as
it may have occurred, and keeps the words for which an occurrence becomes the released word.
"""

import random
import tempfile
from pathlib import Path

from custext_sql import Sanitizer, make_key
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.replacer import Piece
from custext_sql.store.default_database import load_starter
from tests.benchmarks.sanitizing import STOPWORDS, read_corpora

TEXTS = 300


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        database, key = Path(name) / "custext.duckdb", Path(name) / "key"
        load_starter(database)
        print("\nan attacker submits every word of a group under a known record (eps = 1, stopwords kept)")
        make_key(key, database, eps=1.0, plus=True)
        sanitizer = Sanitizer.load(database, key_file=key)
        texts = random.Random(1).sample(read_corpora()[0], TEXTS)
        records = [f"body:{number}" for number in range(TEXTS)]
        left: list[int] = []
        for record, pieces in zip(records, sanitizer.compare(texts, records=records), strict=True):
            left += attack(sanitizer, record, [piece for piece in pieces if piece.kind == Kind.SAMPLED])
    single = left.count(1)
    print(f"  {single:,} of {len(left):,} replaced words identified ({single / len(left):.0%})")
    print(f"  {sum(left) / len(left):.1f} candidates left per word on average")


def attack(sanitizer: Sanitizer, record: str, drawn: list[Piece]) -> list[int]:
    """Return the number of candidates left for each replaced word of a record."""
    seen: list[frozenset[str]] = []
    left = []
    for piece in drawn:
        group = frozenset(sanitizer.distribution(piece.after)) - STOPWORDS
        seen.append(group)
        tried = sorted(group)
        texts = [" ".join([word] * seen.count(group)) for word in tried]
        answers = sanitizer.sanitize_batch(texts, records=[record] * len(texts))
        candidates = [word for word, answer in zip(tried, answers, strict=True) if piece.after in answer.split()]
        assert piece.before.lower() in candidates
        left.append(len(candidates))
    return left


if __name__ == "__main__":
    main()
