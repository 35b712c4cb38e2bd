"""Which sanitizer the functions of a DuckDB instance use, and for how long."""

import gc
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from custext_sql import (
    CusTextError,
    Sanitizer,
    build_mapping,
    connect,
    load_embeddings,
    make_key,
    register,
    sanitize_file,
)
from custext_sql.errors import DatabaseError, SettingError
from custext_sql.sanitizer.words import Vocabulary


def served_policy(connection: duckdb.DuckDBPyConnection) -> str:
    [(text,)] = connection.execute("SELECT custext_sanitize('zq', 1.0, true)").fetchall()
    return {"zq": "paper", "<unk>": "strict"}[text]


def test_registering_again_replaces_what_is_served(mapped_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.duckdb"
    first, second = duckdb.connect(path), duckdb.connect(path)
    register(first, mapped_db)
    assert served_policy(first) == served_policy(second) == "strict"
    register(second, mapped_db, policy="paper")
    assert served_policy(first) == served_policy(second) == "paper"
    register(first.cursor(), mapped_db)
    assert served_policy(second) == "strict"
    first.close()
    assert served_policy(second) == "strict"
    register(second, mapped_db, policy="paper")
    assert served_policy(second) == "paper"
    second.close()
    with duckdb.connect(path) as again:  # a new instance has no functions
        with pytest.raises(duckdb.CatalogException):
            served_policy(again)
        register(again, mapped_db)
        assert served_policy(again) == "strict"


def test_registering_again_serves_the_mapping_as_it_is_now(mapped_db: Path) -> None:
    with duckdb.connect() as connection:
        register(connection, mapped_db)
        [(before,)] = connection.execute("SELECT custext_epsilon('alice', 1.0, true)").fetchall()
        build_mapping(mapped_db, embedding="small", k=2, name="small-euclidean-k4", replace=True)
        register(connection, mapped_db)
        outputs = connection.execute("SELECT DISTINCT custext_sanitize('alice', 0.1, true) FROM range(500)").fetchall()
    assert before == 1.0
    assert len(outputs) == 2


def test_a_transaction_that_rolls_back_leaves_the_functions(mapped_db: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE t (a INTEGER)")
        register(connection, mapped_db)
        assert served_policy(connection) == "strict"
        connection.execute("ROLLBACK")
        assert served_policy(connection) == "strict"
        register(connection, mapped_db, policy="paper")
        assert served_policy(connection) == "paper"


def test_a_database_open_for_reading_only_serves(mapped_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'alice' AS name")
    with duckdb.connect(path, read_only=True) as connection:
        register(connection, mapped_db)
        assert connection.execute("SELECT count(custext_sanitize(name, 1.0, true)) FROM t").fetchall() == [(1,)]
    with duckdb.connect(mapped_db, read_only=True) as connection:  # the custext database itself
        register(connection, mapped_db)
        assert served_policy(connection) == "strict"


@pytest.mark.parametrize("name", ["CUSTEXT_SANITIZE", "custext_registration"])
def test_a_macro_in_place_of_a_function_is_refused(mapped_db: Path, tmp_path: Path, name: str) -> None:
    """Texts could pass through the macro in the clear."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE MACRO {name}(text, eps, plus) AS text")
        with pytest.raises(CusTextError, match=f"(?i)macro {name} in database memory"):
            register(connection, mapped_db)
        connection.execute(f"DROP MACRO {name}")
        register(connection, mapped_db)
        assert served_policy(connection) == "strict"
    with duckdb.connect(mapped_db) as connection:
        connection.execute(f"CREATE MACRO {name}(text, eps, plus) AS text")
    with pytest.raises(CusTextError, match=f"(?i)macro {name} in database custext"):
        connect(mapped_db)


def count_vocabularies() -> int:
    """Return the number of vocabularies in this process."""
    gc.collect()
    return sum(type(one) is Vocabulary for one in gc.get_objects())


@pytest.mark.slow
def test_keys_share_everything_but_themselves(mapped_db: Path, tmp_path: Path) -> None:
    before = count_vocabularies()
    connections = []
    for name in ("one", "two", "three"):
        make_key(tmp_path / name, mapped_db)
        connections.append(connect(mapped_db, key_file=tmp_path / name))
    assert count_vocabularies() <= before + 1
    query = "SELECT custext_sanitize_keyed(repeat('alice bob ', 100), 'r')"
    assert len({connection.execute(query).fetchone() for connection in connections}) == 3
    for connection in connections:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "c.close()",
        "d = c.cursor(); d.execute(query); c.close()",
        "d = c.cursor(); del c; d.execute(query).fetchall()",
        "c.execute(query)",
        "e = duckdb.connect(); register(e, path); register(c.cursor(), path); e.execute(query).fetchall()",
        "[connect(path) for _ in range(3)]",
        "import importlib, custext_sql.sql.functions as f; importlib.reload(f); f.register(c, path); c.execute(query)",
    ],
)
def test_connections_closed_in_any_order_or_never_leave_no_noise(mapped_db: Path, ending: str) -> None:
    script = f"""
        __file__ = "script.py"  # without a file, DuckDB prints a bar if a query takes seconds
        import duckdb
        from custext_sql import connect, register
        path, query = {str(mapped_db)!r}, "SELECT custext_sanitize('alice', 1.0, true) FROM range(5000)"
        c = connect(path)
        c.execute(query).fetchall()
        {ending}
        print("end")
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


def test_connect_takes_duckdb_settings_and_closes_on_an_error(mapped_db: Path) -> None:
    with connect(mapped_db, config={"threads": 1}) as connection:
        assert connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
    with pytest.raises(CusTextError, match="did you mean 'small-euclidean-k4'"):
        connect(mapped_db, mapping="small-euclidean-k5")
    load_embeddings(mapped_db, "starter", name="s", limit=10)  # nothing has the file open


def test_register_needs_a_connection(mapped_db: Path) -> None:
    for wrong in ("x", None, mapped_db):
        with pytest.raises(SettingError, match=rf"register needs an open DuckDB connection.*{type(wrong).__name__}$"):
            register(wrong)  # type: ignore[arg-type]
    with duckdb.connect() as connection:
        register(connection, mapped_db)
        with pytest.raises(
            duckdb.Error, match=r"needs a key: --key-file PATH \(in Python: register\(connection, key_file"
        ):
            connection.execute("SELECT custext_sanitize_keyed('alice', '1')")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("foreign.duckdb", "is not a custext database"),
        ("missing.duckdb", "does not exist"),
        ("old.duckdb", "was made by another version of custext-sql .revision 0008."),
    ],
)
def test_every_function_gives_the_same_error_for_a_wrong_database(
    mapped_db: Path, tmp_path: Path, name: str, expected: str
) -> None:
    with duckdb.connect(tmp_path / "foreign.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 'alice' AS body")
    (tmp_path / "text.txt").write_text("alice\n")
    with duckdb.connect(mapped_db.rename(tmp_path / "old.duckdb")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0008'")
    database, said = tmp_path / name, set()
    with duckdb.connect() as connection:
        calls: list[Callable[[], object]] = [
            lambda: Sanitizer.load(database),
            lambda: connect(database),
            lambda: register(connection, database, dataset="d"),
            lambda: sanitize_file(tmp_path / "text.txt", tmp_path / "out.txt", database=database),
        ]
        for call in calls:
            with pytest.raises(DatabaseError, match=expected) as caught:
                call()
            said.add(str(caught.value))
    assert len(said) == 1, said
