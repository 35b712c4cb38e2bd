"""Alembic migrations, installed as custext_sql.migrations."""
