"""Add to each mapping its grouping and word limit, and to each word its rank; reword the comments of columns."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# The rank of a word is its position in the vector file, as far as that is known: if the embedding was dropped or
# replaced, the order within the mapping serves instead.
_RANKED_GROUPS = """
CREATE TEMP TABLE kept_groups AS
SELECT mapping, token, group_id, position, CASE
    WHEN count(DISTINCT file_position) OVER words = count(*) OVER words AND min(file_position) OVER words >= 0
    THEN file_position
    ELSE row_number() OVER (PARTITION BY mapping ORDER BY group_id, position) - 1
END AS rank
FROM (
    SELECT groups.*, files.position AS file_position
    FROM groups
    LEFT JOIN mappings ON mappings.name = groups.mapping
    LEFT JOIN embeddings ON embeddings.name = mappings.embedding AND embeddings.sha256 = mappings.embedding_sha256
    LEFT JOIN (SELECT embedding, token, min(position) AS position FROM tokens GROUP BY embedding, token) AS files
      ON files.embedding = embeddings.name AND files.token = groups.token
)
WINDOW words AS (PARTITION BY mapping)
"""

_COMMENTS = {
    "embeddings.source": "name of the file, or a scheme and a name, such as spacy:PIPELINE",
    "embeddings.size": "number of entries",
    "embeddings.sha256": "hash of the source",
    "tokens.position": "position in the file, from 0",
    "tokens.token": "the entry, in lower case",
    "vectors.vector": "has embeddings.dimension numbers",
    "releases.run_id": "the same for all parts of a release that several processes enter",
    "releases.state": "pending until the output is in place, then complete",
    "releases.dataset": "a path, or the name given with --dataset",
    "releases.parts": "files or tables that the release covers",
    "releases.text_columns": "names of the sanitized columns, separated by commas",
    "releases.eps": "eps per word; the largest, if there are several",
    "releases.plus": "NULL if a query decides row by row",
    "releases.record_column": "column of IDs that records were made from",
    "releases.keyed_sum": "the same for keyed releases of the same records and texts",
    "releases.kept": "words that were not chosen as sensitive",
    "releases.alone_masked": "words masked because they would be the only replaced words of their group",
    "releases.symbols": "characters passed that are neither words, spaces nor punctuation",
    "releases.at_least": "whether a row may have been drawn more than once",
    "releases.worst_log_ratio": "largest verified log-ratio of two replaced words of a group",
    "releases.hides_among": "smallest number of words that a replaced word hides among",
    "measurements.measurement_id": "digest of everything the value depends on",
    "measurements.kind": "utility, query, bayes, context, mask, policy or certificate",
    "measurements.embedding": "name of the embedding",
    "measurements.mapping": "name of the mapping",
    "measurements.fingerprint": "fingerprint of the mapping, or of whatever else about the words the value depends on",
    "measurements.word": "word of the vocabulary that the value is about",
    "measurements.dataset": "name of the dataset",
    "measurements.digest": "digest of the dataset''s texts, labels or counts, keyed with the user''s secret",
    "measurements.settings": "what else the value depends on, as JSON",
    "measurements.value": "NULL if, for example, no number of draws is enough",
}


def upgrade() -> None:
    op.execute(_RANKED_GROUPS)
    _remake_groups()
    _remake_mappings()
    for column, comment in _COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN {column} IS '{comment}'")


def _remake_groups() -> None:
    op.drop_table("groups")
    op.create_table(
        "groups",
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("group_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, comment="position within the group, from 0"),
        sa.Column(
            "rank", sa.Integer, nullable=False, comment="position in the vector file, from 0; frequent words come first"
        ),
    )
    op.execute("INSERT INTO groups BY NAME FROM kept_groups ORDER BY mapping, group_id, position")
    op.execute("DROP TABLE kept_groups")


def _remake_mappings() -> None:
    """Create the table again, because DuckDB cannot add a column that is never NULL to a table that has an index."""
    op.execute("CREATE TEMP TABLE kept_mappings AS SELECT * FROM mappings ORDER BY rowid")
    op.drop_table("mappings")
    op.create_table(
        "mappings",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column(
            "embedding",
            sa.String,
            nullable=False,
            comment="name of the embedding; a mapping remains when it is dropped",
        ),
        sa.Column("embedding_sha256", sa.String, nullable=False),
        sa.Column("measure", sa.String, nullable=False),
        sa.Column("larger_is_closer", sa.Boolean, nullable=False),
        sa.Column("k", sa.Integer, nullable=False, comment="words per group"),
        sa.Column("grouping", sa.String, nullable=False, comment="greedy or refined"),
        sa.Column("normalization", sa.String, nullable=False),
        sa.Column("pivot_order", sa.String, nullable=False),
        sa.Column("seed", sa.BigInteger, comment="seed of the random pivot order"),
        sa.Column("stopword_language", sa.String, comment="language of the stopwords that were grouped separately"),
        sa.Column("word_limit", sa.Integer, comment="entries of the embedding used, from the first on; NULL for all"),
        sa.Column("words", sa.Integer, nullable=False),
        sa.Column("group_count", sa.Integer, nullable=False),
        sa.Column("left_out", sa.Integer, nullable=False, comment="entries used that are not single words"),
        sa.Column("fingerprint", sa.String, nullable=False, comment="SHA-256 hash of words, groups and scores"),
        sa.Column("created_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
    )
    op.execute("INSERT INTO mappings BY NAME SELECT *, 'greedy' AS grouping FROM kept_mappings")
    op.execute("DROP TABLE kept_mappings")
