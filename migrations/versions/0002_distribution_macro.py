"""Create a table macro with which any DuckDB client can list the possible replacements of a word."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_MACRO = """
CREATE MACRO custext_distribution(word, eps) AS TABLE
SELECT output, score, weight / sum(weight) OVER () AS probability
FROM (
    SELECT output, score, exp(score / 2 * CASE
        WHEN CAST(eps AS DOUBLE) BETWEEN 0.001 AND 100 THEN CAST(eps AS DOUBLE)
        ELSE CAST(
            error('eps must lie between 0.001 and 100; found ' || coalesce(CAST(eps AS VARCHAR), 'NULL')) AS DOUBLE
        )
    END) AS weight
    FROM scores
    WHERE mapping = (SELECT value FROM settings WHERE key = 'default_mapping')
      AND input = lower(replace(word, chr(8217), chr(39)))
)
ORDER BY probability DESC, output
"""


def upgrade() -> None:
    op.execute(_MACRO)
