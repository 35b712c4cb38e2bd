"""The schema: the single source of truth. Migrations lead to it, and a test compares the two.

Names serve as keys, so that plain SQL from any client is readable. Only the small tables have primary keys: an index on
the large ones would take more space than their data, and the fingerprint of a mapping protects those instead.
"""

from sqlalchemy import TIMESTAMP, BigInteger, Boolean, Column, Double, Float, Integer, MetaData, Numeric, String, Table
from sqlalchemy.types import ARRAY

metadata = MetaData()

embeddings = Table(
    "embeddings",
    metadata,
    Column("name", String, primary_key=True),
    Column("source", String, nullable=False, comment="file name, or the scheme and name it was taken from"),
    Column("format", String, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("size", Integer, nullable=False, comment="number of tokens"),
    Column("sha256", String, nullable=False, comment="of the source as it was read"),
    Column("created_at", TIMESTAMP, nullable=False, comment="UTC"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("embedding", String, nullable=False),
    Column("position", Integer, nullable=False, comment="0 is the first of the file"),
    Column("token", String, nullable=False, comment="lower case"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("embedding", String, nullable=False),
    Column("position", Integer, nullable=False),
    Column("vector", ARRAY(Float), nullable=False, comment="as long as embeddings.dimension"),
)

mappings = Table(
    "mappings",
    metadata,
    Column("name", String, primary_key=True),
    Column("embedding", String, nullable=False, comment="may have been dropped since: a mapping stands on its own"),
    Column("embedding_sha256", String, nullable=False),
    Column("measure", String, nullable=False),
    Column("larger_is_closer", Boolean, nullable=False),
    Column("k", Integer, nullable=False),
    Column("normalization", String, nullable=False),
    Column("pivot_order", String, nullable=False),
    Column("seed", BigInteger, comment="of a random pivot order"),
    Column("stopword_language", String, comment="of stopwords grouped apart"),
    Column("words", Integer, nullable=False),
    Column("group_count", Integer, nullable=False),
    Column("left_out", Integer, nullable=False, comment="tokens of the embedding that are not one word"),
    Column("fingerprint", String, nullable=False, comment="sha256 over words, groups and scores"),
    Column("created_at", TIMESTAMP, nullable=False, comment="UTC"),
)

groups = Table(
    "groups",
    metadata,
    Column("mapping", String, nullable=False),
    Column("token", String, nullable=False),
    Column("group_id", Integer, nullable=False),
    Column("position", Integer, nullable=False, comment="within the group; 0 is the pivot"),
)

scores = Table(
    "scores",
    metadata,
    Column("mapping", String, nullable=False),
    Column("group_id", Integer, nullable=False),
    Column("input", String, nullable=False),
    Column("output", String, nullable=False),
    Column("score", Double, nullable=False, comment="a multiple of 2**-20"),
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
    Column("run_id", String, nullable=False, comment="shared by the parts that several processes enter"),
    Column("state", String, nullable=False, comment="pending until the output is there, then complete"),
    Column("started_at", TIMESTAMP, nullable=False, comment="UTC"),
    Column("completed_at", TIMESTAMP, comment="UTC"),
    Column("dataset", String, nullable=False, comment="a path, or the name it was given"),
    Column("parts", ARRAY(String), nullable=False, comment="files or tables that spend together"),
    Column("text_columns", String, nullable=False, comment="separated by commas"),
    Column("mapping", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("eps", Double, comment="of a word; the largest"),
    Column("plus", Boolean, comment="NULL where a query says so row by row"),
    Column("policy", String, nullable=False),
    Column("calibration", String, nullable=False),
    Column("draws", String, nullable=False, comment="fresh, keyed, seeded, or raw: nothing was protected"),
    Column("key_id", String),
    Column("record_column", String, comment="whose values, with the name of the text column, a key knows rows by"),
    Column("keyed_sum", String, comment="equal for keyed releases of the same records and texts"),
    Column("row_count", BigInteger),
    Column("word_count", BigInteger),
    Column("sampled", BigInteger),
    Column("stopwords", BigInteger),
    Column("numbers", BigInteger),
    Column("unknown_kept", BigInteger),
    Column("unknown_masked", BigInteger),
    Column("unknown_random", BigInteger),
    Column("endings", BigInteger),
    Column("kept", BigInteger, comment="words that a choice of what is sensitive left as they were"),
    Column("alone_masked", BigInteger, comment="words masked as the only drawn ones of their group"),
    Column("symbols", BigInteger, comment="characters that are no words, spaces or punctuation, and passed"),
    Column("characters_in_clear", BigInteger),
    Column("largest_row_eps", Numeric(38, 20)),
    Column("at_least", Boolean, nullable=False, comment="a row may have been drawn more than once"),
    Column("mean_row_eps", Double),
    Column("worst_log_ratio", Double, comment="verified, of any two drawn words of a group"),
    Column("hides_among", Integer, comment="how many words of a group are drawn at least, where any are"),
)

measurements = Table(
    "measurements",
    metadata,
    Column("measurement_id", String, primary_key=True, comment="a digest of what was measured"),
    Column("kind", String, nullable=False, comment="utility, query, bayes, mask, policy or certificate"),
    Column("metric", String, nullable=False),
    Column("mechanism", String),
    Column("embedding", String, comment="its name"),
    Column("mapping", String, comment="its name"),
    Column("fingerprint", String, comment="of the mapping, or of what else of the words a value depends on"),
    Column("k", Integer),
    Column("eps", Double),
    Column("calibration", String),
    Column("seed", BigInteger),
    Column("word", String, comment="of the vocabulary"),
    Column("dataset", String, comment="its name"),
    Column("digest", String, comment="of the texts, labels or counts of the dataset, keyed with the user's secret"),
    Column("settings", String, nullable=False, comment="JSON: what else the value depends on"),
    Column("value", Double, comment="NULL: there is none, such as a number of draws that is never enough"),
    Column("standard_error", Double),
    Column("measured_at", TIMESTAMP, nullable=False, comment="UTC"),
)
