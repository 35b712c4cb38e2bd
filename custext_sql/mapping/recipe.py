"""The settings that define a mapping, checked before anything is read."""

from dataclasses import dataclass

from custext_sql.errors import SettingError
from custext_sql.parameters import check_name, check_whole

_LIMIT = "--limit (in Python: limit)"


@dataclass(frozen=True)
class Recipe:
    """The settings of a mapping. The same recipe and the same vectors give the same mapping.

    k: words per group. grouping: "greedy" for Algorithm 1 of the paper, or "refined" to improve its groups by swapping
    words. normalization: "group" or "word", the range over which scores are scaled. pivot_order: "file" for that of
    the source, or "random" with a seed. stopword_language: the language whose stopwords are grouped separately, if any.
    word_limit: how many entries of the embedding are used, counted from the first; None for all.
    """

    embedding: str
    k: int = 20
    grouping: str = "greedy"
    measure: str = "euclidean"
    larger_is_closer: bool = False
    normalization: str = "group"
    pivot_order: str = "file"
    seed: int | None = None
    stopword_language: str | None = None
    word_limit: int | None = None

    def __post_init__(self) -> None:
        for what, value, known in (
            ("normalization", self.normalization, ("group", "word")),
            ("--grouping (in Python: grouping)", self.grouping, ("greedy", "refined")),
            ("order", self.pivot_order, ("file", "random")),
        ):
            if value not in known:
                raise SettingError(f"{what} must be one of {', '.join(known)}; found {value!r}")
        for field, what in (("k", "k"), ("seed", "seed"), ("word_limit", _LIMIT)):
            if getattr(self, field) is not None or field == "k":
                object.__setattr__(self, field, check_whole(getattr(self, field), what))
        if self.pivot_order == "random" and self.seed is None:
            raise SettingError("order 'random' needs a seed: use --seed N (in Python: seed=...)")
        if self.pivot_order == "file" and self.seed is not None:
            raise SettingError("a seed requires order 'random': use --order random (in Python: order='random')")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise SettingError(f"seed must be a whole number from 0 to 2**63 - 1; found {self.seed}")
        if self.word_limit is not None and not 2 <= self.word_limit < 2**31:
            raise SettingError(f"{_LIMIT} must be a whole number from 2 to 2**31 - 1; found {self.word_limit}")

    def name_mapping(self, name: str | None) -> str:
        """Return the name of the mapping: the given one, or EMBEDDING-MEASURE-kK by default.

        Every other setting that is not the usual one is part of the default name, so that names differ if settings do:
        EMBEDDING-MEASURE-kK-refined-apart-first5000.
        """
        usual = Recipe(self.embedding)._spell_settings()
        spelled = [part for part, other in zip(self._spell_settings(), usual, strict=True) if part != other]
        return check_name(name or "-".join([self.embedding, self.measure, f"k{self.k}", *spelled]), "a mapping")

    def name_beside(self, other: "Recipe") -> str:
        """Return the default name if another mapping has the usual one, as the second shipped mapping does.

        It ends with the usual settings that the other mapping does not have, as in EMBEDDING-MEASURE-kK-all.
        """
        mine, usual = self._spell_settings(), Recipe(self.embedding)._spell_settings()
        kept = zip(mine, usual, other._spell_settings(), strict=True)
        spelled = [part for part, ordinary, theirs in kept if part == ordinary and part != theirs]
        return check_name("-".join([self.name_mapping(None), *spelled]), "a mapping")

    def _spell_settings(self) -> tuple[str, ...]:
        """Return the settings after k as parts of names."""
        apart = "apart" if self.stopword_language == "english" else f"apart-{self.stopword_language}"
        return (
            self.grouping,
            f"by-{self.normalization}",
            "ordered" if self.seed is None else f"seed{self.seed}",
            "together" if self.stopword_language is None else apart,
            "all" if self.word_limit is None else f"first{self.word_limit}",
        )
