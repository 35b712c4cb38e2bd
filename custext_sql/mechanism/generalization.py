"""Generalization, the mechanism at eps = 0: every replaced word of a group becomes the same word of that group.

No random number is used. The output is a function of the group alone, so it reveals nothing else.
"""

import numpy as np

from custext_sql.arrays import Flags, Places
from custext_sql.errors import CertificateError
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.verifier import verify_constant


def find_representatives(mapping: Mapping, drawn: Flags | None = None) -> Places:
    """Return for each word of a mapping the representative of its group, by number.

    It is the most frequent word of the group that is drawn: the first in the vector file. drawn: which words are drawn
    at all; None if all are. In a group without such words, it is the most frequent of all. The result is verified;
    raise CertificateError if two words of a group that are drawn have different representatives.
    """
    inputs = np.ones(len(mapping.words), dtype=bool) if drawn is None else drawn
    group_of = np.repeat(np.arange(len(mapping.sizes)), mapping.sizes)
    first = np.lexsort((mapping.ranks, ~inputs, group_of))[mapping.word_starts]
    representatives = first[group_of]
    verdict = verify_constant(mapping.sizes, representatives, inputs)
    if not verdict.holds.all():
        raise CertificateError(int(np.argmin(verdict.holds)), 0.0)
    return representatives
