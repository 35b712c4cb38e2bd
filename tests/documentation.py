"""Runs the examples of the README and of docs/. `python -m tests.documentation [PAGE...]` fills in the real output."""

import csv
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from custext_sql.experiments.texts import read_sentence_polarity
from custext_sql.store.building import load_starter
from custext_sql.store.database import default_path
from custext_sql.vectors.starter import FIRST_WORDS, open_starter
from tests.spark.cluster import why_not
from tests.vector_samples import write_glove

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
GLOVE = "glove.840B.300d.34k.txt.gz"
FILMS = ("films.txt", "more-films.txt")
LABELED = ("train.csv", "test.csv")

# What the comments above a block say of it.
DRAWN = "random output"  # the output differs from run to run: only its steady lines are compared
REAL = "with CUSTEXT_DATA"  # the output is that of the real data, and compared if they are there
RUN_BY_CI = ("the first command", "the test command")  # .ci/run runs these, in fresh environments
JAVA = "with Java"  # the block is run only where Spark can run
PRINTED_BY = "printed by "  # a long run of this command printed the block
FILE = "file "  # the block is a file of this name

_BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- [^\n]* -->\n)*)"
    r"^```(?:(?P<script>python)|(?P<kind>\w*))\n(?P<body>.*?)^```\n(?(script)(?:```text\n(?P<shown>.*?)^```\n)?)",
    re.DOTALL | re.MULTILINE,
)
_VARYING = re.compile(r"\bin \d+\.\d s\b|\b\d+\.\d MB\b|(?:\b[0-9a-f]{8}  )?\b20\d\d-\d\d-\d\d \d\d:\d\d\b")  # also IDs
_STEADY = re.compile(
    r"(?:\$ |\d+ words?: |  [a-z]|eps \d|each replaced word|Error: |Warning: |columns copied|dataset |when )"
)
_SELF_DRAWS = re.compile(
    r" \(\d+ drew (?:itself|themselves)\)|; \d+ texts? unchanged|\nWarning: \d+ texts? came out unchanged.*"
)
_FAILURE = re.compile(r"(?:Error: |Traceback |\w+Error: )")


@dataclass(frozen=True)
class Step:
    """A command, or a Python script, with the output that the page shows and the one that it had."""

    command: str
    shown: str
    found: str
    status: int


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `start` and `end` are where it lies in the page's text."""

    marks: tuple[str, ...]
    kind: str
    body: str
    shown: str
    start: int
    end: int

    def find_mark(self, prefix: str) -> str | None:
        """Return the rest of the mark that starts with a prefix."""
        return next((mark.removeprefix(prefix) for mark in self.marks if mark.startswith(prefix)), None)

    @property
    def is_run(self) -> bool:
        """Whether a test runs the block."""
        return self.kind in ("console", "python", "sh") and not self.is_quoted

    @property
    def is_quoted(self) -> bool:
        """Whether the block stands for a file, for what .ci/run runs, or for what a long run printed."""
        prefixes = (FILE, PRINTED_BY, *RUN_BY_CI)
        return any(mark.startswith(prefix) for mark in self.marks for prefix in prefixes)


def find_blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page. A `text` block right after a Python block is that block's output."""
    for match in _BLOCK.finditer(text):
        marks = tuple(re.findall(r"<!-- (.*?) -->", match["marks"]))
        kind, start = match["script"] or match["kind"], match.end("marks") + len("```")
        yield Block(marks, kind, match["body"], match["shown"] or "", start, match.end())


def count_unread_fences(text: str) -> int:
    """Return how many fences of a page belong to no block, such as indented ones."""
    fences = len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE))
    return fences - sum(4 if match["shown"] is not None else 2 for match in _BLOCK.finditer(text))


def run_page(page: str, folder: Path) -> Iterator[tuple[Block, list[Step]]]:
    """Run the blocks of a page in order, in one folder, and yield each with its steps."""
    for block in find_blocks(page):
        name = block.find_mark(FILE)
        if name is not None:
            (folder / name).write_text(block.body, encoding="utf-8")
        runs = block.is_run and (JAVA not in block.marks or why_not() is None)
        yield block, list(_run_block(block, folder)) if runs else []


def _run_block(block: Block, folder: Path) -> Iterator[Step]:
    if block.kind == "console":
        for command, shown in split_console(block.body):
            yield _run(["bash", "-c", command], command, shown, folder)
    elif block.kind == "python":
        script = (
            f"__file__ = 'example.py'\n{block.body}"  # without a file, DuckDB prints a bar if a query takes seconds
        )
        yield _run([sys.executable, "-c", script], block.body, block.shown, folder)
    else:
        yield _run(["bash", "-euo", "pipefail", "-c", block.body], block.body, "", folder)


def split_console(body: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, without their prompts, each with the output below it."""
    parts: list[tuple[str, str]] = []
    open_command = False
    for line in body.splitlines(keepends=True):
        if line.startswith("$ "):
            parts.append((line[2:], ""))
        elif open_command:
            parts[-1] = (parts[-1][0] + line, "")
        else:
            parts[-1] = (parts[-1][0], parts[-1][1] + line)
        open_command = (line.startswith("$ ") or open_command) and line.endswith("\\\n")
    return parts


def _run(arguments: list[str], command: str, shown: str, folder: Path) -> Step:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80"}  # as in the terminal of a reader
    result = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    found = "".join(f"{line.rstrip()}\n" for line in result.stdout.rstrip().splitlines())
    return Step(command, shown, found, result.returncode)


def find_differences(block: Block, steps: list[Step], *, real: bool) -> Iterator[str]:
    """Yield what a page says wrongly of a block that ran. real: whether the real data are there."""
    for step in steps:
        lines = step.found.splitlines()
        hidden = [line for line in lines if _FAILURE.match(line) and line not in step.shown.splitlines()]
        if hidden and not (block.kind == "sh" and step.status == 0):
            yield f"{step.command}\nfails, and the page does not show it:\n{step.found}"
        elif step.status and not any(_FAILURE.match(line) for line in lines):
            yield f"{step.command}\nends with status {step.status}:\n{step.found}"
        elif block.kind != "sh" and (real or REAL not in block.marks):
            steady = _keep_steady if DRAWN in block.marks else _keep_all
            if steady(step.found) != steady(step.shown):
                yield f"{step.command}\nprints:\n{step.found}\nbut the page shows:\n{step.shown}"


def _keep_all(output: str) -> str:
    """Return an output without what varies: times, sizes, and the widths of columns that depend on them."""
    return re.sub(r"[ ─]+", " ", _VARYING.sub("...", output))


def _keep_steady(output: str) -> list[str]:
    """Return the lines of a random output that do not depend on the draws; of others, only that they are there."""
    output = re.sub(r"\n {4,}(?=\S)", " ", _SELF_DRAWS.sub("", output))  # a long row goes on in the next line
    return [_keep_all(line) if _STEADY.match(line) else "..." for line in output.splitlines()]


def fill(page: str, folder: Path) -> str:
    """Return a page with the output of every example as it is now."""
    parts, end = [], 0
    for block, steps in run_page(page, folder):
        if block.kind in ("console", "python") and steps:
            parts.append(page[end : block.start] + _fill_block(block, steps))
            end = block.end
    return "".join(parts) + page[end:]


def _fill_block(block: Block, steps: list[Step]) -> str:
    if block.kind == "console":
        return "console\n" + "".join(f"$ {step.command}{step.found}" for step in steps) + "```\n"
    output = f"```text\n{steps[0].found}```\n" if steps[0].found else ""
    return f"python\n{block.body}```\n{output}"


def copy_checkout(folder: Path) -> None:
    """Copy what a fresh checkout has, except for the tests."""
    ignored = shutil.ignore_patterns(".*", "build", "site", "*.egg-info", "__pycache__", "*.duckdb*", "tests")
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)


def prepare(folder: Path, page: Path) -> bool:
    """Lay out the files that the examples of a page name; return whether they are the real ones.

    The README's examples get nothing but a checkout: that is what a newcomer has.
    """
    if page == PAGES[0]:
        copy_checkout(folder)
        return "CUSTEXT_DATA" in os.environ
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE reviews AS FROM read_csv(?)", [str(folder / "reviews.csv")])
    text, data = page.read_text(encoding="utf-8"), os.environ.get("CUSTEXT_DATA")
    if data:
        (folder / GLOVE).symlink_to(Path(data) / GLOVE)
        parts = read_sentence_polarity(str(Path(data) / "sentence_polarity.zip"))
        films = [([text for (text,) in part.texts], part.labels) for part in parts]
    elif any(name in text for name in (GLOVE, *FILMS, *LABELED)):
        batches = list(open_starter().batches)
        words = [word for batch in batches for word in batch.words][:FIRST_WORDS]
        if GLOVE in text:
            vectors = np.concatenate([batch.vectors for batch in batches])[:FIRST_WORDS]
            write_glove(folder / "v.txt", words, vectors)
            (folder / GLOVE).write_bytes(gzip.compress((folder / "v.txt").read_bytes(), compresslevel=1))
        plain = [word for word in words if word.isalpha()]  # all equally frequent, so none is easy to guess
        lines = [" ".join(plain[first : first + 8]) for first in range(0, 8 * 800, 8)]
        films = [(lines[:400], ["pos", "neg"] * 200), (lines[400:], ["pos", "neg"] * 200)]
    else:
        return False
    for name, labeled, (lines, labels) in zip(FILMS, LABELED, films, strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
        with (folder / labeled).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            writer.writerows(list(zip(lines, labels, strict=True))[:: len(lines) // 400])  # of both labels
    return bool(data)


def main(names: list[str]) -> None:
    """Fill the pages of these names, or all of them."""
    if "CUSTEXT_DATA" not in os.environ:
        raise SystemExit("the pages show the output of the real data: set CUSTEXT_DATA to their folder")
    with tempfile.TemporaryDirectory() as root:
        template = Path(root) / "starter.duckdb"
        load_starter(template)
        for page in PAGES:
            if names and page.name not in names:
                continue
            print(page.name, flush=True)
            folder = Path(root) / page.stem
            folder.mkdir()
            os.environ["XDG_DATA_HOME"] = str(folder / "home")
            default_path().parent.mkdir(parents=True)
            default_path().write_bytes(template.read_bytes())
            prepare(folder, page)
            page.write_text(fill(page.read_text(encoding="utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
