"""Two people get their work done, from start to end, with each command as a person types it."""

import gzip
import json
import os
import stat
import subprocess
import sys
from itertools import islice, product
from pathlib import Path

import duckdb
import pytest

from custext_sql import read_ledger
from custext_sql.store.database import default_path
from custext_sql.vectors.starter import open_starter
from tests.conftest import copy_database
from tests.processes import start

HERE = Path(__file__).parent
WORDS = 3000
CHOICES = (
    ("my mother", "the doctor", "a friend", "everyone", "nobody here"),
    ("saw", "knows", "bought", "watched"),
    ("comedy", "drama", "story", "movie"),
    ("at home", "in london", "last night", "with us"),
    (("warm", "dull"), ("funny", "empty"), ("great", "bad")),
)

pytestmark = [pytest.mark.slow, pytest.mark.journey]


@pytest.fixture
def home(starter_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder for the files of a person, who has the default database already."""
    default_path().parent.mkdir(parents=True)
    copy_database(starter_db, default_path())
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "80")
    return folder


def travel(script: str) -> str:
    """Run the commands of a script one after the other, and return what they print; fail if one of them fails."""
    command = ["bash", "-eux", "-o", "pipefail", str(HERE / script)]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output[-4000:]
    assert "Traceback" not in output
    return str(output)


def test_an_engineer_hands_out_messages(home: Path) -> None:
    with duckdb.connect(home / "hospital.duckdb") as connection:
        connection.execute((HERE / "messages.sql").read_text(encoding="utf-8"))
    (home / "labels.txt").write_bytes((HERE / "labels.txt").read_bytes())
    output = travel("engineer.sh")
    assert stat.S_IMODE((home / "words.csv").stat().st_mode) == 0o600
    with duckdb.connect(home / "hospital.duckdb", read_only=True) as connection:
        for released in ("messages_clean", "'week.parquet'"):
            query = (
                f"SELECT count(*), count_if(starts_with(new.body, split_part(old.body, ':', 1) || ':')), "
                f"count_if(regexp_matches(new.body, '@|7700|example|1950-')), "
                f"count_if(contains(new.body, '<phone>')) FROM {released} AS new JOIN messages AS old USING (id)"
            )
            rows, labeled, leaking, phones = connection.execute(query).fetchall()[0]
            assert (rows, labeled, leaking, phones) == (400, 400, 0, 100)
    first, last = read_ledger().releases
    assert (first.units, first.kept, last.units) == (500, 400, 500)
    assert (first.struck_reason, last.struck_reason) == (None, "deleted before anyone opened it")
    assert "deleted before anyone opened it" in output
    page = (home / "verdict.html").read_text(encoding="utf-8")
    assert "Okafor" not in page


def test_a_researcher_reproduces_a_table(home: Path) -> None:
    write_sentences(home)
    with open_starter() as source, gzip.open(home / "vectors.txt.gz", "wt", encoding="utf-8") as file:
        entries = (
            (word, row) for batch in source.batches for word, row in zip(batch.words, batch.vectors, strict=True)
        )
        file.writelines(f"{word} {' '.join(map(str, row.tolist()))}\n" for word, row in islice(entries, WORDS))
    output = travel("researcher.sh")
    assert "in the clear" in output
    reviews, sanitized = (json.loads((home / name).read_text()) for name in ("reviews.json", "sanitized.json"))
    assert [one["id"] for one in sanitized] == [one["id"] for one in reviews]
    assert (home / "report.html").exists()


def write_sentences(home: Path) -> None:
    """Write files like SST-2's and CoLA's, a file of public texts and a JSON array."""
    sentences = [
        (f"{who} {sees} this {kind} {place}, a {good if label else bad} film", label)
        for who, sees, kind, place, (good, bad), label in product(*CHOICES, (0, 1))
    ]
    cut = len(sentences) * 3 // 4
    for task, header in (("SST-2", ["sentence\tlabel"]), ("CoLA", [])):
        (home / task).mkdir()
        for name, some in (("train", sentences[:cut]), ("dev", sentences[cut:])):
            lines = [f"{text}\t{label}" if header else f"gj04\t{label}\t\t{text}" for text, label in some]
            (home / task / f"{name}.tsv").write_text("\n".join([*header, *lines]) + "\n")
    (home / "public.txt").write_text("\n".join(text for text, _ in sentences[:cut]) + "\n")
    reviews = [{"id": number, "text": text} for number, (text, _) in enumerate(sentences[:20])]
    (home / "reviews.json").write_text(json.dumps(reviews))
