"""A version of the package with a second revision, which only tests have: it shows that upgrading works."""

import shutil
from pathlib import Path

import pytest

from custext_sql.store import schema

SCRIPT = """
from alembic import op
import sqlalchemy as sa
revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None

def upgrade():
    op.create_table("later", sa.Column("a", sa.Integer))
    op.execute("DELETE FROM settings WHERE key = 'secret'")
    op.execute("INSERT INTO settings (key, value) VALUES ('upgraded', 'yes')")
"""


@pytest.fixture
def next_scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the migrations with a second one, which makes a table, deletes a row and inserts one."""
    scripts = tmp_path_factory.mktemp("next") / "migrations"
    shutil.copytree(schema.find_scripts(), scripts)
    (scripts / "versions" / "0002_later.py").write_text(SCRIPT)
    return scripts


@pytest.fixture
def next_version(next_scripts: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The next version of the package, in this process; the value is the path of its second script."""
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))
    monkeypatch.setattr(schema, "find_scripts", lambda: next_scripts)
    return next_scripts / "versions" / "0002_later.py"
