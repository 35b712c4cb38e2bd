"""The functions inside DuckDB, each time on a real instance."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from custext_sql import Sanitizer, connect, make_key
from tests.statistics import fits

ROWS = 130_000  # more than one row group, so that several threads work
NAMES = "alice bob carol dave erin frank grace heidi"


@pytest.fixture
def connection(mapped_db: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(mapped_db) as opened:
        yield opened


@pytest.fixture
def keeping(mapped_db: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a connection with the paper's policy, which keeps unknown words unchanged."""
    with connect(mapped_db, policy="paper") as opened:
        yield opened


def distinct(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    """Return the number of distinct values of a query with one column."""
    [(count,)] = connection.execute(f"SELECT count(DISTINCT t) FROM ({query}) AS q(t)").fetchall()
    return int(count)


def test_texts_are_sanitized(connection: duckdb.DuckDBPyConnection) -> None:
    [(text, spent)] = connection.execute(
        "SELECT custext_sanitize('Alice, the zzz!', 1.0, true), custext_epsilon('Alice, the zzz!', 0.5, true)"
    ).fetchall()
    assert text.endswith(", the <unk>!")
    assert spent == 0.5
    [(spent,)] = connection.execute("SELECT custext_epsilon('Alice alice, bob', 2, false)").fetchall()
    assert spent == 6.0


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_draws_follow_the_integer_table_and_the_test_would_notice_a_percent(mapped_db: Path, calibration: str) -> None:
    """A quarter of a million draws per word pass; the same test rejects a table with 1% moved between two outputs."""
    sanitizer = Sanitizer.load(mapped_db, calibration=calibration)
    with connect(mapped_db, calibration=calibration) as connection:
        for word in sanitizer.mapping.words:
            found = dict(
                connection.execute(
                    f"SELECT custext_sanitize('{word}', 2, false) AS drawn, count(*) FROM range(250000) GROUP BY drawn"
                ).fetchall()
            )
            chances = sanitizer.distribution(word, 2.0)
            counts = [found.pop(output) for output in chances]
            assert not found
            assert fits(counts, list(chances.values()))
            first, second, *others = chances.values()
            assert not fits(counts, [first - 0.01, second + 0.01, *others])


@pytest.mark.parametrize(
    "query",
    {
        "constant": f"SELECT custext_sanitize('{NAMES}', 0.5, false) FROM range(1000)",
        "repeated value": "SELECT custext_sanitize(name, 0.5, false) FROM same",
        "filter": "SELECT custext_sanitize(name, 0.5, false) FROM same WHERE id % 2 = 0",
        "join": "SELECT custext_sanitize(a.name, 0.5, false) FROM same a JOIN same b USING (id)",
        "CTE": "WITH s AS (SELECT custext_sanitize(name, 0.5, false) AS t FROM same) SELECT t FROM s",
        "twice": "SELECT unnest([custext_sanitize(name, 0.5, false), custext_sanitize(name, 0.5, false)]) FROM same",
        "group": "SELECT custext_sanitize(any_value(name), 0.5, false) FROM same GROUP BY id",
        "order": "SELECT custext_sanitize(name, 0.5, false) FROM same ORDER BY id DESC",
        "correlated": "SELECT (SELECT custext_sanitize(b.name, 0.5, false) FROM same b WHERE b.id = a.id) FROM same a",
        "case": "SELECT CASE WHEN id >= 0 THEN custext_sanitize(name, 0.5, false) END FROM same",
        "dictionary": "SELECT custext_sanitize(name::e::VARCHAR, 0.5, false) FROM same",
        "view": "FROM viewed",
        "union": "SELECT custext_sanitize(name, 0.5, false) FROM same UNION ALL SELECT 'x' WHERE false",
    }.items(),
    ids=lambda item: item[0],
)
def test_every_row_draws_anew(connection: duckdb.DuckDBPyConnection, query: tuple[str, str]) -> None:
    connection.execute(f"CREATE TYPE e AS ENUM ('{NAMES}')")
    connection.execute(f"CREATE TABLE same AS SELECT range AS id, '{NAMES}' AS name FROM range(1000)")
    connection.execute("CREATE VIEW viewed AS SELECT custext_sanitize(name, 0.5, false) FROM same")
    rows = len(connection.execute(query[1]).fetchall())
    assert rows >= 500
    assert distinct(connection, query[1]) > 0.9 * rows  # out of 4**8 outcomes


def test_tables_and_files_keep_what_was_drawn(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    query = f"SELECT range AS id, custext_sanitize('{NAMES}', 0.5, false) AS t FROM range(3000)"
    connection.execute(f"CREATE TABLE drawn AS {query}")
    assert connection.execute("FROM drawn").fetchall() == connection.execute("FROM drawn").fetchall()
    assert distinct(connection, "SELECT t FROM drawn") > 2700
    for name in ("drawn.parquet", "drawn.csv"):
        connection.execute(f"COPY ({query}) TO '{tmp_path / name}'")
        assert distinct(connection, f"SELECT t FROM '{tmp_path / name}'") > 2700
    connection.execute("INSERT INTO drawn SELECT id, custext_sanitize(t, 0.5, false) FROM drawn")
    connection.execute("UPDATE drawn SET t = custext_sanitize('alice', 0.5, false)")
    assert distinct(connection, "SELECT t FROM drawn") == 4


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
def test_rows_keep_their_texts_over_many_chunks(keeping: duckdb.DuckDBPyConnection, threads: int) -> None:
    """DuckDB once mixed up several calls on one column (issue 20606); unchanged texts would show that."""
    keeping.execute(f"SET threads = {threads}")
    keeping.execute(
        f"CREATE TABLE t AS SELECT range AS id, 'zq' || range AS a, CASE WHEN range % 7 = 0 THEN NULL "
        f"WHEN range % 5 = 0 THEN '' ELSE repeat('é', range % 40) || ' zq' || range END AS b FROM range({ROWS})"
    )
    keeping.execute(
        """
        CREATE TABLE u AS SELECT id, custext_sanitize(a, 1.0, true) AS a1, custext_sanitize(b, 2.0, false) AS b1,
            custext_sanitize(a, 1.0, false) AS a2, custext_sanitize(custext_sanitize(b, 1.0, true), 1.0, true) AS b2
        FROM t WHERE id % 3 <> 1
        """
    )
    query = "SELECT count(*), count(b) FROM t JOIN u USING (id) WHERE a1 = a AND a2 = a AND b1 IS NOT DISTINCT FROM b"
    [(rows, present)] = keeping.execute(f"{query} AND b2 IS NOT DISTINCT FROM b").fetchall()
    expected = [number for number in range(ROWS) if number % 3 != 1]
    assert rows == len(expected)
    assert present == sum(number % 7 != 0 for number in expected)
    [(rows,)] = keeping.execute(
        "SELECT count(*) FROM t JOIN u ON custext_sanitize(t.a, 1, true) = u.a1 AND custext_sanitize(a2, 1, true) > ''"
    ).fetchall()
    assert rows == len(expected)


def test_threads_share_no_draws(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET threads = 4")
    connection.execute(f"CREATE TABLE same AS SELECT '{NAMES} alice bob' AS name FROM range({ROWS})")
    assert distinct(connection, "SELECT custext_sanitize(name, 0.1, false) FROM same") > 0.9 * ROWS  # of 4**10


def test_queries_of_several_cursors_at_once(mapped_db: Path) -> None:
    with connect(mapped_db, policy="paper") as connection:

        def ask(number: int) -> int:
            with connection.cursor() as cursor:
                query = f"SELECT custext_sanitize('zq{number} alice', 1.0, false) FROM range(5000)"
                return sum(text.startswith(f"zq{number} ") for (text,) in cursor.execute(query).fetchall())

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(16))) == [5000] * 16


@pytest.mark.parametrize("setting", ["produce_arrow_string_view", "arrow_large_buffer_size"])
def test_every_arrow_type_for_text_is_taken(keeping: duckdb.DuckDBPyConnection, setting: str) -> None:
    keeping.execute(f"SET {setting} = true")
    rows = keeping.execute(
        "SELECT custext_sanitize(t, 1.0, true) FROM (VALUES ('zq'), (NULL), (''), (repeat('zé ', 5000))) v(t)"
    ).fetchall()
    assert rows == [("zq",), (None,), ("",), ("zé " * 5000,)]


@pytest.mark.slow
def test_long_and_odd_values_come_out_byte_for_byte(keeping: duckdb.DuckDBPyConnection) -> None:
    odd = "zq\0 عربي 中文 e\u0301\u0301 \u200d😀\r\n\t\u2019zq\u2019s 'zq' _zq_ "
    texts = [odd * 200_000, odd, "\0", "\u0301", "\ufeffzq", odd[::-1]]
    rows = keeping.execute("SELECT custext_sanitize(unnest(?), 1.0, true)", [texts]).fetchall()
    assert len(texts[0].encode()) > 10_000_000
    assert [text for (text,) in rows] == texts


def test_eps_and_plus_may_be_columns(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE t AS SELECT 'alice the' AS text, 1 + range % 997 AS wide, range % 2 = 0 AS plus FROM range(5000)"
    )
    rows = connection.execute(
        "SELECT custext_sanitize(text, wide / 10, plus), custext_epsilon(text, wide / 10, plus), wide / 10, plus FROM t"
    ).fetchall()
    assert all(text.endswith(" the" if plus else " <unk>") and spent == eps for text, spent, eps, plus in rows)
    sure = dict(
        connection.execute(
            "SELECT eps, count(*) FILTER (custext_sanitize('alice', eps, true) = 'alice') / count(*) "
            "FROM (SELECT (CASE WHEN range % 2 = 0 THEN 0.001 ELSE 100 END)::DOUBLE AS eps FROM range(9001)) GROUP BY 1"
        ).fetchall()
    )
    assert 0.21 < sure[0.001] < 0.29  # one out of four, and six standard deviations
    assert sure[100] == 1.0


@pytest.mark.parametrize("eps", ["5e-4", "'nan'::DOUBLE", "100.5", "NULL"])
def test_a_wrong_eps_is_named(connection: duckdb.DuckDBPyConnection, eps: str) -> None:
    value = "NULL" if eps == "NULL" else connection.execute(f"SELECT ({eps})::DOUBLE").fetchall()[0][0]
    expected = "eps must not be NULL" if eps == "NULL" else f"eps must be 0, or between 0.001 and 100; found {value!r}"
    for call in (f"custext_sanitize('SECRET', {eps}, true)", f"custext_epsilon('SECRET', {eps}, true)"):
        with pytest.raises(duckdb.InvalidInputException, match=expected) as caught:
            connection.execute(f"SELECT {call}").fetchall()
        assert "SECRET" not in str(caught.value)
    if eps != "NULL":
        column = f"(SELECT CASE WHEN range = 5 THEN ({eps}) ELSE 1.0 END AS eps FROM range(10))"
        with pytest.raises(duckdb.InvalidInputException, match=expected):
            connection.execute(f"SELECT custext_sanitize('a', eps, true) FROM {column}").fetchall()


def test_nulls_are_errors_where_a_text_would_be_lost(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", mapped_db)
    with connect(mapped_db, key_file=tmp_path / "key") as connection:
        query = (
            "SELECT custext_sanitize(NULL, 1, true), custext_sanitize('', 1, true), custext_epsilon(NULL, 1, true), "
        )
        query += "custext_epsilon('', 1, true), custext_sanitize_keyed(NULL, 'r'), custext_sanitize_keyed('', 'r')"
        assert connection.execute(query).fetchall() == [(None, "", None, 0.0, None, "")]
        for call, name in (
            ("custext_sanitize('a', 1.0, NULL)", "plus"),
            ("custext_sanitize(NULL, NULL, true)", "eps"),
            ("custext_epsilon('a', 1.0, NULL)", "plus"),
            ("custext_sanitize_keyed('a', NULL)", "record"),
        ):
            with pytest.raises(duckdb.InvalidInputException, match=f"{name} must not be NULL"):
                connection.execute(f"SELECT {call}").fetchall()


def test_arrow_tables_that_are_no_text_are_refused(connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB does not validate Arrow strings; half a character would let the first letters of the next row pass."""
    offsets, content = np.array([0, 4, 10], np.int32), b"abc\xe2secret"
    column = pa.StringArray.from_buffers(2, pa.py_buffer(offsets), pa.py_buffer(content))
    connection.register("given", pa.table({"t": column}))
    with pytest.raises(duckdb.Error, match="valid Arrow data in UTF-8; found an invalid column") as caught:
        connection.execute("SELECT custext_sanitize(t, 1.0, false) FROM given").fetchall()
    assert "secret" not in str(caught.value)


def test_connect_shows_the_tables_and_keeps_them_safe(connection: duckdb.DuckDBPyConnection) -> None:
    assert connection.execute("SELECT count(*) FROM groups").fetchall() == [(16,)]
    connection.execute("CREATE TABLE mine AS SELECT 1")
    for statement in ("DELETE FROM custext.score_rows", "CREATE TABLE custext.t (a INTEGER)"):
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute(statement)


def test_the_distribution_macro_agrees_with_the_integer_table(mapped_db: Path) -> None:
    sanitizer = Sanitizer.load(mapped_db)
    with duckdb.connect(mapped_db, read_only=True) as connection:  # any client of DuckDB
        for eps in (0, 0.001, 1.0, 100.0):
            for word in sanitizer.mapping.words:
                rows = connection.execute("FROM custext_distribution(?, ?)", [word.upper(), eps]).fetchall()
                exact = sanitizer.distribution(word, eps)
                assert {output for output, _, _ in rows} == set(exact)
                assert all(abs(chance - exact[output]) < 1e-9 for output, _, chance in rows)
        assert connection.execute("FROM custext_distribution('nobody', 1.0)").fetchall() == []
        for wrong in ("5e-4", "NULL", "'nan'::DOUBLE", "100.1"):
            with pytest.raises(duckdb.InvalidInputException, match="eps must be 0, or between 0.001 and 100; found"):
                connection.execute(f"FROM custext_distribution('alice', {wrong})").fetchall()
