"""The schema: the single source of truth. New databases are made from it; a test compares it with the migrations.

Names serve as keys, so that plain SQL from any client is readable. Only the small tables have primary keys: an index on
the large ones would take more space than their data, and the fingerprint of a mapping protects those instead.
"""

from importlib.resources import files

import duckdb
from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    create_mock_engine,
)
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.types import ARRAY

from custext_sql.store.rows.stopwords import SHIPPED_LANGUAGE, write_stopwords
from custext_sql.store.schema import revisions
from custext_sql.store.schema.distribution_macro import write_distribution_macro
from custext_sql.store.schema.scores_view import write_scores_view

metadata = MetaData()

_STAMP = """
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""  # as Alembic makes it

embeddings = Table(
    "embeddings",
    metadata,
    Column("name", String, primary_key=True),
    Column(
        "source", String, nullable=False, comment="name of the file, or a scheme and a name, such as spacy:PIPELINE"
    ),
    Column("format", String, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("size", Integer, nullable=False, comment="number of entries"),
    Column("sha256", String, nullable=False, comment="hash of the source"),
    Column("created_at", TIMESTAMP, nullable=False, comment="UTC"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("embedding", String, nullable=False),
    Column("position", Integer, nullable=False, comment="position in the file, from 0"),
    Column("token", String, nullable=False, comment="the entry, in lower case"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("embedding", String, nullable=False),
    Column("position", Integer, nullable=False),
    Column("vector", ARRAY(Float), nullable=False, comment="has embeddings.dimension numbers"),
)

mappings = Table(
    "mappings",
    metadata,
    Column("name", String, primary_key=True),
    Column("embedding", String, nullable=False, comment="name of the embedding; a mapping remains when it is dropped"),
    Column("embedding_sha256", String, nullable=False),
    Column("measure", String, nullable=False),
    Column("larger_is_closer", Boolean, nullable=False),
    Column("k", Integer, nullable=False, comment="words per group"),
    Column("grouping", String, nullable=False, comment="greedy or refined"),
    Column("normalization", String, nullable=False),
    Column("pivot_order", String, nullable=False),
    Column("seed", BigInteger, comment="seed of the random pivot order"),
    Column("stopword_language", String, comment="language of the stopwords that were grouped separately"),
    Column("word_limit", Integer, comment="entries of the embedding used, from the first on; NULL for all"),
    Column("words", Integer, nullable=False),
    Column("group_count", Integer, nullable=False),
    Column("left_out", Integer, nullable=False, comment="entries used that are not single words"),
    Column("fingerprint", String, nullable=False, comment="SHA-256 hash of words, groups and scores"),
    Column("ranks_sha256", String, nullable=False, comment="SHA-256 hash of the ranks of words"),
    Column("created_at", TIMESTAMP, nullable=False, comment="UTC"),
)

groups = Table(
    "groups",
    metadata,
    Column("mapping", String, nullable=False),
    Column("token", String, nullable=False),
    Column("group_id", Integer, nullable=False),
    Column("position", Integer, nullable=False, comment="position within the group, from 0"),
    Column("rank", Integer, nullable=False, comment="position in the vector file, from 0; frequent words come first"),
)

score_rows = Table(
    "score_rows",
    metadata,
    Column("mapping", String, nullable=False),
    Column("group_id", Integer, nullable=False),
    Column("position", Integer, nullable=False, comment="position of the input word within the group"),
    Column(
        "units",
        ARRAY(Integer),
        nullable=False,
        comment="score of each output word, in the order of positions, in multiples of 2**-20",
    ),
)


stopwords = Table(
    "stopwords",
    metadata,
    Column("language", String, primary_key=True),
    Column("word", String, primary_key=True),
    Column("source", String, nullable=False),
)

settings = Table(
    "settings",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all that a new database contains, in the caller's transaction, and stamp it with the newest revision."""

    def execute(statement: ExecutableDDLElement, *_: object) -> None:
        connection.execute(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine("duckdb://", execute)
    metadata.create_all(engine, checkfirst=False)
    connection.execute(write_scores_view())
    connection.execute(write_distribution_macro())
    words = files("custext_sql.starter").joinpath("stopwords-english.txt").read_text(encoding="utf-8").split()
    write_stopwords(connection, SHIPPED_LANGUAGE, words, "NLTK stopwords corpus, the list of 179 words")
    connection.execute(_STAMP)
    connection.execute("INSERT INTO alembic_version VALUES (?)", [revisions.REVISIONS[-1]])
