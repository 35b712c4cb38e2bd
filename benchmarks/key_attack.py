"""Measures an attack that a key does not prevent: submitting guesses of a text under its record.

The attacker knows the released text, the record, and all words of the original but one. The group of that word is
public. The attacker submits the text with each word of the group in its place, and keeps the words for which the output
is the released text. Without the other words, there is nothing to submit: any other text draws independently.
"""

import random
import tempfile
from pathlib import Path

from benchmarks.sanitizing import STOPWORDS, read_corpora
from custext_sql import Sanitizer, make_key
from custext_sql.kinds import Kind
from custext_sql.sanitizer.traced_text import Piece
from custext_sql.store.building import load_starter

TEXTS = 300


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        database, key = Path(name) / "custext.duckdb", Path(name) / "key"
        load_starter(database)
        print("\nan attacker who knows a text but for one word submits guesses (eps = 1, stopwords kept)")
        make_key(key, database, eps=1.0, plus=True)
        sanitizer = Sanitizer.load(database, key_file=key)
        texts = random.Random(1).sample(read_corpora()[0], TEXTS)
        records = [f"body:{number}" for number in range(TEXTS)]
        left: list[int] = []
        for record, pieces in zip(records, sanitizer.compare(texts, records=records), strict=True):
            left += attack(sanitizer, record, pieces)
    single = left.count(1)
    print(f"  {single:,} of {len(left):,} replaced words identified ({single / len(left):.0%})")
    print(f"  {sum(left) / len(left):.1f} candidates left per word on average")


def attack(sanitizer: Sanitizer, record: str, pieces: list[Piece]) -> list[int]:
    """Return the number of candidates left for each replaced word of a text."""
    released = "".join(piece.after for piece in pieces)
    before = [piece.before for piece in pieces]
    left = []
    for place, piece in enumerate(pieces):
        if piece.kind == Kind.REPLACED:
            group = sorted(set(sanitizer.distribution(piece.after)) - STOPWORDS | {piece.before})
            guesses = ["".join([*before[:place], word, *before[place + 1 :]]) for word in group]
            answers = sanitizer.sanitize_batch(guesses, records=[record] * len(guesses))
            candidates = [word for word, answer in zip(group, answers, strict=True) if answer == released]
            assert piece.before in candidates
            left.append(len(candidates))
    return left


if __name__ == "__main__":
    main()
