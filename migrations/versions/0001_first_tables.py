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
    op.create_table(
        "releases",
        sa.Column("release_id", sa.String, primary_key=True),
        sa.Column(
            "run_id",
            sa.String,
            nullable=False,
            comment="the same for all parts of a release that several processes enter",
        ),
        sa.Column("state", sa.String, nullable=False, comment="pending until the output is in place, then complete"),
        sa.Column("started_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
        sa.Column("completed_at", sa.TIMESTAMP, comment="UTC"),
        sa.Column("dataset", sa.String, nullable=False, comment="a path, or the name given with --dataset"),
        sa.Column("parts", sa.ARRAY(sa.String), nullable=False, comment="files or tables that the release covers"),
        sa.Column(
            "text_columns", sa.String, nullable=False, comment="names of the sanitized columns, separated by commas"
        ),
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("eps", sa.Double, comment="eps per word; the largest, if there are several"),
        sa.Column("plus", sa.Boolean, comment="NULL if a query decides row by row"),
        sa.Column("policy", sa.String, nullable=False),
        sa.Column("calibration", sa.String, nullable=False),
        sa.Column("draws", sa.String, nullable=False, comment="fresh, keyed, seeded, or raw: nothing was protected"),
        sa.Column("key_id", sa.String),
        sa.Column("record_column", sa.String, comment="column of IDs that records were made from"),
        sa.Column("keyed_sum", sa.String, comment="the same for keyed releases of the same records and texts"),
        sa.Column("row_count", sa.BigInteger),
        sa.Column("word_count", sa.BigInteger),
        sa.Column("sampled", sa.BigInteger),
        sa.Column("stopwords", sa.BigInteger),
        sa.Column("numbers", sa.BigInteger),
        sa.Column("unknown_kept", sa.BigInteger),
        sa.Column("unknown_masked", sa.BigInteger),
        sa.Column("unknown_random", sa.BigInteger),
        sa.Column("endings", sa.BigInteger),
        sa.Column("kept", sa.BigInteger, comment="words that were not chosen as sensitive, or are listed to be kept"),
        sa.Column(
            "alone_masked",
            sa.BigInteger,
            comment="words masked because they would be the only replaced words of their group",
        ),
        sa.Column("symbols", sa.BigInteger, comment="characters passed that are neither words, spaces nor punctuation"),
        sa.Column("characters_in_clear", sa.BigInteger),
        sa.Column("largest_row_eps", sa.Numeric(38, 20)),
        sa.Column("at_least", sa.Boolean, nullable=False, comment="whether a row may have been drawn more than once"),
        sa.Column("mean_row_eps", sa.Double),
        sa.Column("worst_log_ratio", sa.Double, comment="largest verified log-ratio of two replaced words of a group"),
        sa.Column("hides_among", sa.Integer, comment="smallest number of words that a replaced word hides among"),
        sa.Column(
            "units_masked",
            sa.BigInteger,
            comment="e-mail addresses, numbers, dates and other units, each masked as a whole",
        ),
        sa.Column(
            "struck_at",
            sa.TIMESTAMP,
            comment="UTC; when the release was struck through, which does not change what it spent",
        ),
        sa.Column("struck_reason", sa.String, comment="why it was struck through"),
    )
    source = "NLTK stopwords corpus, the list of 179 words"
    op.bulk_insert(stopwords, [{"language": "english", "word": word, "source": source} for word in _STOPWORDS.split()])
    op.execute(_SCORES_VIEW)
    op.execute(_MACRO)
