"""Create the ledger, which records what each release spent and what it left in the clear."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COUNTS = (
    *("row_count", "word_count", "sampled", "stopwords", "numbers", "unknown_kept", "unknown_masked", "unknown_random"),
    *("endings", "sampled_unchanged", "characters_in_clear"),
)


def upgrade() -> None:
    op.create_table(
        "releases",
        sa.Column("release_id", sa.String, primary_key=True),
        sa.Column("state", sa.String, nullable=False, comment="pending until the output is there, then complete"),
        sa.Column("started_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
        sa.Column("completed_at", sa.TIMESTAMP, comment="UTC"),
        sa.Column("dataset", sa.String, nullable=False, comment="a path, or the name it was given"),
        sa.Column("text_columns", sa.String, nullable=False, comment="separated by commas"),
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("eps", sa.Double, comment="of a word; the largest"),
        sa.Column("plus", sa.Boolean, comment="NULL where a query says so row by row"),
        sa.Column("policy", sa.String, nullable=False),
        sa.Column("calibration", sa.String, nullable=False),
        sa.Column("draws", sa.String, nullable=False, comment="fresh, keyed or seeded"),
        sa.Column("key_id", sa.String),
        sa.Column(
            "record_column", sa.String, comment="whose values, with the name of the text column, a key knows rows by"
        ),
        *(sa.Column(name, sa.BigInteger) for name in _COUNTS),
        sa.Column("largest_row_eps", sa.Double),
        sa.Column("mean_row_eps", sa.Double),
    )
