"""Create all tables of the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "custext_keyed",
        sa.Column("key_id", sa.String, primary_key=True),
        sa.Column("dataset", sa.String, primary_key=True, comment="as names are compared"),
        sa.Column("version", sa.BigInteger, nullable=False, comment="how often it changed"),
        sa.Column("largest_row_eps", sa.String, nullable=False, comment="the most that the key spent on one record"),
        sa.Column("parts", sa.JSON, nullable=False, comment="the parts of custext_records that count"),
    )
    op.create_table(
        "custext_records",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("part", sa.String, nullable=False, comment="digests that were added together"),
        sa.Column("low", sa.SmallInteger, nullable=False, comment="first byte of the smallest record in it"),
        sa.Column("high", sa.SmallInteger, nullable=False, comment="first byte of the largest record in it"),
        sa.Column("written_at", sa.DateTime, nullable=False, comment="UTC"),
        sa.Column(
            "drawn",
            sa.LargeBinary,
            nullable=False,
            comment="digests of record and text, and the words drawn: 8 + 8 + 4 bytes",
        ),
    )
    op.create_index("ix_custext_records_part", "custext_records", ["part"])
    op.create_table(
        "custext_releases",
        sa.Column("release_id", sa.String, primary_key=True),
        sa.Column("run_id", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("started_at", sa.DateTime, nullable=False),
        sa.Column("completed_at", sa.DateTime),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("dataset", sa.String, nullable=False),
        sa.Column("parts", sa.JSON, nullable=False),
        sa.Column("sanitized", sa.JSON, nullable=False),
        sa.Column("copied", sa.JSON, nullable=False),
        sa.Column("dropped", sa.JSON, nullable=False),
        sa.Column("outputs", sa.JSON, nullable=False),
        sa.Column("mapping", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("eps", sa.Double),
        sa.Column("plus", sa.Boolean),
        sa.Column("policy", sa.String, nullable=False),
        sa.Column("calibration", sa.String, nullable=False),
        sa.Column("draws", sa.String, nullable=False),
        sa.Column("key_id", sa.String),
        sa.Column("record_column", sa.String),
        sa.Column("by_record", sa.Boolean, nullable=False),
        sa.Column("row_count", sa.BigInteger),
        sa.Column("word_count", sa.BigInteger),
        sa.Column("counts", sa.JSON(none_as_null=True)),
        sa.Column("symbols", sa.BigInteger),
        sa.Column("characters_in_clear", sa.BigInteger),
        sa.Column("largest_row_eps", sa.String),
        sa.Column("at_least", sa.Boolean, nullable=False),
        sa.Column("mean_row_eps", sa.Double),
        sa.Column("worst_log_ratio", sa.Double),
        sa.Column("hides_among", sa.BigInteger),
        sa.Column("struck_at", sa.DateTime),
        sa.Column("struck_reason", sa.String),
    )
