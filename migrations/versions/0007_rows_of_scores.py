"""Store scores as one list per word; add groupings, word limits and ranks; reword the comments of columns."""

import hashlib

import numpy as np
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

# A row that was tampered with must not become a valid one: scores of strangers get a position that no word has, a row
# with a score missing or twice becomes an empty list, and a score that no mapping can have becomes NULL.
_SCORE_ROWS = """
INSERT INTO score_rows BY NAME
SELECT scores.mapping, scores.group_id, coalesce(inputs.position, -1) AS position, CASE
    WHEN count(DISTINCT outputs.position) = count(*)
    THEN list(CASE
        WHEN abs(score) <= 1 AND score * 1048576 = round(score * 1048576) THEN CAST(score * 1048576 AS INTEGER)
    END ORDER BY outputs.position)
    ELSE []
END AS units
FROM kept_scores AS scores
LEFT JOIN groups AS inputs
  ON inputs.mapping = scores.mapping AND inputs.group_id = scores.group_id AND inputs.token = scores.input
LEFT JOIN groups AS outputs
  ON outputs.mapping = scores.mapping AND outputs.group_id = scores.group_id AND outputs.token = scores.output
GROUP BY scores.mapping, scores.group_id, inputs.position
ORDER BY scores.mapping, scores.group_id, inputs.position
"""

_SCORES_VIEW = """
CREATE VIEW scores AS
SELECT score_rows.mapping, score_rows.group_id, inputs.token AS input, outputs.token AS output,
    CAST(score_rows.units[outputs.position + 1] AS DOUBLE) / 1048576 AS score
FROM score_rows AS score_rows
JOIN groups AS inputs
  ON inputs.mapping = score_rows.mapping AND inputs.group_id = score_rows.group_id
  AND inputs.position = score_rows.position
JOIN groups AS outputs ON outputs.mapping = score_rows.mapping AND outputs.group_id = score_rows.group_id
"""

_MACRO = """
CREATE OR REPLACE MACRO custext_distribution(word, eps) AS TABLE
SELECT output, score, weight / sum(weight) OVER () AS probability
FROM (
    SELECT output, score, CASE
        WHEN CAST(eps AS DOUBLE) = 0 THEN CAST(rank = min(rank) OVER () AS DOUBLE)
        WHEN CAST(eps AS DOUBLE) BETWEEN 0.001 AND 100 THEN exp(score / 2 * CAST(eps AS DOUBLE))
        ELSE CAST(
            error('eps must be 0, or between 0.001 and 100; found ' || coalesce(CAST(eps AS VARCHAR), 'NULL'))
            AS DOUBLE
        )
    END AS weight
    FROM (
        SELECT outputs.token AS output, outputs.rank,
            CAST(score_rows.units[outputs.position + 1] AS DOUBLE) / 1048576 AS score
        FROM score_rows AS score_rows
        JOIN groups AS inputs
          ON inputs.mapping = score_rows.mapping AND inputs.group_id = score_rows.group_id
          AND inputs.position = score_rows.position
        JOIN groups AS outputs
          ON outputs.mapping = score_rows.mapping AND outputs.group_id = score_rows.group_id
        WHERE inputs.mapping = (SELECT value FROM settings WHERE key = 'default_mapping')
          AND inputs.token = lower(replace(word, chr(8217), chr(39)))
    )
)
ORDER BY probability DESC, output
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
    _remake_scores()
    op.execute(_MACRO)
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


def _remake_scores() -> None:
    op.execute("CREATE TEMP TABLE kept_scores AS FROM scores")
    op.drop_table("scores")
    op.create_table(
        "score_rows",
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("group_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, comment="position of the input word within the group"),
        sa.Column(
            "units",
            sa.ARRAY(sa.Integer),
            nullable=False,
            comment="score of each output word, in the order of positions, in multiples of 2**-20",
        ),
    )
    op.execute(_SCORE_ROWS)
    op.execute("DROP TABLE kept_scores")
    op.execute(_SCORES_VIEW)


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
        sa.Column("ranks_sha256", sa.String, nullable=False, comment="SHA-256 hash of the ranks of words"),
        sa.Column("created_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
    )
    _digest_ranks()
    op.execute(
        "INSERT INTO mappings BY NAME "
        "SELECT kept_mappings.*, 'greedy' AS grouping, coalesce(sha256, '') AS ranks_sha256 "
        "FROM kept_mappings LEFT JOIN kept_digests ON kept_digests.mapping = kept_mappings.name"
    )
    op.execute("DROP TABLE kept_mappings")
    op.execute("DROP TABLE kept_digests")


def _digest_ranks() -> None:
    """Write the digest of the ranks of each mapping: of 32-bit integers, lowest byte first, in the order of words."""
    connection = op.get_bind()
    op.execute("CREATE TEMP TABLE kept_digests (mapping VARCHAR, sha256 VARCHAR)")
    rows = connection.exec_driver_sql(
        "SELECT mapping, list(rank ORDER BY group_id, position) FROM groups GROUP BY mapping"
    ).fetchall()
    for mapping, ranks in rows:
        digest = hashlib.sha256(np.array(ranks, dtype="<i4").tobytes()).hexdigest()
        connection.execute(
            sa.text("INSERT INTO kept_digests VALUES (:mapping, :digest)"), {"mapping": mapping, "digest": digest}
        )
