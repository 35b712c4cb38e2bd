"""Runs the migrations on the open connection that custext_sql.store.schema.migrate passes in."""

from alembic import context
from alembic.ddl.impl import DefaultImpl


class DuckDBImpl(DefaultImpl):
    __dialect__ = "duckdb"
    transactional_ddl = True


context.configure(connection=context.config.attributes["connection"], transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
