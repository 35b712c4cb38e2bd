"""The mappings that `choose` compares: stored ones, or one for each K, which are made in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import duckdb

from custext_sql.arrays import Points
from custext_sql.errors import MappingError, SettingError
from custext_sql.experiments.mechanisms import ShareDone, list_once
from custext_sql.mapping.making import make_mapping
from custext_sql.mapping.mapping import Mapping, MappingInfo
from custext_sql.mapping.recipe import Recipe
from custext_sql.mapping.similarity import MEASURES
from custext_sql.parameters import check_whole
from custext_sql.store.building import name_new, read_words
from custext_sql.store.contents import load_mapping
from custext_sql.store.database import Database, reading
from custext_sql.store.embeddings import find_embedding, read_embeddings, read_vectors
from custext_sql.store.mappings import default_name, find_mapping, read_infos

SIZES = (20, 40, 80, 160)  # the K that are tried, besides that of the default mapping
_K = "--k (in Python: k)"
_ELSE = "name stored mappings instead: --mapping NAME (in Python: mappings=...)"


@dataclass(frozen=True)
class Contender:
    """A mapping to compare with others. stored: whether the database has it. open: reads it, or makes it in memory."""

    name: str
    k: int
    stored: bool
    open: Callable[[ShareDone], Mapping]


def list_contenders(
    database: Database, k: int | Sequence[int] | None, embedding: str | None, mappings: str | Sequence[str]
) -> list[Contender]:
    """Return the mappings to compare, by the arguments of `choose`; SettingError if they exclude each other."""
    if not mappings:
        return list_sizes(database, k, embedding)
    if k is not None or embedding is not None:
        other = "--k (in Python: k)" if k is not None else "--embedding (in Python: embedding)"
        raise SettingError(f"--mapping (in Python: mappings) names stored mappings; leave out {other}")
    return list_stored(database, mappings)


def list_stored(database: Database, names: str | Sequence[str]) -> list[Contender]:
    """Return stored mappings by their names; MappingError if one does not exist."""
    with reading(database) as connection:
        infos = [find_mapping(connection, name) for name in list_once(names, "mappings")]
    return [_store(database, info) for info in infos]


def list_sizes(database: Database, sizes: int | Sequence[int] | None, embedding: str | None) -> list[Contender]:
    """Return a mapping for each K, in ascending order: like the default one apart from K, and stored if there is one.

    sizes: several K, or one; by default SIZES and that of the default mapping, as far as there are enough words.
    embedding: the name of another embedding than that of the default mapping. SettingError if a K is not a whole
    number, or the default mapping was made with a function; CusTextError if its embedding is no longer stored.
    """
    given = None if sizes is None else _check_sizes(sizes)
    with reading(database) as connection:
        infos = read_infos(connection)
        recipe, own = _find_recipe(connection, infos, embedding)
        source, words = read_words(connection, recipe)
        recipe, first = words.settle(recipe), default_name(connection)
    fitting = [k for k in sorted({*SIZES, *own}) if k <= len(words.words)]
    if given and given[-1] > len(words.words):
        raise SettingError(f"{_K} must not exceed the number of words, {len(words.words):,}; found {given[-1]:,}")

    @cache
    def read() -> Points:  # once for all K
        with reading(database) as connection:
            return read_vectors(connection, source, words.positions)

    def make(recipe: Recipe, name: str, progress: ShareDone) -> Mapping:
        return make_mapping(words, read(), recipe, name, progress=lambda done, total: progress(done / total))

    found = []
    for k in given or fitting or [len(words.words)]:
        wanted = replace(recipe, k=k)
        same = [one for one in infos if (one.recipe, one.embedding_sha256) == (wanted, words.sha256)]
        same.sort(key=lambda info: info.name != first)
        name = name_new(wanted, infos)
        found.append(_store(database, same[0]) if same else Contender(name, k, False, partial(make, wanted, name)))
    return found


def _store(database: Database, info: MappingInfo) -> Contender:
    return Contender(info.name, info.k, True, lambda progress: load_mapping(database, info.name))


def _check_sizes(sizes: int | Sequence[int]) -> list[int]:
    given = list(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, (str, bytes)) else [sizes]
    found = sorted({check_whole(size, _K) for size in given})  # type: ignore[arg-type]
    if not found or found[0] < 2:
        wrong = found[0] if found else "none"
        raise SettingError(f"{_K} must be group sizes of at least 2, such as 20,40; found {wrong}")
    return found


def _find_recipe(
    connection: duckdb.DuckDBPyConnection, infos: Sequence[MappingInfo], embedding: str | None
) -> tuple[Recipe, list[int]]:
    """Return the recipe to vary, and the K of the default mapping if it was made with that recipe."""
    if embedding is not None:
        find_embedding(connection, embedding)
    if not infos and embedding is not None:
        return Recipe(embedding), []
    info = find_mapping(connection, None)
    if info.measure not in MEASURES:
        raise SettingError(
            f"mapping {info.name} was made with a similarity function, so no other K can be tried; {_ELSE}"
        )
    if embedding not in (None, info.embedding):
        return replace(info.recipe, embedding=str(embedding), word_limit=None), []
    digests = {one.name: one.sha256 for one in read_embeddings(connection)}
    if digests.get(info.embedding) != info.embedding_sha256:
        raise MappingError(
            f"trying several K needs the vectors from which mapping {info.name} was built, but embedding "
            f"{info.embedding!r} was dropped or replaced; load them again: custext load FILE --name {info.embedding} "
            f"--replace; or {_ELSE}"
        )
    return info.recipe, [info.k]
