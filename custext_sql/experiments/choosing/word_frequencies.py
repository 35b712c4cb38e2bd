"""How frequent words are in the user's texts, counted once for all mappings of the same words."""

import os
from dataclasses import replace

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.experiments.attacks.priors import Prior, find_prior
from custext_sql.experiments.mechanisms import MappingUnderTest
from custext_sql.mapping.mapping import Mapping
from custext_sql.release.inputs.texts import Texts


class WordFrequencies:
    """The prior of each mapping: from a file of frequencies, or as counted in texts."""

    def __init__(self, prior: str | os.PathLike[str] | None, data: Texts | None, column: str | None) -> None:
        if prior is None and data is None:
            raise SettingError(
                "word frequencies are missing; name your texts, custext choose INPUT, or use --prior FILE (in Python: "
                "data=... or prior=...)"
            )
        self._prior, self._texts = prior, (data, column) if prior is None else (None, None)
        self._counted: tuple[Mapping, Prior] | None = None

    def find(self, under_test: MappingUnderTest) -> Prior:
        """Return the prior of a mapping. What was counted for another one is reused if it has the same words.

        With kept words, it is counted again: how many are replaced then also depends on who else is in a group.
        """
        mapping = under_test.mapping
        if self._counted is not None and not under_test.policy.keep_words:
            other, known = self._counted
            if len(other.words) == len(mapping.words) and all(word in other.index for word in mapping.words):
                order = np.array([other.index[word] for word in mapping.words])
                return replace(known, chances=known.chances[order])
        found = find_prior(under_test, self._prior, *self._texts)
        assert found is not None
        self._counted = mapping, found
        return found
