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
    Double,
    Float,
    Integer,
    MetaData,
    Numeric,
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

releases = Table(
    "releases",
    metadata,
    Column("release_id", String, primary_key=True),
    Column(
        "run_id", String, nullable=False, comment="the same for all parts of a release that several processes enter"
    ),
    Column("state", String, nullable=False, comment="pending until the output is in place, then complete"),
    Column("started_at", TIMESTAMP, nullable=False, comment="UTC"),
    Column("completed_at", TIMESTAMP, comment="UTC"),
    Column("dataset", String, nullable=False, comment="a path, or the name given with --dataset"),
    Column("parts", ARRAY(String), nullable=False, comment="files or tables that the release covers"),
    Column("text_columns", String, nullable=False, comment="names of the sanitized columns, separated by commas"),
    Column("mapping", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("eps", Double, comment="eps per word; the largest, if there are several"),
    Column("plus", Boolean, comment="NULL if a query decides row by row"),
    Column("policy", String, nullable=False),
    Column("calibration", String, nullable=False),
    Column("draws", String, nullable=False, comment="fresh, keyed, seeded, or raw: nothing was protected"),
    Column("key_id", String),
    Column("record_column", String, comment="column of IDs that records were made from"),
    Column("keyed_sum", String, comment="the same for keyed releases of the same records and texts"),
    Column("row_count", BigInteger),
    Column("word_count", BigInteger),
    Column("sampled", BigInteger),
    Column("stopwords", BigInteger),
    Column("numbers", BigInteger),
    Column("unknown_kept", BigInteger),
    Column("unknown_masked", BigInteger),
    Column("unknown_random", BigInteger),
    Column("endings", BigInteger),
    Column("kept", BigInteger, comment="words that were not chosen as sensitive, or are listed to be kept"),
    Column(
        "alone_masked", BigInteger, comment="words masked because they would be the only replaced words of their group"
    ),
    Column("symbols", BigInteger, comment="characters passed that are neither words, spaces nor punctuation"),
    Column("characters_in_clear", BigInteger),
    Column("largest_row_eps", Numeric(38, 20)),
    Column("at_least", Boolean, nullable=False, comment="whether a row may have been drawn more than once"),
    Column("mean_row_eps", Double),
    Column("worst_log_ratio", Double, comment="largest verified log-ratio of two replaced words of a group"),
    Column("hides_among", Integer, comment="smallest number of words that a replaced word hides among"),
    Column(
        "units_masked",
        BigInteger,
        comment="e-mail addresses, numbers, dates and other units, each masked as a whole",
    ),
    Column(
        "struck_at",
        TIMESTAMP,
        comment="UTC; when the release was struck through, which does not change what it spent",
    ),
    Column("struck_reason", String, comment="why it was struck through"),
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
