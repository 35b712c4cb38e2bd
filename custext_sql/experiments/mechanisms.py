"""What experiments test: a mechanism on the words of a mapping, at an eps, with a seed; and their progress."""

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from custext_sql.arrays import Flags, Numbers
from custext_sql.errors import MappingError, PrivacyWarning, SettingError
from custext_sql.experiments.baselines import Fbdd, RandomWords, SanText, SanTextPlus, WordSpace
from custext_sql.kinds import Kind
from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.certified_table import CertifiedTable, certify
from custext_sql.mechanism.randomness import WORDS, SeededRandomness
from custext_sql.mechanism.sampler import Sampler
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.parameters import check_at_least, suggest
from custext_sql.sanitizer.policy import Policy, choose_policy
from custext_sql.sanitizer.replacer import Mechanism, Replaced, Replacer, RowSettings
from custext_sql.sanitizer.traced_text import Piece, list_pieces
from custext_sql.sanitizer.words import FoundWords, Vocabulary
from custext_sql.store.database import Database, reading
from custext_sql.store.embeddings import read_embeddings, read_vectors
from custext_sql.store.mappings import find_mapping, read_mapping
from custext_sql.store.stopwords import SHIPPED_LANGUAGE, read_stopwords
from custext_sql.text.columns import TextColumn, open_column

CUSTEXT, CUSTEXT_PLUS, ORIGINAL, RANDOM = "custext", "custext+", "original", "random"
_DISTANCE_BASED: dict[str, type[SanText] | type[Fbdd]] = {"santext": SanText, "santext+": SanTextPlus, "fbdd": Fbdd}
_WITH_GROUPS, _WITHOUT_EPSILON = (CUSTEXT, CUSTEXT_PLUS), (RANDOM, ORIGINAL)
MECHANISMS = (*_WITH_GROUPS, *_DISTANCE_BASED, *_WITHOUT_EPSILON)

ShareDone = Callable[[float], None]  # takes the share of the work done, 0 to 1


def part_of(progress: ShareDone | None, number: int, count: int) -> ShareDone:
    """Return a function that reports the progress of one of several equal parts of some work."""
    return lambda share: None if progress is None else progress((number + share) / count)


def cut(sizes: Numbers, most: int) -> Iterator[slice]:
    """Yield slices of consecutive sizes that add up to at most `most`; a larger size is a slice of its own."""
    ends, start = np.append(0, np.cumsum(sizes)), 0
    while start < len(sizes):
        stop = max(start + 1, int(ends.searchsorted(ends[start] + most, "right")) - 1)
        yield slice(start, stop)
        start = stop


def open_draws(seed: int) -> SeededRandomness:
    """Return the draws of an experiment, which releases nothing and so needs no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return SeededRandomness(seed)


def count_in_clear(found: FoundWords, policy: Policy) -> int:
    """Return how many of these words stay in the clear under a policy. Words that draw themselves do not count."""
    kept = [Kind.STOPWORD, Kind.ENDING, Kind.KEPT]
    kept += [Kind.UNKNOWN] * (policy.unknown == "keep") + [Kind.NUMBER] * (policy.numbers == "keep")
    return int(np.bincount(found.kinds, minlength=len(Kind))[kept].sum())


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
            if not isinstance(mapping, Mapping):
                mapping = read_mapping(connection, find_mapping(connection, mapping))
            self.mapping = mapping
            self.stopwords = read_stopwords(connection, SHIPPED_LANGUAGE)
        self.policy, self.calibration = choose_policy(policy), calibration
        self.vocabulary = Vocabulary(self.mapping, self.stopwords, self.policy.keep_words)
        self._database, self._converted = database, converted
        self._certified: tuple[tuple[float, str], CertifiedTable] | None = None
        self._opened: dict[str, Replacer] = {}

    def find_undrawn(self, *, plus: bool) -> Flags:
        """Return which words of the mapping are kept, or masked because they are alone, instead of being drawn for."""
        numbers = np.arange(self.vocabulary.size, dtype=np.int32)
        return ~Kind.REPLACED.find_in(self.vocabulary.find_kinds(numbers, plus))

    @cached_property
    def space(self) -> WordSpace:
        """The vectors of the mapping's words. MappingError if they are no longer stored."""
        info, places = self.mapping.info, self.mapping.ranks
        with reading(self._database) as connection:
            embedding = next((one for one in read_embeddings(connection) if one.name == info.embedding), None)
            if embedding is None or embedding.sha256 != info.embedding_sha256 or embedding.size <= places.max():
                raise MappingError(
                    f"this needs the vectors from which mapping {info.name} was built, but embedding "
                    f"{info.embedding!r} was dropped or replaced; load the vectors again: custext load FILE --name "
                    f"{info.embedding} --replace"
                )
            space = WordSpace(read_vectors(connection, embedding, places), places)
        if not np.isfinite(space.half_squares).all():
            raise MappingError(f"embedding {embedding.name}: its vectors are too large for 32-bit arithmetic")
        return space

    def certify(self, epsilon: float, calibration: str | None = None) -> CertifiedTable:
        """Return the verified tables at an eps above 0. calibration: by default that under test.

        The latest tables are kept, since several figures are often computed from the same ones.
        """
        setting = epsilon, calibration or self.calibration
        if self._certified is None or self._certified[0] != setting:
            self._certified = setting, certify(self.mapping.sizes, self.mapping.scores, *setting)
        return self._certified[1]

    def open(self, name: str) -> Replacer:
        """Return what replaces words by the mechanism of that name.

        SettingError if it does not exist; MappingError if it needs vectors that are no longer stored.
        """
        if name not in MECHANISMS:
            raise SettingError(f"mechanism {name!r} does not exist; {suggest(name, MECHANISMS, 'mechanisms')}")
        if name not in self._opened:
            self._opened[name] = Replacer(self.vocabulary, self._make(name), self.policy)
        return self._opened[name]

    def _make(self, name: str) -> Mechanism:
        if name in _WITH_GROUPS:
            return Sampler(self.mapping, self.calibration)
        if name in _WITHOUT_EPSILON:
            return RandomWords(len(self.mapping.words))
        unit = self.space.largest_distance if self._converted else 1.0
        if unit == 0.0:
            raise MappingError(
                f"the vectors of mapping {self.mapping.info.name} are all equal, so {name} cannot tell words apart"
            )
        return _DISTANCE_BASED[name](self.space, unit)


@dataclass(frozen=True)
class Trial:
    """One run of the mechanism of that name on the words of a mapping, at an eps (None if it needs none), with a seed.

    So an experiment can be repeated. Its texts are for measuring, never for release.
    """

    under_test: MappingUnderTest
    name: str
    epsilon: float | None = None
    seed: int = 0

    @property
    def replacer(self) -> Replacer:
        """What replaces words."""
        return self.under_test.open(self.name)

    @property
    def plus(self) -> bool:
        """Whether stopwords are kept."""
        return self.name == CUSTEXT_PLUS

    @property
    def uses_groups(self) -> bool:
        """Whether the mechanism draws within the groups of the mapping."""
        return self.name in _WITH_GROUPS

    def sanitize(self, texts: Sequence[str]) -> list[str]:
        """Return the sanitized texts."""
        if self.name == ORIGINAL:
            return list(texts)
        replaced = self._replace(texts)
        written: list[str] = TextColumn(replaced.text, replaced.offsets).to_arrow().to_pylist()
        return written

    def compare(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Return the pieces of each text, before and after, for any mechanism but `original`, which changes none."""
        return list_pieces(self._replace(texts))

    def find_words(self, column: TextColumn) -> FoundWords:
        """Return the words of some texts, read as the policy says."""
        return self.replacer.find_words(*self.replacer.open_text(column.text, column.offsets), plus=self.plus)

    def find_share_in_clear(self, texts: Sequence[str]) -> float:
        """Return the share of words that are kept, and so stay in the clear. Words that draw themselves do not count.

        Nothing is drawn, except which words SANTEXT+ keeps.
        """
        if self.name == ORIGINAL:
            return 1.0
        found, mechanism = self.find_words(open_column(list(texts))[0]), self.replacer.mechanism
        kept = count_in_clear(found, self.under_test.policy)
        if isinstance(mechanism, SanTextPlus):
            places = found.at(Kind.REPLACED)
            draws = open_draws(self.seed).draw(places, found.find_firsts, WORDS)
            kept += int(mechanism.find_kept(found.numbers[places].astype(np.int64), draws).sum())
        return kept / max(len(found.kinds), 1)

    def describe(self) -> dict[str, Any]:
        """Return what results say of the trial, under the names of their fields. None: what it does not depend on."""
        info = self.under_test.mapping.info
        return {
            "mechanism": self.name,
            "embedding": None if self.name == ORIGINAL else info.embedding,
            "mapping": info.name if self.uses_groups else None,
            "k": info.k if self.uses_groups else None,
            "eps": self.epsilon,
        }

    def _replace(self, texts: Sequence[str]) -> Replaced:
        column, epsilon = open_column(list(texts))[0], 1.0 if self.epsilon is None else self.epsilon
        settings = RowSettings(epsilon, self.plus)
        return self.replacer.replace_words(column.text, column.offsets, open_draws(self.seed), settings)


def list_trials(
    mappings: Sequence[MappingUnderTest], mechanisms: Sequence[str], epsilons: Sequence[float], seeds: int
) -> list[Trial]:
    """Return all trials of a table. A trial that is the same for several eps or mappings is listed once.

    Errors about mechanisms, eps and missing vectors come from here, before hours of work.
    """
    if not mechanisms:
        raise SettingError("name at least one mechanism, such as custext")
    check_at_least(seeds, 1, "seeds")
    trials = []
    for name in mechanisms:
        grid: list[float | None] = [None]
        if name not in _WITHOUT_EPSILON:
            grid = [epsilon for epsilon in epsilons if epsilon or name in _WITH_GROUPS]
        distinct: dict[Hashable, MappingUnderTest] = {}
        for under_test in mappings[: 1 if name == ORIGINAL else None]:
            words = under_test.mapping.info.embedding, frozenset(under_test.mapping.words)
            distinct.setdefault(under_test if name in _WITH_GROUPS else words, under_test)
        for under_test in distinct.values():
            under_test.open(name)
            runs = range(1 if name == ORIGINAL else seeds)
            trials += [Trial(under_test, name, epsilon, seed) for epsilon in grid for seed in runs]
        if not grid:
            raise SettingError(f"eps = 0 is for {CUSTEXT} and {CUSTEXT_PLUS} only; give {name} another eps, such as 1")
    return trials


def list_epsilons(eps: float | Sequence[float]) -> list[float]:
    """Return one eps or several as a list without duplicates. SettingError if it is empty, or an eps is invalid."""
    given: Any = eps if isinstance(eps, Iterable) and not isinstance(eps, (str, bytes)) else [eps]
    found = list(dict.fromkeys(map(check_epsilon, given)))
    if not found:
        raise SettingError("name at least one eps, such as 1.0")
    return found


def list_strings(strings: str | Sequence[str], parameter: str) -> list[str]:
    """Return one string or several as a list; SettingError, which names the parameter, if there is anything else."""
    found = list(strings) if isinstance(strings, Iterable) and not isinstance(strings, str) else [strings]
    for one in found:
        if not isinstance(one, str):
            raise SettingError(f"{parameter} must be a string or a sequence of strings; found {type(one).__name__}")
    return found
