"""A mapping of a few words, made without a database."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from custext_sql.mapping.grouping import partition_words
from custext_sql.mapping.mapping import Mapping, MappingInfo, digest_ranks, fingerprint
from custext_sql.mapping.similarity import MEASURES, score_groups


def small_mapping(words: Sequence[str], *, k: int, seed: int = 0) -> Mapping:
    """Return a mapping of words with random vectors, grouped by Euclidean distance."""
    vectors = np.random.default_rng(seed).normal(size=(len(words), 6)).astype(np.float32)
    similarity = MEASURES["euclidean"]
    partition = partition_words(vectors, similarity, k)
    ordered = tuple(words[index] for index in partition.members)
    scores = np.concatenate([matrix.reshape(-1) for matrix in score_groups(vectors, partition.groups(), similarity)])
    info = MappingInfo(
        name="small",
        embedding="random",
        embedding_sha256="",
        measure="euclidean",
        larger_is_closer=False,
        k=k,
        grouping="greedy",
        normalization="group",
        pivot_order="file",
        seed=None,
        stopword_language=None,
        word_limit=None,
        words=len(words),
        group_count=len(partition.sizes),
        left_out=0,
        fingerprint=fingerprint(ordered, partition.sizes, scores),
        ranks_sha256=digest_ranks(partition.members),
        created_at=datetime(2026, 1, 1),
    )
    return Mapping(info, ordered, partition.sizes, scores, partition.members)
