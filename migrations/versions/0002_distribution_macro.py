"""A table macro that shows what a word may become, for any DuckDB client."""

from alembic import op

from custext_sql.distribution_macro import write_distribution_macro

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(write_distribution_macro())


def downgrade() -> None:
    op.execute("DROP MACRO TABLE custext_distribution")
