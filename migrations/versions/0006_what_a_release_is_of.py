"""Add to each release its parts, its run and its keyed sum; store totals as exact decimals."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table again, because DuckDB cannot change a column of a table that has an index."""
    op.execute("CREATE TEMP TABLE kept_releases AS SELECT * FROM releases")
    op.drop_table("releases")
    op.create_table(
        "releases",
        sa.Column("release_id", sa.String, primary_key=True),
        sa.Column("run_id", sa.String, nullable=False, comment="shared by the parts that several processes enter"),
        sa.Column("state", sa.String, nullable=False, comment="pending until the output is there, then complete"),
        sa.Column("started_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
        sa.Column("completed_at", sa.TIMESTAMP, comment="UTC"),
        sa.Column("dataset", sa.String, nullable=False, comment="a path, or the name it was given"),
        sa.Column("parts", sa.ARRAY(sa.String), nullable=False, comment="files or tables that spend together"),
        sa.Column("text_columns", sa.String, nullable=False, comment="separated by commas"),
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("eps", sa.Double, comment="of a word; the largest"),
        sa.Column("plus", sa.Boolean, comment="NULL where a query says so row by row"),
        sa.Column("policy", sa.String, nullable=False),
        sa.Column("calibration", sa.String, nullable=False),
        sa.Column("draws", sa.String, nullable=False, comment="fresh, keyed, seeded, or raw: nothing was protected"),
        sa.Column("key_id", sa.String),
        sa.Column(
            "record_column", sa.String, comment="whose values, with the name of the text column, a key knows rows by"
        ),
        sa.Column("keyed_sum", sa.String, comment="equal for keyed releases of the same records and texts"),
        sa.Column("row_count", sa.BigInteger),
        sa.Column("word_count", sa.BigInteger),
        sa.Column("sampled", sa.BigInteger),
        sa.Column("stopwords", sa.BigInteger),
        sa.Column("numbers", sa.BigInteger),
        sa.Column("unknown_kept", sa.BigInteger),
        sa.Column("unknown_masked", sa.BigInteger),
        sa.Column("unknown_random", sa.BigInteger),
        sa.Column("endings", sa.BigInteger),
        sa.Column("kept", sa.BigInteger, comment="words that a choice of what is sensitive left as they were"),
        sa.Column("alone_masked", sa.BigInteger, comment="words masked as the only drawn ones of their group"),
        sa.Column("symbols", sa.BigInteger, comment="characters that are no words, spaces or punctuation, and passed"),
        sa.Column("characters_in_clear", sa.BigInteger),
        sa.Column("largest_row_eps", sa.Numeric(38, 20)),
        sa.Column("at_least", sa.Boolean, nullable=False, comment="a row may have been drawn more than once"),
        sa.Column("mean_row_eps", sa.Double),
        sa.Column("worst_log_ratio", sa.Double, comment="verified, of any two drawn words of a group"),
        sa.Column("hides_among", sa.Integer, comment="how many words of a group are drawn at least, where any are"),
    )
    op.execute(
        "INSERT INTO releases BY NAME SELECT * REPLACE ("
        "printf('%.15g', largest_row_eps)::DECIMAL(38, 20) AS largest_row_eps), "
        "release_id AS run_id, [dataset] AS parts, dataset = '<query>' AS at_least FROM kept_releases"
    )
    op.execute("DROP TABLE kept_releases")
