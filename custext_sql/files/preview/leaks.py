"""Which words of some texts are not in the vocabulary, for the owner of the texts: `find_leaks`."""

import os
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from custext_sql.arrays import Bytes, Numbers, Places
from custext_sql.errors import OutputError
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.files.inputs.texts import Texts, name_texts, stream_rows
from custext_sql.files.opening import RowProgress
from custext_sql.kinds import IN_CLEAR, KINDS, Counted, Fate, Kind, spread_counts
from custext_sql.parameters import check_at_least, check_path
from custext_sql.sanitizer.policy import UNIT_MASKS, Policy, name_policy
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.words import FoundWords, Vocabulary
from custext_sql.sql.copy_options import choose_copy_options
from custext_sql.sql.queries import fetch
from custext_sql.sql.query_errors import safe_errors
from custext_sql.store.database import Database
from custext_sql.store.outputs import atomic_output, check_place
from custext_sql.store.quoting import quote_text
from custext_sql.text.characters import find_scripts, find_usual_scripts
from custext_sql.text.encoded_text import EncodedText, find_distinct, join_lines, split_lines
from custext_sql.text.units import UNIT_TYPES
from custext_sql.text.word_boundaries import find_symbols, fold_word

_LISTED = {  # kinds whose words are listed, and their names
    kind: kind.name.lower()
    for kind, entry in KINDS.items()
    if kind is not Kind.UNIT and entry.treatments[0].fate not in (Fate.REPLACED, Fate.KEPT)
}
_UNKNOWN, _OTHER_SCRIPT, _NUMBER, _SYMBOL = _LISTED[Kind.UNKNOWN], "other script", _LISTED[Kind.NUMBER], "symbol"
_LEAKED_KINDS = tuple(dict.fromkeys([_UNKNOWN, _OTHER_SCRIPT, _NUMBER, *UNIT_TYPES, *_LISTED.values(), _SYMBOL]))
_MOST_ROWS = 4_000_000  # rows of counts before those of equal words are added up
_LENGTHS = np.array([1] * 0xC0 + [2] * 0x20 + [3] * 0x10 + [4] * 0x10)  # bytes of a character, by its first byte
_ENOUGH_WORDS = 20  # to judge the language of texts
_MANY = 0.02  # of the words that are not kept: worth other vectors
_LOAD = "custext load FILE --name NAME, then: custext map --embedding NAME"


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
    with open_instance() as connection, safe_errors():
        counts = _WordCounts(connection, find_usual_scripts(sanitizer.mapping.words))
        with closing(stream_rows(data, column)) as blocks:
            for block in blocks:
                rows += len(block.texts)
                for text, found in sanitizer.find_words(block.texts):
                    counts.add(text, found)
                    unchanged += _count_unchanged(sanitizer.replacer.vocabulary, found, keeps)
                if progress is not None:
                    progress(block.share, rows, counts.words)
        counts.add_up()
        fates = _find_fates(sanitizer.policy)
        kinds = tuple(kind for name in _LEAKED_KINDS if (kind := counts.sum_up(name, fates[name], top)).count)
        if target is not None:
            with atomic_output(target, force=force, private=True) as written:
                counts.write(written.path, fates)
                written.publish()
    usual = {
        kind: (one, int(counts.by_kind[kind]))
        for kind, one in treatments.items()
        if one.fate in (Fate.REPLACED, Fate.KEPT)
    }
    kept = sum(count for one, count in usual.values() if one.fate is Fate.KEPT)
    passing = sum(kind.count for kind in kinds if kind.in_clear and kind.kind != _SYMBOL)
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
        advice=_advise(counts.words, counts.words - kept, {kind.kind: kind.count for kind in kinds}, sanitizer.policy),
    )


def _check_output(output: str | os.PathLike[str], *, force: bool) -> Path:
    check_path(output, "output")
    target = Path(output)
    if tell_format(target) != "csv" or target.suffix.lower() != ".csv":
        raise OutputError(f"cannot write words to {target}; its name must end in .csv")
    check_place(target, force=force)
    return target


def _find_fates(policy: Policy) -> dict[str, str]:
    """Return what becomes of the words of each kind."""
    fates = {name: policy.treatments[kind].becomes for kind, name in _LISTED.items()}
    units = dict(zip(UNIT_TYPES, UNIT_MASKS, strict=True))
    return units | fates | {_OTHER_SCRIPT: fates[_UNKNOWN], _SYMBOL: IN_CLEAR}


def _count_unchanged(vocabulary: Vocabulary, found: FoundWords, keeps: list[Kind]) -> Numbers:
    """Return how many texts of a block would come out unchanged at eps = 0, and how many at any eps."""
    changes, replaced = ~np.isin(found.kinds, keeps), found.at(Kind.REPLACED)
    words, with_words = found.numbers[replaced].astype(np.int64), len(np.unique(found.rows))
    at_any_eps = with_words - len(np.unique(found.rows[changes]))
    changes[replaced] = vocabulary.generalize(words, found.plus) != words
    return np.array([with_words - len(np.unique(found.rows[changes])), at_any_eps])


class _WordCounts:
    """Counts of words by kind, in folded form. Words are in a private instance of DuckDB, which spills if need be.

    scripts: the usual ones; an unknown word without a letter of these is of the kind _OTHER_SCRIPT.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, scripts: frozenset[str]) -> None:
        self._connection, self._scripts = connection, scripts
        self._rows = 0
        self.by_kind: Numbers = np.zeros(len(Kind), dtype=np.int64)
        connection.execute("CREATE TABLE counts (kind UTINYINT, word VARCHAR, n BIGINT)")

    @property
    def words(self) -> int:
        """The number of all words, whatever their kind."""
        return int(self.by_kind.sum())

    def add(self, text: EncodedText, found: FoundWords) -> None:
        """Count the words of a block."""
        self.by_kind += np.bincount(found.kinds, minlength=len(Kind))
        for kind, name in _LISTED.items():
            places = found.at(kind)
            self._add_spans(text.lowered, found.starts[places], found.ends[places], name, folds=True)
        if found.unit_types is not None:
            units = found.at(Kind.UNIT)
            for number in np.unique(found.unit_types).tolist():
                chosen = units[found.unit_types == number]
                self._add_spans(text.lowered, found.starts[chosen], found.ends[chosen], UNIT_TYPES[number])
        symbols = find_symbols(text, found.starts, found.ends)
        self._add_spans(text.content, symbols, symbols + _LENGTHS[text.content[symbols]], _SYMBOL)

    def _add_spans(self, content: Bytes, starts: Places, ends: Places, kind: str, *, folds: bool = False) -> None:
        if not len(starts):
            return
        spans = find_distinct(content, starts, ends)
        made, offsets, counts = spans.content, spans.offsets, np.bincount(spans.numbers)
        if folds and made.max(initial=0) >= 0x80:  # ASCII letters are in lower case already
            folded, offsets = split_lines(fold_word(join_lines(made, offsets[:-1], offsets[1:])))
            made = folded.content
        words = pa.LargeStringArray.from_buffers(len(counts), pa.py_buffer(offsets), pa.py_buffer(made))
        kinds = np.full(len(counts), _LEAKED_KINDS.index(kind), dtype=np.uint8)
        if kind == _UNKNOWN:
            kinds[self._find_foreign(words, made, offsets)] = _LEAKED_KINDS.index(_OTHER_SCRIPT)
        columns = [pa.array(kinds), words, pa.array(counts.astype(np.int64))]
        self._connection.from_arrow(pa.table(columns, names=["kind", "word", "n"])).insert_into("counts")
        self._rows += len(counts)
        if self._rows > _MOST_ROWS:
            self.add_up()
            self._connection.execute("ALTER TABLE totals RENAME TO counts")
            self._rows = 0

    def _find_foreign(self, words: pa.LargeStringArray, content: Bytes, offsets: Places) -> list[int]:
        """Return the places of words that have letters, but none of a usual script."""
        before = np.append(0, np.cumsum(content >= 0x80))
        wide = (before[offsets[1:]] > before[offsets[:-1]]).nonzero()[0]
        places = wide if "LATIN" in self._scripts else np.arange(len(words))
        scripts = {place: find_scripts(words[place].as_py()) for place in places.tolist()}
        return [place for place, found in scripts.items() if found and not found & self._scripts]

    def add_up(self) -> None:
        """Make the table of totals, which the other methods read; nothing may be added afterwards."""
        totals = "SELECT kind, word, sum(n)::BIGINT AS n FROM counts GROUP BY kind, word"
        self._connection.execute(f"CREATE TABLE totals AS {totals}; DROP TABLE counts")

    def sum_up(self, kind: str, fate: str, top: int | None) -> LeakedKind:
        """Return the words of a kind. fate: what becomes of them. top: how many to list; None: all."""

        def share(count: int) -> float | None:
            return None if kind == _SYMBOL else count / max(1, self.words)

        rows = f"FROM totals WHERE kind = {_LEAKED_KINDS.index(kind)}"
        [(count, distinct)] = self._connection.execute(
            f"SELECT coalesce(sum(n), 0)::BIGINT, count(*) {rows}"
        ).fetchall()
        limit = "" if top is None else f" LIMIT {top}"
        found = self._connection.execute(f"SELECT word, n {rows} ORDER BY n DESC, word{limit}").fetchall()
        words = tuple(LeakedWord(word, n, share(n)) for word, n in found)
        return LeakedKind(kind, fate, fate == IN_CLEAR, count, distinct, share(count), words)

    def write(self, path: Path, fates: dict[str, str]) -> None:
        """Write all words to a CSV file, by kind and frequency. fates: what becomes of the words of each kind."""
        rows = ", ".join(
            f"({number}, {quote_text(kind)}, {quote_text(fates[kind])}, {str(kind == _SYMBOL).upper()})"
            for number, kind in enumerate(_LEAKED_KINDS)
        )
        share = f"CASE WHEN is_symbol THEN NULL ELSE n / {max(1, self.words)} END"
        query = (
            f"SELECT word, name AS kind, n AS count, {share} AS share, fate AS becomes FROM totals JOIN "
            f"(VALUES {rows}) AS known (kind, name, fate, is_symbol) USING (kind) ORDER BY totals.kind, n DESC, word"
        )
        copy = f"COPY ({query}) TO {quote_text(str(path))} ({choose_copy_options('csv')})"
        fetch(self._connection, copy, writes=path)


def _advise(words: int, decided: int, counts: dict[str, int], policy: Policy) -> tuple[str, ...]:
    """Return what to do, as sentences, the most urgent first.

    words: how many there are. decided: those of them that are not kept. counts: of the kinds that occur.
    """

    def share(*kinds: str) -> float:
        return sum(counts.get(kind, 0) for kind in kinds) / max(1, decided)

    found = []
    strange = share(_UNKNOWN, _OTHER_SCRIPT)
    if strange and policy.unknown == "keep":
        found.append(
            'Unknown words pass in the clear. To mask them: --unknown mask (in Python: Policy(unknown="mask")).'
        )
    if share(_NUMBER) and policy.numbers == "keep":
        found.append('Numbers pass in the clear. To mask them: --numbers mask (in Python: Policy(numbers="mask")).')
    if share(_NUMBER) and policy.units == "keep":
        found.append(
            "Dates, phone numbers and the like are treated part by part. To mask each as a whole: --units mask (in "
            'Python: Policy(units="mask")).'
        )
    if decided >= _ENOUGH_WORDS and strange > 0.5:
        found.append(
            "Most words are unknown: the texts and the mapping seem to be in different languages. Load vectors for "
            f"their language: {_LOAD}; its stopwords: custext stopwords --language LANGUAGE"
        )
    elif decided >= _ENOUGH_WORDS and share(_OTHER_SCRIPT) >= _MANY:
        found.append(f"Some texts are in another script. To replace those words too, load vectors for it: {_LOAD}")
    elif strange >= _MANY:
        found.append(f"With a larger vocabulary, more of the unknown words are replaced: {_LOAD}")
    if strange:
        found.append(
            "Words that are public anyway, such as the labels of speakers, can stay: list them in a file, --keep-words "
            "FILE (in Python: Policy(keep_words=...)). Make that list from public knowledge, not from the words shown "
            "here: a list made from private texts gives some of their words away. For the same reason, never build a "
            "mapping from them."
        )
    if counts.get(_SYMBOL):
        found.append("Symbols always pass. If some of them must not, remove them from the texts first.")
    if not counts:
        found.append("Nothing to do: every word is in the vocabulary." if words else "The texts have no words.")
    return tuple(found)
