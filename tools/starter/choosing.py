"""Chooses which words of GloVe 6B are carried into the space of the shipped vectors, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Flags, Floats, Places
from custext_sql.text.word_boundaries import are_words

# News agencies spell out how names are pronounced (kree-SHTAWF). The syllables are frequent, but they are not words.
# They lie close together: a short word this close to the mean direction of twelve of them is one of them.
SYLLABLES = ("kah", "zehs", "tihm", "ihb", "eeb", "zahk", "suhl", "grihs", "vihch", "shehk", "ruhv", "trohn")
SYLLABLE_COSINE = 0.6
SYLLABLE_LETTERS = 5

# Tags and codes of web pages and news agencies that are no words of any text.
REMNANTS = {
    "bgcolor",
    "colspan",
    "rowspan",
    "valign",
    "hellip",
    "writethru",
    "sluglines",
    "nsubheds",
    "unitals",
    "xfdws",
    "coxnet",
    "nytns",
    "nytsyn",
    "fdch",
    "worldsources",
    "mdnm",
    "mdul",
    "nvw",
    "tjh",
    "djp",
    "hkmiami",
    "isuzuki",
}


@dataclass(frozen=True)
class Choice:
    """The rows of the chosen words, most frequent first, and how many candidates were left out as syllables."""

    rows: Places
    syllables: int


def choose_words(words: Sequence[str], vectors: Floats, present: Sequence[str], count: int) -> Choice:
    """Return the first `count` words, in the order of the file, that are not present and pass the rules.

    A word has at least two letters, all from a to z, and the tokenizer returns it as one word. Syllables and REMNANTS
    are left out. vectors: one row per word.
    """
    known = {*REMNANTS, *present}
    single = are_words(words)
    candidates = np.array(
        [
            row
            for row, word in enumerate(words)
            if single[row] and len(word) > 1 and word.isascii() and word.isalpha() and word.islower()
            if word not in known
        ]
    )
    syllables = _find_syllables(words, vectors, candidates)
    rows = candidates[~syllables][:count]
    return Choice(rows, int(syllables[candidates <= rows[-1]].sum()))


def _find_syllables(words: Sequence[str], vectors: Floats, rows: Places) -> Flags:
    row_of = {word: row for row, word in enumerate(words)}
    mean = _directions(vectors[[row_of[syllable] for syllable in SYLLABLES]]).mean(axis=0)
    short = np.array([len(words[row]) <= SYLLABLE_LETTERS for row in rows])
    cosines: Floats = _directions(vectors[rows]) @ (mean / np.linalg.norm(mean))
    return short & (cosines >= SYLLABLE_COSINE)


def _directions(vectors: Floats) -> Floats:
    found: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found
