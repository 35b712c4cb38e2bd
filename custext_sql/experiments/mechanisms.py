"""Mechanisms under test: every mechanism as experiments run it, on the words of a mapping."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from custext_sql.arrays import Draws, Flags, Floats, Numbers
from custext_sql.errors import MappingError, PrivacyWarning, SettingError
from custext_sql.experiments.baselines.fbdd import Fbdd
from custext_sql.experiments.baselines.santext import SanText, SanTextPlus
from custext_sql.experiments.baselines.word_space import WordSpace
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import CertifiedTable, certify
from custext_sql.mechanism.randomness import SeededRandomness
from custext_sql.mechanism.sampler import Sampler
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.parameters import count_of, suggest
from custext_sql.replacing.kinds import Kind
from custext_sql.replacing.policy import Policy, choose_policy
from custext_sql.replacing.replacer import Mechanism, Piece, Replaced, Replacer
from custext_sql.replacing.row_settings import RowSettings
from custext_sql.replacing.vocabulary import Vocabulary
from custext_sql.store.database import Database, reading
from custext_sql.store.rows.embeddings import read_embeddings, read_entries, read_vectors
from custext_sql.store.rows.mappings import find_mapping, read_mapping
from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE, read_stopwords
from custext_sql.text.columns import open_column

CUSTEXT, CUSTEXT_PLUS, ORIGINAL, RANDOM = "custext", "custext+", "original", "random"
MECHANISMS = (CUSTEXT, CUSTEXT_PLUS, "santext", "santext+", "fbdd", RANDOM, ORIGINAL)
NEED_NO_EPSILON = (RANDOM, ORIGINAL)  # they depend neither on eps nor on the groups
DISTANCE_BASED = ("santext", "santext+", "fbdd")  # their protection weakens with the distance between words


@dataclass(frozen=True)
class MechanismUnderTest:
    """A mechanism with everything it needs.

    Its draws come from a seed, so that an experiment can be repeated. Its texts are for measuring, never for release.
    """

    name: str
    replacer: Replacer | None  # None: texts stay unchanged
    plus: bool

    def sanitize(self, texts: Sequence[str], epsilon: float, seed: int) -> list[str]:
        """Return the sanitized texts."""
        if self.replacer is None:
            return list(texts)
        replaced = self._replace(self.replacer, texts, epsilon, seed)
        written, cuts = replaced.text.tobytes(), replaced.offsets.tolist()
        return [written[start:end].decode() for start, end in pairwise(cuts)]

    def compare(self, texts: Sequence[str], epsilon: float, seed: int) -> list[list[Piece]]:
        """Return the pieces of each text, before and after. SettingError for `original`, which changes nothing."""
        if self.replacer is None:
            raise SettingError(f"the mechanism {self.name} changes nothing, so there is nothing to compare")
        return self._replace(self.replacer, texts, epsilon, seed).compare()

    def find_share_in_clear(self, texts: Sequence[str], seed: int) -> float:
        """Return the share of words that are kept, and so stay in the clear. Words that draw themselves do not count.

        Nothing is drawn, except which words SANTEXT+ keeps.
        """
        if self.replacer is None:
            return 1.0
        lottery = _Lottery(self.replacer.mechanism)
        replaced = self._replace(replace(self.replacer, mechanism=lottery), texts, 1.0, seed)
        return (int(replaced.kept.sum()) + lottery.kept) / max(len(replaced.words.kinds), 1)

    def _replace(self, replacer: Replacer, texts: Sequence[str], epsilon: float, seed: int) -> Replaced:
        column = open_column(list(texts))[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            randomness = SeededRandomness(seed)
        settings = RowSettings(check_epsilon(epsilon), self.plus)
        if settings.epsilon == 0.0 and self.name not in (CUSTEXT, CUSTEXT_PLUS):
            raise SettingError(f"eps = 0 is for {CUSTEXT} and {CUSTEXT_PLUS} only; found mechanism {self.name}")
        return replacer.replace_words(column.text, column.offsets, randomness, settings)


class RandomWords:
    """Draws any word of the vocabulary with equal probability, regardless of eps: the lower bound on utility."""

    def __init__(self, size: int) -> None:
        self._size = size

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the replacement of each word."""
        return (draws % np.uint64(self._size)).astype(np.int64)


class _Lottery:
    """Stands in for a mechanism: replaces nothing, and counts the words that the mechanism keeps by chance."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self.kept = 0

    def sample(self, words: Numbers, epsilon: float | Floats, draws: Draws) -> Numbers:
        """Return the words themselves."""
        if isinstance(self._mechanism, SanTextPlus):
            self.kept += int(self._mechanism.find_kept(words, draws).sum())
        return words


class MappingUnderTest:
    """A mapping with everything that mechanisms on its words need. Vectors are read when first needed.

    mapping: the name of a stored one, or a mapping in memory; by default the default one. converted: whether eps is
    divided by the largest distance between two words for the mechanisms whose protection depends on the distance. The
    paper does so to compare them with CusText.
    """

    def __init__(
        self,
        database: Database = None,
        *,
        mapping: str | Mapping | None = None,
        policy: str | Policy = "paper",
        calibration: str = "paper",
        converted: bool = True,
    ) -> None:
        with reading(database) as connection:
            if isinstance(mapping, Mapping):
                self.mapping = mapping
            else:
                self.mapping = read_mapping(connection, find_mapping(connection, mapping))
            self.stopwords = read_stopwords(connection, SHIPPED_LANGUAGE)
        self.policy = choose_policy(policy)
        self.vocabulary = Vocabulary(self.mapping, self.stopwords, self.policy.keep_words)
        self.calibration = calibration
        self.converted = converted
        self._database = database
        self._certified: tuple[tuple[float, str], CertifiedTable] | None = None

    def find_undrawn(self, *, plus: bool) -> Flags:
        """Return which words of the mapping are kept, or masked because they are alone, instead of being drawn for."""
        numbers = np.arange(self.vocabulary.size, dtype=np.int32)
        return ~Kind.SAMPLED.find_in(self.vocabulary.find_kinds(numbers, plus))

    def mixes_kept(self, *, plus: bool) -> bool:
        """Return whether some group has both words that are replaced and words that are kept."""
        sizes = self.mapping.sizes
        undrawn = np.add.reduceat(self.find_undrawn(plus=plus).astype(np.int64), np.cumsum(sizes) - sizes)
        return bool(((undrawn > 0) & (undrawn < sizes)).any())

    @cached_property
    def space(self) -> WordSpace:
        """The vectors of the mapping's words. MappingError if they are no longer stored."""
        return read_space(self._database, self.mapping)

    def certify(self, epsilon: float, calibration: str | None = None) -> CertifiedTable:
        """Return the verified tables at an eps above 0. calibration: by default that under test.

        The latest tables are kept, since several figures are often computed from the same ones.
        """
        setting = epsilon, calibration or self.calibration
        if self._certified is None or self._certified[0] != setting:
            self._certified = setting, certify(self.mapping.sizes, self.mapping.scores, *setting)
        return self._certified[1]

    def find_space(self) -> WordSpace | None:
        """Return the vectors, or None if they are no longer stored."""
        try:
            return self.space
        except MappingError:
            return None

    def open(self, name: str) -> MechanismUnderTest:
        """Return the mechanism of that name, ready to run. SettingError if it does not exist."""
        check_mechanism(name)
        if name == ORIGINAL:
            return MechanismUnderTest(name, None, False)
        return MechanismUnderTest(name, Replacer(self.vocabulary, self._make(name), self.policy), name == CUSTEXT_PLUS)

    def _make(self, name: str) -> Mechanism:
        if name in (CUSTEXT, CUSTEXT_PLUS):
            return Sampler(self.mapping, self.calibration)
        if name == RANDOM:
            return RandomWords(len(self.mapping.words))
        unit = self.space.largest_distance if self.converted else 1.0
        if unit == 0.0:
            raise MappingError(
                f"the vectors of mapping {self.mapping.info.name} are all equal, so {name} cannot tell words apart"
            )
        kinds: dict[str, type[SanText] | type[SanTextPlus] | type[Fbdd]] = {
            "santext": SanText,
            "santext+": SanTextPlus,
            "fbdd": Fbdd,
        }
        return kinds[name](self.space, unit)


def check_mechanism(name: str) -> str:
    """Return the name of a mechanism; SettingError if the mechanism does not exist."""
    if name not in MECHANISMS:
        raise SettingError(f"mechanism {name!r} does not exist; {suggest(name, MECHANISMS, 'mechanisms')}")
    return name


def read_space(database: Database, mapping: Mapping) -> WordSpace:
    """Return the vectors that a mapping was built from. MappingError if they are no longer stored."""
    info = mapping.info
    with reading(database) as connection:
        known = {embedding.name: embedding for embedding in read_embeddings(connection)}
        embedding = known.get(info.embedding)
        if embedding is None or embedding.sha256 != info.embedding_sha256:
            raise MappingError(
                f"this needs the vectors from which mapping {info.name} was built, but embedding {info.embedding!r} "
                f"was dropped or replaced; load the vectors again: custext load FILE --name {info.embedding} --replace"
            )
        place = {entry: position for position, entry in enumerate(read_entries(connection, embedding))}
        if missing := [word for word in mapping.words if word not in place]:
            raise MappingError(
                f"embedding {embedding.name} has no vector for {count_of(len(missing), 'word')} of mapping {info.name}"
            )
        positions = np.array([place[word] for word in mapping.words], dtype=np.int64)
        space = WordSpace(read_vectors(connection, embedding, positions), positions)
    if not np.isfinite(space.half_squares).all():
        raise MappingError(f"embedding {embedding.name}: its vectors are too large for 32-bit arithmetic")
    return space
