"""Which words of some texts are not in the vocabulary, for the owner of the texts: `find_leaks`."""

import os
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from custext_sql.arrays import Numbers
from custext_sql.errors import OutputError, SettingError
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.files.inputs.texts import Texts, name_texts, stream_rows
from custext_sql.files.opening import RowProgress
from custext_sql.files.preview.advice import LeakFacts, advise
from custext_sql.files.preview.word_counts import (
    LEAKED_KINDS,
    LISTED,
    OTHER_SCRIPT,
    SYMBOL,
    WordCounts,
    counting_words,
)
from custext_sql.kinds import IN_CLEAR, Counted, Fate, Kind, spread_counts
from custext_sql.parameters import check_at_least
from custext_sql.sanitizer.policy import UNIT_MASKS, Policy, name_policy
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.words import FoundWords, Vocabulary
from custext_sql.store.database import Database
from custext_sql.store.outputs import atomic_output, check_place
from custext_sql.text.characters import find_usual_scripts
from custext_sql.text.units import UNIT_TYPES


@dataclass(frozen=True)
class LeakedWord:
    """A word that is not in the vocabulary, in lower case.

    count: how often it occurs. share: of all words; None for a symbol, which is not a word.
    """

    word: str
    count: int
    share: float | None


@dataclass(frozen=True)
class LeakedKind:
    """Words of one kind that are not in the vocabulary.

    kind: "unknown", "other script" (an unknown word without a letter of the mapping's scripts), "number", the type of
        a unit ("email", "date", ...), "alone" (in the vocabulary, but masked, since no other word of its group would be
        replaced), or "symbol" (a character that is neither part of a word nor a space nor punctuation).
    becomes: what the policy makes of them: "in the clear", a mask such as "<unk>", "a random word" or "random digits".
    in_clear: whether they pass in the clear.
    count, distinct: how many there are, and how many different ones. share: of all words; None for symbols.
    words: the most frequent ones.
    """

    kind: str
    becomes: str
    in_clear: bool
    count: int
    distinct: int
    share: float | None
    words: tuple[LeakedWord, ...]

    @property
    def is_unit(self) -> bool:
        """Whether these are units of one type, such as e-mail addresses."""
        return self.kind in UNIT_TYPES


@dataclass(frozen=True)
class Leaks(Counted):
    """What a release of some texts would let through or mask, because it is not in the vocabulary.

    data, mapping, policy: their names. plus: whether stopwords are kept. rows: the number of texts.
    words: the number of all words. counts: those of them that are replaced, and those that are kept in the clear on
        purpose: replaced, stopwords, endings ('s, 't), and kept, because they are listed. These are attributes too.
    in_clear: the number of words that would pass in the clear, including kept ones.
    unchanged_at_eps_0: texts that would come out unchanged, apart from case, at eps = 0: they have words, each of which
        is kept or is the representative of its group. unchanged_at_any_eps: those of them whose words are all kept. At
        eps > 0, other texts may draw themselves; the receipt of a release counts all of them.
    kinds: the words that are not in the vocabulary, by kind; only kinds that occur.
    advice: what to do about it, as sentences.
    """

    data: str
    mapping: str
    policy: str
    plus: bool
    rows: int
    words: int
    counts: dict[str, int]
    in_clear: int
    unchanged_at_eps_0: int
    unchanged_at_any_eps: int
    kinds: tuple[LeakedKind, ...]
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return every field, ready for JSON."""
        return spread_counts(asdict(self))


def find_leaks(
    data: Texts,
    *,
    column: str | None = None,
    top: int | None = 10,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    database: Database = None,
    mapping: str | None = None,
    plus: bool | None = None,
    policy: str | Policy | None = None,
    language: str | None = None,
    key_file: str | os.PathLike[str] | None = None,
    progress: RowProgress | None = None,
) -> Leaks:
    """Return which words of some texts a release would let through or mask, because they are not in the vocabulary.

    data: a path, a DataTable, or a sequence of texts. column: their column; None for lines of text and for a sequence.
    top: how many words of each kind are returned, the most frequent ones; None: all. output: a CSV file for all words,
    which only its owner can read. force: replace an existing file. progress: called with the share read, 0 to 1, and
    the rows and words so far. The other settings are those of `Sanitizer.load`.

    The result and the file contain words of the texts, so they are for the owner of the texts only. Nothing is entered
    in the ledger or saved in the database. Memory is bounded, unless `top` is None.

    SettingError if a setting is invalid; SourceError if the texts cannot be read; OutputError if the file cannot be
    written; MappingError if the mapping does not exist.
    """
    if top is not None:
        check_at_least(top, 0, "top")
    target = None if output is None else _check_output(output, force=force)
    sanitizer = Sanitizer.load(
        database, mapping=mapping, plus=plus, policy=policy, language=language, key_file=key_file
    )
    rows, unchanged = 0, np.zeros(2, dtype=np.int64)
    treatments = sanitizer.policy.treatments
    keeps = [kind for kind, one in treatments.items() if one.fate.in_clear]
    with counting_words(find_usual_scripts(sanitizer.mapping.words)) as counts:
        with closing(stream_rows(data, column)) as blocks:
            for block in blocks:
                rows += len(block.texts)
                for text, found in sanitizer.find_words(block.texts):
                    counts.add(text, found)
                    unchanged += _count_unchanged(sanitizer.replacer.vocabulary, found, keeps)
                if progress is not None:
                    progress(block.share, rows, counts.words)
        fates = _find_fates(sanitizer.policy)
        kinds = tuple(kind for name in LEAKED_KINDS if (kind := _sum_up(counts, name, fates[name], top)).count)
        if target is not None:
            _write(counts, target, fates, force=force)
    usual = {
        kind: (one, int(counts.by_kind[kind]))
        for kind, one in treatments.items()
        if one.fate in (Fate.REPLACED, Fate.KEPT)
    }
    kept = sum(count for one, count in usual.values() if one.fate is Fate.KEPT)
    passing = sum(kind.count for kind in kinds if kind.in_clear and kind.kind != SYMBOL)
    facts = LeakFacts(counts.words, counts.words - kept, {kind.kind: kind.count for kind in kinds}, sanitizer.policy)
    return Leaks(
        data=name_texts(data),
        mapping=sanitizer.mapping.info.name,
        policy=name_policy(sanitizer.policy),
        plus=sanitizer.settings.plus,
        rows=rows,
        words=counts.words,
        counts={one.name: count for one, count in usual.values()},
        in_clear=kept + passing,
        unchanged_at_eps_0=int(unchanged[0]),
        unchanged_at_any_eps=int(unchanged[1]),
        kinds=kinds,
        advice=advise(facts),
    )


def _check_output(output: str | os.PathLike[str], *, force: bool) -> Path:
    if not isinstance(output, str | os.PathLike):
        raise SettingError(f"output must be a path; found {type(output).__name__}")
    target = Path(output)
    if tell_format(target) != "csv" or target.suffix.lower() != ".csv":
        raise OutputError(f"cannot write words to {target}; its name must end in .csv")
    check_place(target, force=force)
    return target


def _find_fates(policy: Policy) -> dict[str, str]:
    """Return what becomes of the words of each kind."""
    treatments = policy.treatments
    fates = {name: treatments[kind].becomes for kind, name in LISTED.items()}
    units = dict(zip(UNIT_TYPES, UNIT_MASKS, strict=True))
    return units | fates | {OTHER_SCRIPT: treatments[Kind.UNKNOWN].becomes, SYMBOL: IN_CLEAR}


def _count_unchanged(vocabulary: Vocabulary, found: FoundWords, keeps: list[Kind]) -> Numbers:
    """Return how many texts of a block would come out unchanged at eps = 0, and how many at any eps."""
    changes, replaced = ~np.isin(found.kinds, keeps), found.at(Kind.REPLACED)
    words, with_words = found.numbers[replaced].astype(np.int64), len(np.unique(found.rows))
    at_any_eps = with_words - len(np.unique(found.rows[changes]))
    changes[replaced] = vocabulary.generalize(words, found.plus) != words
    return np.array([with_words - len(np.unique(found.rows[changes])), at_any_eps])


def _sum_up(counts: WordCounts, kind: str, fate: str, top: int | None) -> LeakedKind:
    def share(count: int) -> float | None:
        return None if kind == SYMBOL else count / max(1, counts.words)

    count, distinct = counts.count(kind)
    words = tuple(LeakedWord(word, n, share(n)) for word, n in counts.list_most_frequent(kind, top)) if count else ()
    return LeakedKind(kind, fate, fate == IN_CLEAR, count, distinct, share(count), words)


def _write(counts: WordCounts, target: Path, fates: dict[str, str], *, force: bool) -> None:
    with atomic_output(target, force=force, private=True) as output:
        counts.write(output.path, fates)
        output.publish()
