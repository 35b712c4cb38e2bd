"""Runs migrations on the open connection that custext_sql.store.migrating passes in.

Those in `versions` are of the custext database, those in `ledger` of the ledger.
"""

from alembic import context
from alembic.ddl.impl import DefaultImpl


class DuckDBImpl(DefaultImpl):
    __dialect__ = "duckdb"
    transactional_ddl = True


given = context.config.attributes
context.configure(connection=given["connection"], version_table=given["version_table"], transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
