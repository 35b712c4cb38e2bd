"""In a million strings of arbitrary Unicode, no unknown word survives a mask.

Between words, nothing changes except that invisible characters are dropped. No word of the vocabulary has an
apostrophe, so every apostrophe is between words.
"""

import random
import re

import pytest

from custext_sql import Policy, Sanitizer
from custext_sql.sanitizer.settings import Settings
from custext_sql.text.word_boundaries import fold_word, normalize_words
from tests.small_mapping import small_mapping
from tests.text.test_symbols import character_class, without_invisible
from tests.text.test_word_boundaries import is_mark, is_word_character

STRINGS = 1_000_000
BATCH = 50_000
WORDS = ["alice", "bob", "carol", "dave", "naïve", "привет", "é", "42", "中文", "οδοσ", "ǆ"]
ENDINGS = {"s", "t", "re", "ve", "ll", "d", "m"}
SPECIAL = [
    *"'`\u00b4\u2018\u2019\uff07 _aA9.-\n\0\u0301\u200d\u00ad\ufe0f❤",
    *("nai\u0308ve", "ＢＯＢ", "²", *WORDS, "BOB", "É", "ПРИВЕТ", "1234", "Don\u2019t", "ΟΔΟΣ", "Ǆ", "İ", "ß", "'s"),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_million_strings(seed: int) -> None:
    generator = random.Random(seed)
    letters = character_class(lambda one: is_word_character(one) and not is_mark(one))
    part = re.compile(f"[{letters}][{letters}{character_class(is_mark)}]*")
    allowed = {*WORDS, *ENDINGS, "unk", "num"}
    sanitizer = Sanitizer(small_mapping(WORDS, k=4), frozenset(), Settings(policy=Policy(units="keep")))
    characters = [chr(code) for code in range(0x3000)] + [chr(generator.randrange(0x110000)) for _ in range(6000)]
    pool = [character for character in characters if character not in "<>" and not 0xD800 <= ord(character) < 0xE000]
    mixed = SPECIAL * 40 + pool
    for _ in range(STRINGS // 2 // BATCH):
        rows = ["".join(generator.choices(mixed, k=generator.randrange(14))) for _ in range(BATCH)]
        for row, after in zip(rows, sanitizer.sanitize_batch(rows, 1.0), strict=True):
            before = without_invisible(row)
            found = part.findall(after)
            survivors = [word for word in found if allowed.isdisjoint({fold_word(word), normalize_words(word)})]
            assert not survivors, (before, after)
            bare = after.replace("<unk>", "u").replace("<num>", "9")
            assert part.split(before) == part.split(bare), (before, after)
