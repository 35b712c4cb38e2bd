"""Makes a stored database, a key, what the key gives, and the ledger: python -m tests.stored.make

They stand for what users have: from the first release on, `first.*` never change. Until then, run this again if the
first migrations, the key format, keyed draws or their digests change. Only the secret of the key, what it draws, and
the ledger differ from run to run.
"""

import lzma
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from custext_sql import (
    add_stopwords,
    build_mapping,
    load_embeddings,
    make_key,
    read_ledger,
    sanitize_file,
    strike_release,
)
from custext_sql.ledger.places import LedgerFile
from custext_sql.store.rewriting import compact_database

HERE = Path(__file__).parent
TEXTS = HERE / "texts.csv"
DATABASE, KEY, KEYED = HERE / "first.duckdb.xz", HERE / "first.key", HERE / "first.keyed.csv"
LEDGER, REASON = HERE / "first.ledger.sqlite.xz", "made for tests"

_WORDS = """
the and my was in a not she it good bad kind late full doctor nurse surgeon lawyer teacher friend son daughter cat dog
boston london paris train bus plane hotel house park letter book coffee tea day week year . new_york
"""
WORDS = _WORDS.split()
GERMAN = "der die das und nicht"


def build(path: Path) -> None:
    """Build a database with an embedding, two mappings and two lists of stopwords; equal bytes in every run."""
    numbers = random.Random(0)  # the same in all versions of Python
    lines = [" ".join([word, *(f"{numbers.random() - 0.5:.4f}" for _ in range(5))]) for word in WORDS]
    vectors, german = path.with_name("words.txt"), path.with_name("german.txt")
    vectors.write_text("\n".join(lines) + "\n")
    german.write_text("\n".join(GERMAN.split()) + "\n")
    load_embeddings(path, vectors, name="small")
    add_stopwords(path, language="german", file=german)
    build_mapping(path, embedding="small", k=4, name="plain")
    build_mapping(path, embedding="small", k=6, measure="cosine", grouping="refined", separate_stopwords=True)
    with duckdb.connect(path) as connection:
        for table in ("embeddings", "mappings"):
            connection.execute(f"UPDATE {table} SET created_at = TIMESTAMP '2025-01-01'")
    compact_database(path)


def sanitize(database: Path, key: Path, output: Path) -> None:
    """Write the keyed output of the stored texts."""
    sanitize_file(TEXTS, output, columns="body", key_file=key, record_column="id", dataset="texts", database=database)


def main() -> None:
    """Write the database, a new key, what it gives, and the ledger with that release beside this script."""
    with TemporaryDirectory() as name:
        database, keyed = Path(name) / "first.duckdb", Path(name) / KEYED.name
        build(database)
        _write_packed(database, DATABASE)
        KEY.unlink(missing_ok=True)
        make_key(KEY, database, mapping="plain", eps=2.0, plus=True)
        sanitize(database, KEY, keyed)
        KEYED.write_bytes(keyed.read_bytes())
        [release] = read_ledger(database).releases
        strike_release(database, release=release.release_id, reason=REASON)
        ledger = LedgerFile.locate(None, database).path
        assert ledger is not None
        _write_packed(ledger, LEDGER)


def _write_packed(source: Path, target: Path) -> None:
    target.write_bytes(lzma.compress(source.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
