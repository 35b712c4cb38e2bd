"""Create the table of measurements, the results of experiments."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "measurements",
        sa.Column("measurement_id", sa.String, primary_key=True, comment="a digest of what was measured"),
        sa.Column("kind", sa.String, nullable=False, comment="utility, query, bayes, mask, policy or certificate"),
        sa.Column("metric", sa.String, nullable=False),
        sa.Column("mechanism", sa.String),
        sa.Column("embedding", sa.String, comment="its name"),
        sa.Column("mapping", sa.String, comment="its name"),
        sa.Column("fingerprint", sa.String, comment="of the mapping, or of what else of the words a value depends on"),
        sa.Column("k", sa.Integer),
        sa.Column("eps", sa.Double),
        sa.Column("calibration", sa.String),
        sa.Column("seed", sa.BigInteger),
        sa.Column("word", sa.String, comment="of the vocabulary"),
        sa.Column("dataset", sa.String, comment="its name"),
        sa.Column("digest", sa.String, comment="sha256 over the texts, labels or counts of the dataset"),
        sa.Column("settings", sa.String, nullable=False, comment="JSON: what else the value depends on"),
        sa.Column("value", sa.Double, comment="NULL: there is none, such as a number of draws that is never enough"),
        sa.Column("standard_error", sa.Double),
        sa.Column("measured_at", sa.TIMESTAMP, nullable=False, comment="UTC"),
    )
