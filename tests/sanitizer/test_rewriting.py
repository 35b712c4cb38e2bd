"""Words are replaced, everything else is unchanged byte for byte, and every text keeps its place."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.sanitizer import rewriting as rewriting_module
from custext_sql.sanitizer.replacer import Rewriting
from custext_sql.text.encoded_text import join_texts

# a text as pieces: the text between words, and words with their replacements (None: the word itself)
between = st.text("ä .", max_size=3)
words = st.tuples(st.text("wö", min_size=1, max_size=4), st.sampled_from([None, "", "é", "longer than before"]))
texts = st.tuples(st.lists(st.tuples(between, words), max_size=4), between)


@given(st.lists(texts, max_size=5), st.sampled_from([0, 1000]))
def test_only_words_change(rows: list[tuple[list[tuple[str, tuple[str, str | None]]], str]], few: int) -> None:
    old, new, replaced, written = [], [], [], []
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for pieces, rest in rows:
        before = after = ""
        for gap, (word, instead) in pieces:
            start = position + len((before + gap).encode())
            if instead is not None:
                replaced.append(len(starts))
                written.append(instead)
            starts.append(start)
            ends.append(start + len(word.encode()))
            before, after = before + gap + word, after + gap + (word if instead is None else instead)
        old.append(before + rest)
        new.append(after + rest)
        position += len(old[-1].encode())
    text, offsets = join_texts(old)
    rewriting = Rewriting(text, np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64))
    rewriting.add(*join_texts(["not", "used"]))
    first = rewriting.add(*join_texts(written))
    rewriting.replace(np.array(replaced, dtype=np.int64), first + np.arange(len(replaced)))
    with patch.object(rewriting_module, "_FEW", few):
        content, bounds, _ = rewriting.write(offsets)
    assert [content[start:end].tobytes().decode() for start, end in pairwise(bounds.tolist())] == new
    assert np.flatnonzero(~rewriting.find_kept()).tolist() == replaced
