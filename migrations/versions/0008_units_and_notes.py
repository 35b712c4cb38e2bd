"""Count masked units; let releases be struck through with a reason."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_COMMENTS = {
    "kept": "words that were not chosen as sensitive, or are listed to be kept",
    "units_masked": "e-mail addresses, numbers, dates and other units, each masked as a whole",
    "struck_at": "UTC; when the release was struck through, which does not change what it spent",
    "struck_reason": "why it was struck through",
}


def upgrade() -> None:
    op.add_column("releases", sa.Column("units_masked", sa.BigInteger))
    op.add_column("releases", sa.Column("struck_at", sa.TIMESTAMP))
    op.add_column("releases", sa.Column("struck_reason", sa.String))
    for column, comment in _COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN releases.{column} IS '{comment}'")
