"""Vocabularies that sanitizers of one mapping share, however their policies and keys differ."""

from dataclasses import dataclass

from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.sampler import Sampler
from custext_sql.replacing.guarantee import Guarantees
from custext_sql.replacing.vocabulary import Vocabulary

_REMEMBERED = 4  # lists of words to keep


@dataclass(frozen=True, eq=False)
class SharedVocabulary:
    """A vocabulary, and what was verified for its words."""

    words: Vocabulary
    guarantees: Guarantees


class Vocabularies:
    """The vocabularies of a mapping and a stopword list. Each is made when it is first needed, and kept."""

    def __init__(self, mapping: Mapping, stopwords: frozenset[str], sampler: Sampler) -> None:
        self._mapping, self._stopwords, self._sampler = mapping, stopwords, sampler
        self._made: dict[frozenset[str], SharedVocabulary] = {}

    def find(self, keep_words: frozenset[str]) -> SharedVocabulary:
        """Return the vocabulary with these words to keep."""
        found = self._made.get(keep_words)
        if found is None:
            words = Vocabulary(self._mapping, self._stopwords, keep_words)
            found = SharedVocabulary(words, Guarantees(self._mapping, words, self._sampler))
            if len(self._made) >= _REMEMBERED:
                self._made.clear()
            self._made[keep_words] = found
        return found
