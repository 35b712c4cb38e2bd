"""Keys of the first format find words by the first rules."""

import random
import unicodedata
from dataclasses import replace
from hashlib import sha256

import pytest

from custext_sql import Sanitizer
from custext_sql.replacing.policy import POLICIES
from custext_sql.sanitizing.settings import Settings
from tests.small_mapping import small_mapping
from tests.text.test_symbols import HEART, STOPWORDS, WORDS, keyed


def old_texts() -> list[str]:
    chooser = random.Random(13)
    pool = [
        *WORDS,
        *(unicodedata.normalize("NFD", word) for word in WORDS),
        *("fish", "flat", "ﬂat", "the", "déjà", "ＤＲＵＧ", "Drug’s", "'s", "’", "'", " ", " ", " ", "\n"),
        *("1234", "٣٤", "①", "½", HEART),
        *("\u200b", "\u00ad", "\ufe0f", "\U000e0041", "\ue000", "\x01", "İ", "ΟΔΟΣ", "J\u030c", "\u0301", "_", "zoe"),
    ]
    return ["".join(chooser.choices(pool, k=chooser.randrange(14))) for _ in range(400)]


@pytest.mark.parametrize(
    ("policy", "plus", "expected"),
    [
        ("paper", False, "695b4374d248bea4"),
        ("paper", True, "695b4374d248bea4"),
        ("strict", False, "8f0eecb5be634602"),
        ("strict", True, "a0ea815562ce8d57"),
    ],
)
def test_by_the_first_rules_keys_give_what_they_always_gave(policy: str, plus: bool, expected: str) -> None:
    """The expected outputs are from keys of the first format."""
    mapping = small_mapping([*WORDS, "ﬂat"], k=5)
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings.settle(policy=replace(POLICIES[policy], invisible="keep")))
    outputs = keyed(sanitizer, old_texts(), plus=plus, rules=1)
    assert sha256("\0".join(outputs).encode()).hexdigest()[:16] == expected
    assert keyed(sanitizer, old_texts(), plus=plus) != outputs
