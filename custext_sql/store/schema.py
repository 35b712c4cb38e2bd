"""What a new database contains; a test compares it with the migrations, which read the same file of SQL.

Names serve as keys, so that plain SQL from any client is readable. Only the small tables have primary keys: an index on
the large ones would take more space than their data, and the fingerprint of a mapping protects those instead.
"""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import duckdb

REVISIONS = ("0001",)  # oldest first; this version reads and writes the last one

_VERSION_TABLE = """
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""


def find_scripts() -> Path:
    """Return the folder of the migrations: in the installed package, or in a checkout beside it.

    Python finds the package in a checkout if it runs there, even if another copy is installed.
    """
    package = Path(__file__).parents[1]
    installed = package / "migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


@cache
def _read_statements() -> tuple[str, str, str]:
    """Return the SQL that creates the tables, the view and the macro."""
    tables, view, macro = re.split(
        r"^(?=CREATE (?:VIEW|MACRO))", (find_scripts() / "versions" / "0001.sql").read_text(), flags=re.MULTILINE
    )
    return tables, view, macro


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all that a new database contains, in the caller's transaction, and stamp it with the newest revision."""
    connection.execute(_read_statements()[0] + _VERSION_TABLE)
    create_scores_view(connection)
    create_distribution_macro(connection)
    words = files("custext_sql.starter").joinpath("stopwords-english.txt").read_text(encoding="utf-8").split()
    connection.execute(
        "INSERT INTO stopwords SELECT 'english', unnest(?::VARCHAR[]), 'NLTK stopwords corpus, the list of 179 words'",
        [words],
    )
    connection.execute("INSERT INTO alembic_version VALUES (?)", [REVISIONS[-1]])


def create_scores_view(connection: duckdb.DuckDBPyConnection, schema: str = "") -> None:
    """Create the view `scores`: the scores of all pairs of words, one per row, as people query them.

    schema: a prefix such as `custext.main.`; by default its own database.
    """
    connection.execute(_read_statements()[1].replace("{schema}", schema))


def create_distribution_macro(connection: duckdb.DuckDBPyConnection, schema: str = "") -> None:
    """Create the macro `custext_distribution`: the possible replacements of a word, for any DuckDB client.

    schema: a prefix such as `custext.main.`; by default its own database.
    """
    connection.execute(_read_statements()[2].replace("{schema}", schema))
