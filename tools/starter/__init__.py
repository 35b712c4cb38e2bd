"""Makes the shipped vectors and groups; see custext_sql/starter/PROVENANCE.md."""

from pathlib import Path

STARTER = Path(__file__).parents[2] / "custext_sql" / "starter"
