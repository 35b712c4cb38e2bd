"""Runs what the README shows. `python -m tests.readme` writes the real output into it; a test compares the two."""

import gzip
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from custext_sql.experiments.evaluation.datasets import read_sentence_polarity
from custext_sql.vectors.starter import open_starter
from tests.vector_samples import write_glove

README = Path(__file__).parents[1] / "README.md"
GLOVE = "glove.840B.300d.34k.txt.gz"
FILMS = ("films.txt", "more-films.txt")
REVIEWS = """id,body
1,"My doctor in Boston was kind, and the surgery went well."
2,The pizza arrived cold. Terrible service!
3,
4,I bought this camera for my wedding and I love it.
"""
_DRAWN = "<!-- drawn anew each time -->"
_BLOCK = re.compile(r"```(?P<kind>console|python)\n(?P<body>.*?)```\n(?:```text\n(?P<shown>.*?)```\n)?", re.DOTALL)
_VARYING = re.compile(r"\bin \d+\.\d s\b|\b\d+\.\d MB\b")


def fill(readme: str, folder: Path) -> str:
    """The README with the output of every example as it is now; examples run in order, in that folder."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(command: list[str]) -> str:
        result = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return "\n".join(line.rstrip() for line in result.stdout.rstrip().splitlines()) + "\n"

    def refill(match: re.Match[str]) -> str:
        body = match["body"]
        if match["kind"] == "python":
            return f"```python\n{body}```\n```text\n{run([sys.executable, '-c', body])}```\n"
        commands = [line for line in body.splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(f"{line}\n{run(['bash', '-c', line[2:]])}" for line in commands) + "```\n"

    return _BLOCK.sub(refill, readme)


def prepare(folder: Path) -> bool:
    """Lay out the files that the examples name; False if the real vectors are not at hand."""
    (folder / "reviews.csv").write_text(REVIEWS)
    data = os.environ.get("CUSTEXT_DATA")
    if data:
        (folder / GLOVE).symlink_to(Path(data) / GLOVE)
        for name, part in zip(FILMS, read_sentence_polarity(str(Path(data) / "sentence_polarity.zip")), strict=True):
            (folder / name).write_text("".join(f"{text}\n" for (text,) in part.texts))
        return True
    batches = list(open_starter().batches)
    words = [word for batch in batches for word in batch.words]
    for name in FILMS:
        (folder / name).write_text("the film was good\nshe liked the film\n")
    write_glove(folder / "v.txt", words, np.concatenate([batch.vectors for batch in batches]))
    (folder / GLOVE).write_bytes(gzip.compress((folder / "v.txt").read_bytes(), compresslevel=1))
    return False


def steady(text: str) -> str:
    """Without what differs from run to run: times, file sizes, and what is drawn anew each time."""
    parts = re.split(f"{_DRAWN}\n((?:```.*?```\n)+)", text, flags=re.DOTALL)
    parts[1::2] = [_shape(block) for block in parts[1::2]]
    return re.sub(r" +", " ", _VARYING.sub("...", "".join(parts)))


def _shape(block: str) -> str:
    """The commands of a block, and how many lines they print."""
    lines = block.splitlines()
    return "\n".join([*(line for line in lines if line.startswith("$ ")), f"{len(lines)} lines"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_DATA_HOME"] = name
        subprocess.run([sys.executable, "-m", "custext_sql", "info"], check=True, capture_output=True)
        (Path(name) / "work").mkdir()
        assert prepare(Path(name) / "work"), "CUSTEXT_DATA must name the folder of the real vectors"
        README.write_text(fill(README.read_text(), Path(name) / "work"))
