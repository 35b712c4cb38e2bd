"""Files with a secret in every place where a user's data can be: cells, keys, values of types, broken files."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

_WINDOW = 5  # characters: no piece of a secret that is this long may be printed


@dataclass(frozen=True)
class Secret:
    """A text that must not be printed. rare: a part that occurs in no message by chance; by default the whole text."""

    text: str
    rare: str | None = None

    @property
    def string(self) -> str:
        """The text as a SQL string literal."""
        return "'" + self.text.replace("'", "''") + "'"

    @property
    def identifier(self) -> str:
        """The text as a quoted SQL identifier."""
        return '"' + self.text.replace('"', '""') + '"'

    @property
    def near(self) -> str:
        """A name similar enough to be suggested, but without a long piece of the secret."""
        return "_".join(self.text[place : place + 4] for place in range(0, len(self.text), 4))

    def is_in(self, printed: str) -> bool:
        """Return whether any piece of the text was printed, in upper or lower case."""
        rare, lowered = (self.rare or self.text).lower(), printed.lower()
        return any(rare[place : place + _WINDOW] in lowered for place in range(len(rare) - _WINDOW + 1))


SECRETS = {
    "word": Secret("Qwyzzkvorx"),
    "apostrophe": Secret("Qwyzz O'Kvorxim plofzz"),
    "apostrophes": Secret("Qwyzz's O'Kvorxim's plofzz"),
    "double quotes": Secret('Qwyzzk "Kvorxim" plofzz'),
    "newline": Secret("Qwyzzkv\nKvorximplof"),
    "comma": Secret("Qwyzzkv,Kvorximplof"),
    "parentheses": Secret("Qwyzzkv(Kvorximplof)"),
    "backslash": Secret("Qwyzzkv\\'Kvorximplof\\"),
    "dollars": Secret("Qwyzz$$kvorx $Kvorxim$ plofzz"),
    "long": Secret("Qwyzz" + "kvorxim" * 60),
    "not ASCII": Secret("Qŵyžžkvo řxímplofzz 漢字"),
    "like a message": Secret(
        "x' to INT32 when casting from source column Qwyzzkvorx\nColumn Qwyzzkvorx is being converted as type DATE\n"
        '  file = Qwyzzkvorx\n\nLINE 1: Qwyzzkvorx\n        ^\n"Qwyzzkvorx": Permission denied',
        rare="Qwyzzkvorx",
    ),
}


def lay_out(folder: Path, secret: Secret) -> None:
    """Write files that cannot be used, each with the secret in it."""
    text = secret.text
    _write_csv(folder / "headless.csv", [[text, "x"], ["1", text]])
    _write_csv(folder / "cells.csv", [["id", "body"], [text, text], [text, "alice"]])
    _write_csv(folder / "late.csv", [["id", "body"], *([str(number), "x"] for number in range(21_000)), [text, text]])
    _write_csv(folder / "named.csv", [[text, "body"], *([str(number), "x"] for number in range(21_000)), [text, text]])
    _write_csv(folder / "count.csv", [["id", "body"], ["1", "x"], ["2", text, text]])
    _write_csv(folder / "null.csv", [["id", "body"], ["", text], ["2", text]])
    (folder / "quote.csv").write_text(f'id,body\n1,"{text}" {text}\n2,"x\n')
    (folder / "comma.tsv").write_text(f"id\tbody\n1, {text}\tx, {text}\n")
    (folder / "latin.csv").write_bytes(f"id,body\n1,{text}".encode() + b"\xff\xfe\n")
    (folder / "latin.txt").write_bytes(text.encode() + b"\xff\xfe\n")
    (folder / "words.txt").write_text(f"alice {text}\n")
    for name in ("wrong.csv.gz", "wrong.txt.gz", "wrong.parquet", "wrong.zip"):
        (folder / name).write_text(text * 3)
    (folder / "cut.txt.gz").write_bytes(gzip.compress(text.encode() * 1000)[:-9])
    (folder / "cut.zip").write_bytes(b"PK\x03\x04" + text.encode() * 10)
    (folder / "wrong.bin").write_bytes(b"\x00\x01" + text.encode())
    (folder / "wrong.duckdb").write_text(text * 10)
    _write_json(folder, text)
    _write_parquet(folder, text)
    _write_folders(folder, text)
    _write_labelled(folder, text)
    _write_vectors(folder, text)
    _write_keys(folder, text)
    _write_tables(folder / "shop.duckdb", secret)


def _write_csv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def _write_json(folder: Path, text: str) -> None:
    (folder / "keys.jsonl").write_text(json.dumps({text: 1, "n": 2}) + "\n")
    (folder / "keys.json").write_text(json.dumps([{text: {text: text}}]))
    (folder / "nested.jsonl").write_text(json.dumps({"body": {text: text}, "id": 1}) + "\n")
    (folder / "cells.jsonl").write_text(json.dumps({"id": text, "body": text}) + "\n")
    (folder / "broken.jsonl").write_text('{"body": "x"}\n' + json.dumps({"body": text})[:-1] + "\n")
    (folder / "cut.json").write_text(json.dumps([{"body": text}, {"body": text}])[:-3])
    (folder / "texts.json").write_text(json.dumps([text, text]))
    (folder / "bytes.jsonl").write_bytes(b'{"body": "' + text.encode()[:3] + b'\xff\xfe"}\n' + text.encode())
    (folder / "twice.jsonl").write_text(json.dumps({"x" + text: 1, "X" + text: 2}) + "\n")
    lines = [json.dumps({"body": "alice"})] * 160_000  # more than Arrow reads in one block
    (folder / "late.jsonl").write_text("\n".join([*lines, f'{{"body": {text}']) + "\n")


def _write_parquet(folder: Path, text: str) -> None:
    pq.write_table(pa.table({"id": [text], "body": [text], "st": [{text: 1}]}), folder / "cells.parquet")
    pq.write_table(pa.table({"another": [text]}), folder / "other.parquet")


def _write_folders(folder: Path, text: str) -> None:
    for name in ("mixed", "headers", "schemas"):
        (folder / name).mkdir()
    _write_csv(folder / "mixed" / "a.csv", [["id", "body"], ["1", text]])
    (folder / "mixed" / "b.jsonl").write_text(json.dumps({text: text}))
    _write_csv(folder / "headers" / "a.csv", [["id", "body"], ["1", text]])
    _write_csv(folder / "headers" / "b.csv", [[text, text], ["1", text]])
    for name in ("cells", "other"):
        (folder / "schemas" / f"{name}.parquet").write_bytes((folder / f"{name}.parquet").read_bytes())


def _write_labelled(folder: Path, text: str) -> None:
    line = " ".join(text.split())
    (folder / "headless.tsv").write_text(f"{line}\t1\n{line}\t0\n")
    (folder / "stray.tsv").write_text(f'sentence\tlabel\n"{line}\t1\n{line}"\t0\n')
    (folder / "train.tsv").write_text("sentence\tother\tlabel\ngood\tx\t1\nbad\ty\t0\n")
    (folder / "test.tsv").write_text(f"sentence\tother\tlabel\ngood\tx\t{line}\n")
    (folder / "one.tsv").write_text(f"sentence\tother\tlabel\n{line}\tx\t{line}\n")
    (folder / "latin.tsv").write_bytes(f"sentence\tlabel\n{line}".encode() + b"\xff\t1\n")
    with zipfile.ZipFile(folder / "empty.zip", "w") as archive:
        archive.writestr("other.txt", text)


def _write_vectors(folder: Path, text: str) -> None:
    line = " ".join(text.split())
    (folder / "vectors.txt").write_text(f"alice 1 2\nbob 1 {line}\n")
    (folder / "ragged.txt").write_text(f"alice 1 2\n{line} 1 2 3 4 5 6 7 8\n")
    (folder / "vectors.bin").write_bytes(b"2 3\n" + line.encode())
    for name, header in (
        ("header.npz", text),
        ("kind.npz", repr({"descr": text, "fortran_order": False, "shape": ()})),
    ):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            raw = header.encode() + b"\n"
            archive.writestr("words.npy", b"\x93NUMPY\x02\x00" + len(raw).to_bytes(4, "little") + raw)
        (folder / name).write_bytes(content.getvalue())
    (folder / "prior.txt").write_text(f"alice 3\n{line}\n")
    (folder / "many.txt").write_text(f"alice 3\n{line} and more 1e999\n")
    (folder / "unknown.txt").write_text(f"{line.replace(' ', '').replace(',', '')} 3\n")


def _write_keys(folder: Path, text: str) -> None:
    whole = json.loads((folder / "good.key").read_text())
    for name, content in {
        "text.key": text,
        "other.key": json.dumps({text: text}),
        "format.key": json.dumps({**whole, "custext_key": text}),
        "secret.key": json.dumps({**whole, "key": text}),
        "parts.key": json.dumps({**whole, "policy": {text: text}}),
        "unknown.key": json.dumps({**whole, "policy": {**whole["policy"], "unknown": text}}),
        "mapping.key": json.dumps({**whole, "mapping": text}),
        "language.key": json.dumps({**whole, "language": text}),
        "check.key": json.dumps({**whole, "check": text}),
    }.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o600)


def _write_tables(path: Path, secret: Secret) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TYPE e AS ENUM ({secret.string}, 'other')")
        connection.execute(
            f"CREATE TABLE t (id INT, txt VARCHAR, col e, st STRUCT({secret.identifier} INT), mp MAP(VARCHAR, e), "
            f"un UNION({secret.identifier} INT, b VARCHAR), lst e[], n INT)"
        )
        connection.execute(
            "INSERT INTO t SELECT 1, $1, $1, ROW(1), MAP {$1: $1::e}, 'x', [$1::e], 5 UNION ALL "
            "SELECT 1, $1, $1, ROW(2), MAP {$1: $1::e}, 'y', [], 6",
            [secret.text],
        )
        connection.execute("CREATE VIEW cast_view AS SELECT txt::INT AS txt, txt AS body FROM t")
        file = path.with_name("gone.csv")
        _write_csv(file, [["x"], ["1"]])
        connection.execute(f"CREATE VIEW gone AS SELECT * FROM '{file}'")
        file.unlink()
