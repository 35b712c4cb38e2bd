"""Only their owner can read databases, ledgers and lists of words, whatever the umask; what is released is for all."""

import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from custext_sql import Sanitizer, build_mapping, load_embeddings
from custext_sql.cli import main
from custext_sql.errors import PrivacyWarning
from custext_sql.files.duckdb_instances import open_instance
from custext_sql.store.database import default_path, locate, reading, warn_if_open
from custext_sql.store.database_files import writing_file
from custext_sql.store.rewriting import compact_database, upgrade_database
from tests.conftest import copy_database


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """With this umask, new files are open to everybody unless somebody says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_database_is_private_however_it_is_made(glove_file: Path, tmp_path: Path, few_shipped: None) -> None:
    assert [mode_of(locate()), mode_of(default_path().parent)] == [0o600, 0o700]
    path = tmp_path / "outer" / "inner" / "a.duckdb"
    load_embeddings(path, glove_file, name="small")
    build_mapping(path, embedding="small", k=4)
    assert [mode_of(made) for made in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    path.chmod(0o644)
    compact_database(path)
    assert mode_of(path) == 0o600


def test_a_database_is_private_once_it_is_upgraded(mapped_db: Path, next_version: Path) -> None:
    mapped_db.chmod(0o644)
    assert upgrade_database(mapped_db) == ("0001", "0002") and mode_of(mapped_db) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_the_log_has_the_permissions_of_its_database(mapped_db: Path, mode: int) -> None:
    """A process that is killed leaves the log behind."""
    mapped_db.chmod(mode)
    log = mapped_db.with_name(f"{mapped_db.name}.wal")
    with writing_file(mapped_db) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # as if killed
        connection.execute("INSERT INTO settings VALUES ('a', 'b')")
    assert log.stat().st_size and mode_of(log) == mode
    with reading(mapped_db) as connection:
        assert connection.execute("SELECT value FROM settings WHERE key = 'a'").fetchall() == [("b",)]


def test_the_log_of_private_data_is_private_too(tmp_path: Path) -> None:
    """A release into a table writes the copied columns to the log first."""
    data = tmp_path / "shop.duckdb"
    duckdb.connect(data).close()
    data.chmod(0o600)
    log = data.with_name(f"{data.name}.wal")
    with open_instance(data) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # as if killed
        connection.execute("CREATE TABLE t AS SELECT 'alice' AS name")
        assert log.stat().st_size and mode_of(log) == 0o600
    assert log.stat().st_size and mode_of(log) == 0o600
    link = tmp_path / "link" / "l.duckdb"
    link.parent.mkdir()
    link.symlink_to(data)
    with open_instance(link) as connection:
        connection.execute("CREATE TABLE more AS SELECT 1")
        assert mode_of(log) == 0o600 and list(link.parent.iterdir()) == [link]
    link.unlink()
    link.parent.rmdir()
    with open_instance(data) as connection:
        assert connection.execute("FROM t").fetchall() == [("alice",)]
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.slow
def test_what_the_operator_gets_is_private_and_what_is_released_is_not(mapped_db: Path, tmp_path: Path) -> None:
    data, database = tmp_path / "in.csv", ("--db", mapped_db)
    data.write_text("id,body\n1,alice zzz\n")
    private = {
        "page.html": ("diff", data, "--column", "body", "--html"),
        "words.csv": ("leaks", data, "--column", "body", "--output"),
        "ledger.csv": ("ledger", "--export"),
        "ledger.json": ("ledger", "--export"),
        "report.html": ("report", "--eps", "1", "--html"),
        "a.key": ("keygen", "--eps", "1"),
    }
    for name, command in private.items():
        done = run(*database, *command, tmp_path / name)
        assert done.exit_code == 0 and mode_of(tmp_path / name) == 0o600, (name, done.output)
    query = "SELECT custext_sanitize('alice', 1, false) AS body"
    released = {"out.csv": ("sanitize", "--column", "body", data), "out.parquet": ("sql", query, "--output")}
    for name, command in released.items():
        done = run(*database, *command, tmp_path / name)
        assert done.exit_code == 0 and mode_of(tmp_path / name) == 0o666, (name, done.output)
    Sanitizer.load(mapped_db).save(tmp_path / "a.sanitizer")
    assert mode_of(tmp_path / "a.sanitizer") == 0o666  # public words, for every worker


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter; those of pytest are private."""
    folder = Path("/tmp") / f"custext-open-{os.getpid()}-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o755)
    yield folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_a_database_that_others_can_read_is_warned_of_once(mapped_db: Path, open_folder: Path) -> None:
    path = copy_database(mapped_db, open_folder / "it's.duckdb")
    path.chmod(0o640)
    with pytest.warns(
        PrivacyWarning, match=r"it's.duckdb is open to other users \(mode 0640\).*; run: chmod 600 "
    ) as said:
        locate(path)
    assert said[0].filename == __file__
    with warnings.catch_warnings(action="error"):
        locate(path)
    os.system(str(said[0].message).partition("run: ")[2])
    assert mode_of(path) == 0o600


def test_the_command_line_prints_the_warning_and_goes_on(mapped_db: Path, open_folder: Path) -> None:
    path = copy_database(mapped_db, open_folder / "a.duckdb")
    for command in (("info", "--json"), ("ledger", "--json"), ("inspect", "alice", "--eps", "1", "--json")):
        path.chmod(0o644)
        warn_if_open.cache_clear()  # as in a new process
        done = run("--db", path, *command)
        assert done.exit_code == 0 and done.stderr.startswith(f"Warning: {path} is open to other users (mode 0644)")
        assert done.stdout.startswith(("{", "["))


@pytest.mark.parametrize("closed", ["file", "folder", "given away"])
def test_nothing_is_said_where_others_cannot_read_or_the_user_cannot_help_it(
    mapped_db: Path, open_folder: Path, closed: str
) -> None:
    path = copy_database(mapped_db, open_folder / "a.duckdb")
    path.chmod(0o600 if closed == "file" else 0o644)
    open_folder.chmod(0o700 if closed == "folder" else 0o755)
    if closed == "given away":
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        os.chown(path, 12345, 12345)
    with warnings.catch_warnings(action="error"):
        locate(path)


def test_a_default_folder_that_others_can_enter_is_warned_of(
    mapped_db: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(open_folder))
    default_path().parent.mkdir(mode=0o755)
    copy_database(mapped_db, default_path())
    with pytest.warns(PrivacyWarning, match=rf"run: chmod 700 {default_path().parent}$"):
        locate()
