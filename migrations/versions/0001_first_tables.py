"""Create the tables of embeddings, mappings, stopwords and settings."""

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


def upgrade() -> None:
    op.create_table(
        "embeddings",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("source", sa.String, nullable=False, comment="file name, or the scheme and name it was taken from"),
        sa.Column("format", sa.String, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False, comment="number of tokens"),
        sa.Column("sha256", sa.String, nullable=False, comment="of the source as it was read"),
        sa.Column("created_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
    )
    op.create_table(
        "tokens",
        sa.Column("embedding", sa.String, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, comment="0 is the first of the file"),
        sa.Column("token", sa.String, nullable=False, comment="lower case"),
    )
    op.create_table(
        "vectors",
        sa.Column("embedding", sa.String, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("vector", sa.ARRAY(sa.Float), nullable=False, comment="as long as embeddings.dimension"),
    )
    op.create_table(
        "mappings",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column(
            "embedding",
            sa.String,
            nullable=False,
            comment="may have been dropped since: a mapping stands on its own",
        ),
        sa.Column("embedding_sha256", sa.String, nullable=False),
        sa.Column("measure", sa.String, nullable=False),
        sa.Column("larger_is_closer", sa.Boolean, nullable=False),
        sa.Column("k", sa.Integer, nullable=False),
        sa.Column("normalization", sa.String, nullable=False),
        sa.Column("pivot_order", sa.String, nullable=False),
        sa.Column("seed", sa.BigInteger, comment="of a random pivot order"),
        sa.Column("stopword_language", sa.String, comment="of stopwords grouped apart"),
        sa.Column("words", sa.Integer, nullable=False),
        sa.Column("group_count", sa.Integer, nullable=False),
        sa.Column("left_out", sa.Integer, nullable=False, comment="tokens of the embedding that are not one word"),
        sa.Column("fingerprint", sa.String, nullable=False, comment="sha256 over words, groups and scores"),
        sa.Column("created_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
    )
    op.create_table(
        "groups",
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("group_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, comment="within the group; 0 is the pivot"),
    )
    op.create_table(
        "scores",
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("group_id", sa.Integer, nullable=False),
        sa.Column("input", sa.String, nullable=False),
        sa.Column("output", sa.String, nullable=False),
        sa.Column("score", sa.Double, nullable=False, comment="a multiple of 2**-20"),
    )
    stopwords = op.create_table(
        "stopwords",
        sa.Column("language", sa.String, primary_key=True),
        sa.Column("word", sa.String, primary_key=True),
        sa.Column("source", sa.String, nullable=False),
    )
    source = "NLTK stopwords corpus, the list of 179 words"
    op.bulk_insert(stopwords, [{"language": "english", "word": word, "source": source} for word in _STOPWORDS.split()])
    op.create_table(
        "settings",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("value", sa.String, nullable=False),
    )
