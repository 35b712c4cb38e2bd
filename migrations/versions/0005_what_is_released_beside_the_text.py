"""Remove what reveals the originals: the count of words that drew themselves, and unkeyed digests of texts."""

import json
import uuid

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_DIGESTS = ("tested", "learned")  # keys in the settings of a measurement


def upgrade() -> None:
    _remake_releases()
    _replace_digests()
    op.execute(
        "COMMENT ON COLUMN measurements.digest IS "
        "'of the texts, labels or counts of the dataset, keyed with the user''s secret'"
    )


def _remake_releases() -> None:
    """Create the table again, because DuckDB cannot drop a column of a table that has an index."""
    op.execute("CREATE TEMP TABLE kept_releases AS SELECT * EXCLUDE (sampled_unchanged) FROM releases")
    op.drop_table("releases")
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
        sa.Column("row_count", sa.BigInteger),
        sa.Column("word_count", sa.BigInteger),
        sa.Column("sampled", sa.BigInteger),
        sa.Column("stopwords", sa.BigInteger),
        sa.Column("numbers", sa.BigInteger),
        sa.Column("unknown_kept", sa.BigInteger),
        sa.Column("unknown_masked", sa.BigInteger),
        sa.Column("unknown_random", sa.BigInteger),
        sa.Column("endings", sa.BigInteger),
        sa.Column("alone_masked", sa.BigInteger, comment="words masked as the only drawn ones of their group"),
        sa.Column("characters_in_clear", sa.BigInteger),
        sa.Column("largest_row_eps", sa.Double),
        sa.Column("mean_row_eps", sa.Double),
        sa.Column("worst_log_ratio", sa.Double, comment="verified, of any two drawn words of a group"),
        sa.Column("hides_among", sa.Integer, comment="how many words of a group are drawn at least, where any are"),
    )
    op.execute("INSERT INTO releases BY NAME FROM kept_releases")
    op.execute("DROP TABLE kept_releases")


def _replace_digests() -> None:
    """Replace digests with random names, equal ones alike: results are kept, and nobody can check a guess at a text."""
    connection = op.get_bind()
    rows = connection.execute(
        sa.text("SELECT measurement_id, digest, settings FROM measurements WHERE digest IS NOT NULL")
    ).fetchall()
    names: dict[str, str] = {}

    def rename(digest: str) -> str:
        return names.setdefault(digest, uuid.uuid4().hex)

    for measurement_id, digest, settings in rows:
        found = json.loads(settings)
        found.update({key: rename(found[key]) for key in _DIGESTS if found.get(key)})
        connection.execute(
            sa.text(
                "UPDATE measurements SET measurement_id = :new, digest = :digest, settings = :settings "
                "WHERE measurement_id = :old"
            ),
            {
                "new": uuid.uuid4().hex[:16],
                "digest": rename(digest),
                "settings": json.dumps(found, sort_keys=True),
                "old": measurement_id,
            },
        )
