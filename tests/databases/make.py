"""Makes the stored database of an earlier revision with the code of that time: python tests/databases/make.py REVISION

Tests upgrade these databases. Before you add a revision, store a database of the revision before it: enter the last
commit at that revision in COMMITS, add its new commands to COMMANDS, run this script, and commit the files it writes.
Make each database once, and never change it: it represents the databases that users have.
"""

import lzma
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

HERE = Path(__file__).parent

# The last commit at which each revision was the newest.
COMMITS = {
    "0001": "36823c6",
    "0002": "e5a4939",
    "0003": "d2c4485",
    "0004": "d4f3820",
    "0005": "c7a89b8",
    "0006": "285308b",
    "0007": "bc6e922",
}

WORDS = """
the and my was in a not she it good bad kind late full doctor nurse surgeon lawyer teacher friend son daughter cat dog
boston london paris train bus plane hotel house park letter book coffee tea day week year . new_york
"""
GERMAN = "der die das und nicht"
PUBLIC = "the doctor was in boston\nmy friend was in london and it was good\nthe train was late and the bus was full\n"

# The commands to run for a revision: its own and those of all earlier revisions.
COMMANDS = {
    "0001": """
load words.txt --name small
stopwords --language german
map --embedding small --k 4 --name plain
map --embedding small --k 6 --name apart --measure cosine --normalization word --order random --seed 3 \
    --separate-stopwords
use apart
""",
    "0002": """
keygen records.key --eps 2 --plus
sql "SELECT * REPLACE (custext_sanitize_keyed(body, 'body:' || id) AS body) FROM 'texts.csv'" \
    --key-file records.key --output keyed.csv
""",
    "0003": """
sanitize texts.csv fresh.csv --column body --eps 1 --dataset letters
sanitize texts.csv strict.csv --column body --eps 3 --policy strict --dataset letters
sanitize texts.csv again.csv --column body --key-file records.key --record-column id --dataset letters
sanitize texts.csv seeded.csv --column body --seed 1 --dataset trial
sanitize "The doctor was in Boston." --plus --mapping plain --calibration tight
""",
    "0004": """
attack bayes --eps 1,2 --public public.txt
attack query doctor --eps 2 --sample 4 --trials 200
attack mask --model ngram --public public.txt --data texts.csv --column body --eps 1
evaluate utility --train texts.csv --test texts.csv --text body --seeds 1 --eps 2 --mapping plain \
    --mechanisms original,custext,custext+,santext
""",
    "0005": """
sql "SELECT custext_sanitize(body, 0.1, true) AS body FROM 'texts.csv', range(3)" --output query.csv
sanitize texts.csv tenths.csv --column body --eps 0.1 --dataset letters
""",
    "0007": """
map --embedding small --k 5 --name refined --grouping refined
sanitize texts.csv groups.csv --column body --eps 0 --mapping plain --dataset groups
""",
}


class Version:
    """The code of a commit, and a folder to run it in."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        tree = folder / "tree"
        tree.mkdir()
        archive = subprocess.run(["git", "archive", commit], cwd=HERE.parents[1], check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
        (tree / "custext_sql" / "migrations").symlink_to(tree / "migrations")  # as pyproject.toml installs it
        self._command = [sys.executable, "-P", "-m", "custext_sql", "--db", "custext.duckdb"]
        paths = {"PYTHONPATH": tree, "HOME": folder, "XDG_DATA_HOME": folder, "NLTK_DATA": folder / "nltk"}
        self._environment = os.environ | {name: str(path) for name, path in paths.items()}
        self._environment.pop("CUSTEXT_DB", None)
        corpus = folder / "nltk" / "corpora" / "stopwords"
        corpus.mkdir(parents=True)
        (corpus / "german").write_text("\n".join(GERMAN.split()) + "\n")

    def run(self, *arguments: str) -> bytes:
        print("custext", *arguments)
        return subprocess.run(
            [*self._command, *arguments], cwd=self.folder, env=self._environment, check=True, stdout=subprocess.PIPE
        ).stdout

    def leave_pending(self, dataset: str, ending: signal.Signals) -> None:
        """End a stream early: an interrupt enters its counts in the ledger, a kill does not."""
        command = [*self._command, "sanitize", "-", "-", "--dataset", dataset]
        with subprocess.Popen(
            command, cwd=self.folder, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as stream:
            assert stream.stdin is not None
            stream.stdin.write(b"the doctor was late\n" * 60_000)  # more than one read, so that some lines are released
            stream.stdin.flush()
            while dataset.encode() not in self.run("ledger", "--json"):
                time.sleep(0.2)
            time.sleep(2.0)  # until it is waiting for more lines
            stream.send_signal(ending)
            stream.wait(30)  # before its input is closed, which would end it normally


def make(revision: str) -> None:
    """Make the database of a revision, with its key and keyed output, and store them beside this script."""
    with TemporaryDirectory() as name:
        version = Version(Path(name), COMMITS[revision])
        words = WORDS.split()
        vectors = np.random.default_rng(0).normal(size=(len(words), 5)).round(4)
        lines = [" ".join([word, *map(str, vector)]) for word, vector in zip(words, vectors.tolist(), strict=True)]
        (version.folder / "words.txt").write_text("\n".join(lines) + "\n")
        (version.folder / "public.txt").write_text(PUBLIC)
        (version.folder / "texts.csv").write_bytes((HERE / "texts.csv").read_bytes())
        for introduced, commands in COMMANDS.items():
            for command in commands.strip().splitlines() if introduced <= revision else []:
                if revision >= "0008":  # from then on, --data is for DuckDB files only
                    command = command.replace("--data texts.csv", "texts.csv")
                version.run(*shlex.split(command))
        if revision >= "0003":
            version.leave_pending("interrupted", signal.SIGINT)
            version.leave_pending("killed", signal.SIGKILL)
        assert not (version.folder / "custext.duckdb.wal").exists(), "the database file is incomplete"
        content = (version.folder / "custext.duckdb").read_bytes()
    packed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    (HERE / f"{revision}.duckdb.xz").write_bytes(packed)
    print(f"{revision}: {len(content):,} bytes, {len(packed):,} compressed")


if __name__ == "__main__":
    make(sys.argv[1])
