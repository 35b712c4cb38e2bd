"""The lines that reproduce the settings of the page: a command, SQL, Python, spaCy."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, Literal

from custext_sql.playground.requests import Choice, PolicyChoice, SettingsRequest
from custext_sql.playground.uploads import name_output

_STRICT: Literal["strict"] = "strict"
_FILE, _COLUMN, _SENTENCE = "reviews.csv", "body", "My doctor said the surgery went well."
_PATTERN = re.compile(r"[*?\[]")  # characters that DuckDB takes for patterns of names
_SPECIAL = re.compile(r'["$`\\]')  # characters that shells take for more than themselves, also in double quotes


def write_snippets(request: SettingsRequest, database: Path | None) -> dict[str, str]:
    """Return the lines by the names command, sql, python, spacy. database: None for the default one."""
    choice, file = request.settings, request.file
    column = _COLUMN if file is None else request.column
    return {
        "command": _write_command(choice, database, file or _FILE, column),
        "sql": _write_sql(choice, database, file or _FILE, column),
        "python": _write_python(choice, database),
        "spacy": _write_spacy(choice, database),
    }


def _write_command(choice: Choice, database: Path | None, file: str, column: str | None) -> str:
    parts = ["sanitize", _quote_path(file), _quote_path(name_output(file))]
    parts += [] if column is None else ["--column", shlex.quote(column)]
    parts += ["--eps", _write_number(choice.eps), *(["--plus"] * choice.plus), *_list_options(choice)]
    return " ".join([_start(database), *parts])


def _write_sql(choice: Choice, database: Path | None, file: str, column: str | None) -> str:
    source = "'" + _PATTERN.sub(r"[\g<0>]", file).replace("'", "''") + "'"
    if column is None:
        name = "line"
        source = f"read_csv({source}, columns = {{'line': 'VARCHAR'}}, header = false, delim = chr(1), quote = '')"
    else:
        name = column if column == _COLUMN else '"' + column.replace('"', '""') + '"'
    plus = "true" if choice.plus else "false"
    query = f"SELECT custext_sanitize({name}, {_write_number(choice.eps)}, {plus}) AS {name} FROM {source}"
    return " ".join([_start(database), "sql", *_list_options(choice), _quote_query(query)])


def _write_python(choice: Choice, database: Path | None) -> str:
    settings = _list_settings(choice)
    policy = settings.pop("policy", None)
    arguments = [] if database is None else [repr(str(database))]
    arguments += [f"{name}={value!r}" for name, value in settings.items()]
    if isinstance(policy, dict):
        policy = f"Policy({', '.join(f'{name}={value!r}' for name, value in policy.items())})"
        arguments.append(f"policy={policy}")
    elif policy is not None:
        arguments.append(f"policy={policy!r}")
    names = "Policy, Sanitizer" if choice.policy.changes else "Sanitizer"
    lines = [f"from custext_sql import {names}", "", f"sanitizer = Sanitizer.load({', '.join(arguments)})"]
    return "\n".join([*lines, f'print(sanitizer.sanitize("{_SENTENCE}"))'])


def _write_spacy(choice: Choice, database: Path | None) -> str:
    config: dict[str, Any] = {} if database is None else {"database": str(database)}
    config |= _list_settings(choice)
    written = ", ".join(f"{json.dumps(name)}: {value!r}" for name, value in config.items())
    lines = ["import spacy", "", 'nlp = spacy.blank("en")', f'nlp.add_pipe("custext", config={{{written}}})']
    return "\n".join([*lines, f'print(nlp("{_SENTENCE}")._.custext)'])


def _list_settings(choice: Choice) -> dict[str, Any]:
    """Return the settings that are not the defaults, and eps and plus in any case, by their names in Python."""
    found: dict[str, Any] = {"eps": choice.eps, "plus": choice.plus}
    if choice.mapping is not None:
        found["mapping"] = choice.mapping
    if choice.calibration != "paper":
        found["calibration"] = choice.calibration
    if choice.policy.changes:
        found["policy"] = {**_spell_out(choice), **choice.policy.changes}
    elif choice.policy.name != _STRICT:
        found["policy"] = choice.policy.name
    return found


def _list_options(choice: Choice) -> list[str]:
    """Return the same as options, without eps and plus."""
    options = [] if choice.mapping is None else ["--mapping", shlex.quote(choice.mapping)]
    options += [] if choice.calibration == "paper" else ["--calibration", choice.calibration]
    options += [] if choice.policy.name == _STRICT else ["--policy", choice.policy.name]
    return [*options, *(part for name, value in choice.policy.changes.items() for part in (f"--{name}", value))]


def _spell_out(choice: Choice) -> dict[str, str]:
    """Return the parts of a named policy that differ from the strict one."""
    strict, named = (PolicyChoice(name=name).settle().to_dict() for name in (_STRICT, choice.policy.name))
    return {name: value for name, value in named.items() if value != strict[name]}


def _start(database: Path | None) -> str:
    return "custext" if database is None else f"custext --db {_quote_path(str(database))}"


def _write_number(number: float) -> str:
    """Return a number with all of its digits."""
    return repr(number).removesuffix(".0")


def _quote_path(path: str) -> str:
    """Return a path that the shell and the command take as such."""
    return shlex.quote(path if not path.startswith("-") else f"./{path}")


def _quote_query(query: str) -> str:
    """Return a query for the shell, in double quotes, because it contains single ones."""
    if "!" in query:  # which a shell may take for an earlier command, unless it is in single quotes
        return shlex.quote(query)
    return '"' + _SPECIAL.sub(r"\\\g<0>", query) + '"'
