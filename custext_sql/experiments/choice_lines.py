"""A choice as lines: what was compared, what is suggested, and the commands that carry it out."""

import math
import os
import shlex
from collections.abc import Callable
from itertools import count
from pathlib import Path

from custext_sql.experiments.choosing import Candidate, Choice, Growth
from custext_sql.parameters import count_of
from custext_sql.release.inputs.file_formats import tell_format
from custext_sql.release.inputs.texts import DataFiles, DataTable, Texts, find_format, open_texts
from custext_sql.store.files.quoting import quote_name
from custext_sql.store.rows.mappings import write_options

_LARGEST = 640  # the largest K to suggest; tables grow with K
_ENDINGS = {"csv": ".csv", "tsv": ".tsv", "json": ".jsonl", "parquet": ".parquet", "text": ".txt"}


def describe_setting(choice: Choice) -> list[str]:
    """Return what was compared: the texts, the attacker, the bound and the mappings."""
    kept = ", stopwords kept" if choice.plus else ""
    most = max(candidate.drawn for candidate in choice.candidates)
    lines = [f"texts: {choice.prior}, {count_of(choice.prior_words, 'word')}, {most:.1%} of them replaced{kept}"]
    if choice.public is None:
        lines.append("attack: the best single guess, by someone who knows how frequent each word is")
    else:
        without = [f"{count_of(choice.left_out, 'text')} of yours"] if choice.left_out else []
        without += [count_of(choice.skipped, "empty text")] if choice.skipped else []
        less = f" (without {' and '.join(without)})" if without else ""
        lines.append(f"attack: the best guess from the whole text, by someone who learned from {choice.public}{less}")
    if choice.attacked != choice.texts:
        lines.append(f"attacked: {choice.attacked:,} of {choice.texts:,} texts, evenly spaced")
    lines.append(f"bound: at most {choice.bound:g} of the replaced words are guessed; calibration {choice.calibration}")
    limits = dict.fromkeys(f"{candidate.max_eps:g}" for candidate in choice.candidates)
    lines.append(f"eps: 0, or at most {', '.join(limits)}{' (by mapping)' if len(limits) > 1 else ''}")
    first, new = choice.candidates[0], [candidate for candidate in choice.candidates if not candidate.stored]
    if new or choice.growth is not None:
        apart = ", stopwords apart" if first.recipe.stopword_language else ""
        memory = f"; {len(new)} of {len(choice.candidates)} made in memory, not stored" if new else ""
        lines.append(f"groups: {first.recipe.grouping}{apart}, of {first.words:,} words of {first.embedding}{memory}")
    return lines


def describe_choice(choice: Choice) -> list[str]:
    """Return what is suggested, and what it guarantees; if there is nothing, why not, and what to try."""
    chosen = choice.chosen
    if chosen is None or chosen.eps is None or chosen.success is None:
        return [*_explain_failure(choice), *_describe_earlier(choice)]
    guess = "The best single guess" if choice.public is None else "The best guess from the whole text"
    found = [
        f"Suggestion: K = {chosen.k}, eps = {chosen.eps:g}. {guess} is right for {chosen.success:.1%} of "
        "the replaced words."
    ]
    if choice.growth is not None:
        found.append(describe_growth(choice.growth))
    if chosen.eps == 0.0:
        promise = "at eps = 0, the output depends on replaced words only through their groups."
    else:
        promise = (
            f"eps = {chosen.eps:g} guarantees for each replaced word that no output is more than e^{chosen.eps:g} = "
            f"{math.exp(chosen.eps):,.4g} times as likely for one word of a group as for another."
        )
    return [
        *found,
        f"The bound holds for this attack only. Whatever the attack, {promise}",
        *_describe_earlier(choice),
    ]


def describe_growth(growth: Growth) -> str:
    """Return a sentence about what larger groups do, with its figures."""
    farther = ""
    if growth.distance is not None and growth.larger_distance is not None:
        farther = f", and the distance of replacements grows from {growth.distance:.3f} to {growth.larger_distance:.3f}"
    fall = f"from {growth.success:.3f} to {growth.larger_success:.3f} with K = {growth.larger}"
    limit = f"{growth.worthwhile:g} per doubling"
    if growth.enough is None:
        return f"Larger groups still help: the share guessed at eps = 0 falls {fall}, at least {limit}{farther}."
    return (
        f"Larger groups than K = {growth.enough} help little: the share guessed at eps = 0 falls {fall}, less than "
        f"{limit}{farther}."
    )


def _describe_earlier(choice: Choice) -> list[str]:
    """Return what earlier releases under another mapping mean for the suggestion."""
    before, chosen = choice.released_under, choice.chosen
    if before is None:
        return []
    text = (
        f"The ledger has earlier releases of these texts, under mapping {before}. Another mapping would reveal a "
        "second group of every word, whatever eps, so custext sanitize refuses it."
    )
    if chosen is None:
        return [text]
    if not chosen.refused:
        return [f"{text} So the suggestion keeps {chosen.mapping}."]
    same = [candidate for candidate in choice.candidates if not candidate.refused]
    if same:
        what = f"No eps of {same[0].mapping} meets the bound; to accept more: --max-attack {_find_enough(same[0]):.2g}"
    else:
        what = f"{before} is not among the mappings compared here; to find an eps for it: --mapping {before}"
    return [f"{text} So this suggestion cannot be released. {what}"]


def _explain_failure(choice: Choice) -> list[str]:
    best = min(choice.candidates, key=lambda candidate: candidate.least)
    found = [
        f"No eps meets the bound: at K = {best.k}, the attack guesses at least {best.least:.1%} of the replaced words, "
        f"more than {choice.bound:.1%}."
    ]
    growth = choice.growth
    if growth is not None:
        found.append(describe_growth(growth))
    if best.k < _LARGEST and (growth is None or growth.enough is None):
        found.append(f"Try larger groups: --k {2 * best.k},{4 * best.k}")
    if choice.plus:
        found.append("Replace stopwords too: leave out --plus.")
    enough = _find_enough(best)
    if enough < 1.0:
        found.append(f"Or accept more: --max-attack {enough:.2g}")
    return found


def _find_enough(candidate: Candidate) -> float:
    """Return a bound that a candidate meets, with two digits."""
    enough = math.ceil(candidate.least * 100.0) / 100.0
    return enough if enough >= candidate.least else enough + 0.01


def list_commands(
    choice: Choice,
    data: Texts | None,
    column: str | None,
    *,
    named: str,
    more: str,
    known: str,
    dataset: str | None = None,
) -> list[str]:
    """Return the commands after `custext` that carry out a choice: map, unless the mapping is stored, sanitize, report.

    data, column: the texts. named: the arguments that name them. more: the options of the policy. known: the options
    that say what the attacker knows, which only the report takes. dataset: the name of the texts in the ledger.

    There are none if `custext sanitize` would refuse the choice.
    """
    chosen = choice.chosen
    if chosen is None or chosen.refused:
        return []
    settings = [f"--eps {chosen.eps:g}", f"--mapping {chosen.mapping}"]
    settings += ["--plus"] * choice.plus + ["--calibration tight"] * (choice.calibration == "tight")
    settings += [] if dataset is None else [f"--dataset {shlex.quote(dataset)}"]
    output = "OUTPUT" if data is None else name_output(data)
    page = _find_free(lambda number: f"report{number}.html", lambda name: Path(name).exists())
    where = "" if column is None else f"--column {shlex.quote(column)}"
    commands = [] if chosen.stored else [f"map {write_options(chosen.recipe, chosen.k)}"]
    for parts in (
        ["sanitize", named, output, where, *settings, more],
        ["report", named, where, *settings, more, known, f"--html {page}"],
    ):
        commands.append(" ".join(part for part in parts if part))
    return commands


def name_output(data: Texts) -> str:
    """Return a name for the sanitized texts that is not taken: a table of the same file, or a file."""
    if isinstance(data, DataTable):
        return _name_table(data)
    path = data.path if isinstance(data, DataFiles) else data
    if not isinstance(path, (str, os.PathLike)):
        return "OUTPUT"
    given, ending = Path(path), _ENDINGS[find_format(data if isinstance(data, DataFiles) else path)]
    if given.is_file():
        stem = given.name
        for _ in range(2 if tell_format(given) and given.suffix.lower() == ".gz" else 1):
            stem = Path(stem).stem
        ending = Path(given.name.removesuffix(".gz")).suffix if tell_format(given) else ending
        base = given.with_name(f"{stem}.sanitized")
    elif given.is_dir():
        base = given.with_name(f"{given.name}-sanitized") if given.name else Path("..", "sanitized")
    else:
        base = Path("sanitized")
    name = _find_free(lambda number: f"{base}{number}{ending}", lambda name: Path(name).exists())
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _name_table(data: DataTable) -> str:
    with open_texts(data) as opened:
        assert opened.source.table is not None
        schema, table = opened.source.table
        rows = opened.connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = $1 UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE schema_name = $1",
            [schema],
        ).fetchall()
    taken = {name.lower() for (name,) in rows}
    name = _find_free(lambda number: f"{table}_sanitized{number.replace('-', '_')}", lambda name: name.lower() in taken)
    parts = [name] if schema == "main" else [schema, name]
    return shlex.quote(".".join(quote_name(part) if set(part) & {".", '"'} else part for part in parts))


def _find_free(write: Callable[[str], str], is_taken: Callable[[str], bool]) -> str:
    """Return the first name that is not taken. write: returns the name with a number, which is empty at first."""
    names = (write("" if number == 1 else f"-{number}") for number in count(1))
    return next(name for name in names if not is_taken(name))
