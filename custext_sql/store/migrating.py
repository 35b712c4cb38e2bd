"""Upgrades a database or a ledger with Alembic. Imported only when needed, since Alembic loads slowly."""

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from custext_sql.store import schema

_one_at_a_time = threading.Lock()  # Alembic keeps what it works on in globals


def upgrade(path: Path) -> None:
    """Upgrade a database file that nobody else has open to this version's revision, in one transaction."""
    engine = create_engine(URL.create("duckdb", database=str(path)), poolclass=NullPool)
    try:
        with engine.begin() as connection:
            run_migrations(connection, "versions", schema.REVISIONS[-1], "alembic_version")
    except DBAPIError as error:
        raise error.orig or error from None
    finally:
        engine.dispose()


def run_migrations(connection: Connection, folder: str, revision: str, version_table: str) -> None:
    """Run the migrations in a folder up to a revision, in the transaction of the caller.

    version_table: the table that has the revision.
    """
    config = Config()
    scripts = schema.find_scripts()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", str(scripts / folder).replace("%", "%%"))
    config.attributes.update(connection=connection, version_table=version_table)
    with _one_at_a_time:
        command.upgrade(config, revision)
