"""A choice as lines: what was compared, what is suggested, and the commands that carry it out."""

import math
import os
import shlex
from itertools import count
from pathlib import Path

from custext_sql.experiments.choosing import Candidate, Choice
from custext_sql.files.inputs.file_formats import tell_format
from custext_sql.files.inputs.texts import DataFiles, DataTable, Texts, find_format, open_texts
from custext_sql.html.escaped_pages import list_blocks, render_text
from custext_sql.parameters import count_of
from custext_sql.store.mappings import write_options
from custext_sql.store.quoting import quote_name

_LARGEST = 640  # the largest K to suggest; tables grow with K
_ENDINGS = {"csv": ".csv", "tsv": ".tsv", "json": ".jsonl", "parquet": ".parquet", "text": ".txt"}


def describe_choice(choice: Choice, section: str) -> list[str]:
    """Return the lines of a section: "setting", what was compared, or "choice", what is suggested; else what to try."""
    facts = {
        "choice": choice,
        "chosen": choice.chosen,
        "best": min(choice.candidates, key=lambda candidate: candidate.least),
        "same": [candidate for candidate in choice.candidates if not candidate.refused],
        "most": max(candidate.drawn for candidate in choice.candidates),
        "limits": list(dict.fromkeys(f"{candidate.max_eps:g}" for candidate in choice.candidates)),
        "new": sum(not candidate.stored for candidate in choice.candidates),
        "largest": _LARGEST,
        "plural": count_of,
        "exp": math.exp,
        "find_enough": _find_enough,
    }
    names = [name for name in list_blocks("choice.txt") if name.startswith(f"{section}__")]
    return [line for name in names if (line := render_text("choice.txt", name, **facts))]


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
    page = _find_free("report", ".html")
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
    name = _find_free(base, ending)
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
    numbered = (f"{table}_sanitized" + (f"_{number}" if number > 1 else "") for number in count(1))
    name = next(name for name in numbered if name.lower() not in taken)
    parts = [name] if schema == "main" else [schema, name]
    return shlex.quote(".".join(quote_name(part) if set(part) & {".", '"'} else part for part in parts))


def _find_free(base: str | Path, ending: str) -> str:
    """Return the first path that does not exist: base and ending, or with -2, -3 and so on between them."""
    paths = (f"{base}{'' if number == 1 else f'-{number}'}{ending}" for number in count(1))
    return next(path for path in paths if not Path(path).exists())
