"""Create all tables, the view scores, the macro custext_distribution, and the shipped stopwords."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Spelled out, as everything is in migrations: what a revision creates must not change with later versions of the code.
_STOPWORDS = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself
she she's her hers herself it it's its itself they them their theirs themselves what which who whom this that that'll
these those am is are was were be been being have has had having do does did doing a an the and but if or because as
until while of at by for with about against between into through during before after above below to from up down in
out on off over under again further then once here there when where why how all any both each few more most other some
such no nor not only own same so than too very s t can will just don don't should should've now d ll m o re ve y ain
aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn
mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't
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
CREATE MACRO custext_distribution(word, eps) AS TABLE
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


def upgrade() -> None:
    op.create_table(
        "embeddings",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column(
            "source",
            sa.String,
            nullable=False,
            comment="name of the file, or a scheme and a name, such as spacy:PIPELINE",
        ),
        sa.Column("format", sa.String, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False, comment="number of entries"),
        sa.Column("sha256", sa.String, nullable=False, comment="hash of the source"),
        sa.Column("created_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
    )
    op.create_table(
        "tokens",
        sa.Column("embedding", sa.String, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, comment="position in the file, from 0"),
        sa.Column("token", sa.String, nullable=False, comment="the entry, in lower case"),
    )
    op.create_table(
        "vectors",
        sa.Column("embedding", sa.String, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("vector", sa.ARRAY(sa.Float), nullable=False, comment="has embeddings.dimension numbers"),
    )
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
    stopwords = op.create_table(
        "stopwords",
        sa.Column("language", sa.String, primary_key=True),
        sa.Column("word", sa.String, primary_key=True),
        sa.Column("source", sa.String, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("value", sa.String, nullable=False),
    )
    source = "NLTK stopwords corpus, the list of 179 words"
    op.bulk_insert(stopwords, [{"language": "english", "word": word, "source": source} for word in _STOPWORDS.split()])
    op.execute(_SCORES_VIEW)
    op.execute(_MACRO)
