"""The README and docs/ show what happens, mention everything public, and link to what exists."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import duckdb
import pytest

import custext_sql
from custext_sql import experiments
from custext_sql.cli import main
from custext_sql.store.database import default_path
from docs.hooks import on_page_markdown
from tests import documentation
from tests.conftest import copy_database
from tests.documentation import DRAWN, PAGES, PRINTED_BY, REAL, ROOT, Block, Step

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)


_EXAMPLES = [  # the README's are among the quick tests
    pytest.param(page, marks={"README": [], "spark": [pytest.mark.cluster]}.get(page.stem, [pytest.mark.pages]))
    for page in PAGES
    if any(block.is_run for block in documentation.find_blocks(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("page", _EXAMPLES, ids=lambda page: page.stem)
def test_examples_print_what_the_page_shows(page: Path, tmp_path: Path, starter_db: Path) -> None:
    default_path().parent.mkdir(parents=True)
    copy_database(starter_db, default_path())
    real = documentation.prepare(tmp_path, page)
    found = [
        difference
        for block, steps in documentation.run_page(page.read_text(encoding="utf-8"), tmp_path)
        for difference in documentation.find_differences(block, steps, real=real)
    ]
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_shows_are_among_the_examples(page: Path) -> None:
    """Otherwise a reader who takes the file from the checkout gets other output."""
    for block in documentation.find_blocks(page.read_text(encoding="utf-8")):
        name = block.find_mark(documentation.FILE)
        if name is not None and (ROOT / "examples" / name).exists():
            assert block.body == (ROOT / "examples" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_where_it_comes_from(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert documentation.count_unread_fences(text) == 0
    for block in documentation.find_blocks(text):
        assert block.is_run or block.is_quoted, block.body
        assert block.kind != "console" or block.body.startswith("$ "), block.body
        known = (DRAWN, REAL, PRINTED_BY, documentation.JAVA, documentation.FILE, *documentation.RUN_BY_CI)
        assert all(mark.startswith(known) for mark in block.marks), block.marks


def test_seeded_examples_inspect_and_audit_are_always_compared() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    compared = [
        command
        for block in documentation.find_blocks(text)
        if block.is_run and not {DRAWN, REAL} & set(block.marks)
        for command, _ in documentation.split_console(block.body if block.kind == "console" else "")
    ]
    assert all(any(name in command for command in compared) for name in ("--seed", "custext inspect", "custext audit"))


_RUN = Block((), "console", "", "", 0, 0)
_DRAWN = Block((DRAWN,), "console", "", "", 0, 0)
_REAL = Block((REAL,), "console", "", "", 0, 0)


@pytest.mark.parametrize(
    ("block", "step", "differs"),
    [
        (_RUN, Step("c", "a\n", "a\n", 0), False),
        (_RUN, Step("c", "a\n", "b\n", 0), True),
        (_RUN, Step("c", "in 0.1 s\n", "in 2.3 s\n", 0), False),
        (_RUN, Step("c", "Error: x\n", "Error: x\n", 1), False),
        (_RUN, Step("c", "", "", 1), True),
        (_DRAWN, Step("c", "a\neps 1\n", "b\neps 1\n", 0), False),
        (_DRAWN, Step("c", "a\neps 1\n", "b\neps 2\n", 0), True),
        (_DRAWN, Step("c", "a\n", "b\nc\n", 0), True),
        (_DRAWN, Step("c", "id  body\n 1  a\n", "id  body\n 1  a\n    b\n", 0), False),
        (_DRAWN, Step("c", "9 words: 6 replaced (1 drew itself)\n", "9 words: 6 replaced\n", 0), False),
        (
            _DRAWN,
            Step("c", "9 words: 6\n", "9 words: 6; 1 text unchanged\nWarning: 1 text came out unchanged\n", 0),
            False,
        ),
        (_DRAWN, Step("c", "9 words: 6 replaced\n", "8 words: 6 replaced\n", 0), True),
        (_DRAWN, Step("c", "a\n", "Error: x\n", 1), True),
        (_REAL, Step("c", "a\n", "b\n", 0), False),
        (_REAL, Step("c", "a\n", "Error: x\n", 1), True),
        (_REAL, Step("c", "a\n", "Traceback (most recent call last):\n", 1), True),
    ],
)
def test_differences_are_found(block: Block, step: Step, differs: bool) -> None:
    """Without the real data, an error that a page does not show is still found."""
    assert bool(list(documentation.find_differences(block, [step], real=False))) == differs


def test_a_page_is_filled_with_what_its_commands_print(tmp_path: Path) -> None:
    page = "Text.\n\n<!-- file a.txt -->\n```csv\n1\n```\n\n```console\n$ cat \\\n  a.txt\n2\n$ echo 3\n```\n"
    page += "```python\nprint(4)\n```\n```text\n5\n```\nMore.\n"
    filled = documentation.fill(page, tmp_path)
    assert filled == page.replace("2\n", "1\n").replace("echo 3\n", "echo 3\n3\n").replace("5\n", "4\n")


def test_fences_that_are_no_blocks_are_counted() -> None:
    for text in ("- list\n  ```console\n  $ x\n  ```\n", "~~~\nx\n~~~\n", "```console title=x\n$ x\n```\n"):
        assert documentation.count_unread_fences(text) > 0, text
    [console, shown] = documentation.find_blocks("```console\n$ x\n```\n```text\nx\n```\n")
    assert (console.shown, shown.kind, shown.is_run or shown.is_quoted) == ("", "text", False)


def _commands(group: click.Group = main, path: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = list(_commands())
    assert "attack query" in commands and "drop mapping" in commands
    for name in commands:
        assert re.search(rf"custext\s(--db \S+ )?{name}\b", text), name


@pytest.mark.parametrize("module", [custext_sql, experiments], ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring_for_the_site(module: ModuleType) -> None:
    names = on_page_markdown(f"<!-- names of {module.__name__} -->")
    assert re.findall(r"^\| `(\w+)` \| \w", names, re.MULTILINE) == module.__all__
    assert f"<!-- names of {module.__name__} -->" in (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_every_table_and_view_is_documented_with_its_columns(fresh_db: Path) -> None:
    text = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    with duckdb.connect(fresh_db, read_only=True) as connection:
        found = connection.execute(
            "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
            "WHERE NOT internal AND table_name <> 'alembic_version' GROUP BY table_name"
        ).fetchall()
    assert len(found) == 9
    for table, columns in found:
        section = text.partition(f"## {table}\n")[2].partition("\n## ")[0]
        names = (line.partition(":")[0] for line in re.findall(r"^- (.*)$", section, re.MULTILINE))
        assert [name for line in names for name in re.findall(r"`(\w+)`", line)] == columns, table


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if link.startswith("https:"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


def _anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings have, on GitHub and on the site."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_the_map_of_the_code_names_what_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = [file for folder in ("custext_sql", "spacy_plugin", "tests") for file in (ROOT / folder).rglob("*.py")]
    modules = ["/cli.py", *(f"/{file.relative_to(ROOT).as_posix()}" for file in files)]
    names = re.findall(r"`([\w/]+)\.py`", text)
    for listed in re.findall(r"read first: (.*)", text):
        names += re.sub(r" \([^)]*\)", "", listed).split(", ")
    assert "verifier" in names and "ledger/release" in names
    for name in names:
        assert any(module.endswith(f"/{name}.py") for module in modules), name
