"""The SQL functions of a session, on a real cluster."""

import base64
import json
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from custext_sql import CusTextError, Sanitizer, make_key, register
from custext_sql.errors import KeyFileError, SettingError
from tests.files.test_equal_texts import TEXTS
from tests.processes import find_files, wait_for
from tests.spark import MARKS
from tests.spark.cluster import Cluster
from tests.spark.reviews import write_reviews

pytestmark = MARKS

SAME = Path(__file__).with_name("same.sql").read_text(encoding="utf-8")
SECRET = "Zaphod"  # a word that must not appear in any error or log


@pytest.fixture(scope="module")
def session(spark: Any, starter_db: Path, key: Path) -> Any:
    from custext_sql.spark import register

    register(spark, starter_db, key_file=key)
    return spark


def read_error(session: Any, expression: str) -> str:
    """Return the message of the error that an expression raises."""
    with pytest.raises(Exception) as caught:
        ask(session, expression)
    return str(caught.value)


def ask(session: Any, expression: str) -> Any:
    """Return the value of an expression for one row."""
    [row] = session.sql(f"SELECT {expression}").collect()
    return row[0]


def test_one_sql_file_gives_the_same_on_duckdb_and_on_the_cluster(
    session: Any, starter_db: Path, key: Path, tmp_path: Path
) -> None:
    rows = 200_000
    reviews = write_reviews(tmp_path, rows)
    session.read.parquet(str(reviews)).createOrReplaceTempView("reviews")
    session.sql(SAME).write.parquet(str(tmp_path / "from_spark"))
    with duckdb.connect() as connection:
        register(connection, starter_db, key_file=key)
        connection.execute(f"CREATE VIEW reviews AS FROM '{reviews}/part-*.parquet'")
        connection.execute(f"CREATE TABLE ours AS {SAME}")
        connection.execute(f"CREATE VIEW theirs AS FROM '{tmp_path}/from_spark/*.parquet'")
        columns = [name for name, *_ in connection.execute("DESCRIBE ours").fetchall() if name != "id"]
        differ = " OR ".join(f"ours.{name} IS DISTINCT FROM theirs.{name}" for name in columns)
        [(ours, theirs, joined, different)] = connection.execute(
            "SELECT (SELECT count(*) FROM ours), (SELECT count(*) FROM theirs), count(*), "
            f"count(*) FILTER ({differ}) FROM ours JOIN theirs USING (id)"
        ).fetchall()
    assert len(columns) == 6
    assert rows > ours > rows / 2  # the condition filters some rows out
    assert (theirs, joined, different) == (ours, ours, 0)


def test_literals_nulls_and_types_are_those_of_duckdb(session: Any) -> None:
    for eps in ("0", "0.0", "0e0", "CAST(0 AS DECIMAL(10, 3))", "CAST(0 AS FLOAT)", "CAST(0 AS TINYINT)"):
        assert ask(session, f"custext_sanitize('a good film', {eps}, true)") == "a good movie"
    assert ask(session, "custext_epsilon('good film', 0.3, false)") == 0.6
    assert ask(session, "custext_sanitize(NULL, 1, false)") is None
    assert ask(session, "custext_sanitize_keyed(NULL, 'one')") is None
    assert ask(session, "custext_epsilon(NULL, 1, false)") is None
    assert ask(session, "custext_sanitize('', 1, false)") == ""
    assert ask(session, "custext_sanitize(plus => true, text => 'a good film', eps => 0)") == "a good movie"


@pytest.mark.parametrize(
    "expression, message",
    [
        ("custext_sanitize('Zaphod', NULL, true)", "eps must not be NULL: the text of its row would be lost"),
        ("custext_sanitize('Zaphod', 1000, true)", "eps must be 0, or between 0.001 and 100; found 1000.0"),
        ("custext_sanitize(42, 1, true)", "texts must be strings or missing; found a column of int32"),
        ("custext_sanitize('Zaphod', 1)", "the function is custext_sanitize(text, eps, plus); found 2 arguments"),
        ("custext_sanitize_keyed('Zaphod', NULL)", "record must not be NULL: it identifies the text"),
        ("custext_sanitize(CAST(X'5A6170686F64FF' AS STRING), 1, true)", "texts must be valid Arrow data in UTF-8"),
    ],
)
def test_errors_say_what_duckdb_says_and_quote_no_data(
    session: Any, cluster: Cluster, expression: str, message: str
) -> None:
    found = read_error(session, expression)
    assert message in found
    assert SECRET not in found
    assert SECRET not in cluster.read_logs(message)


def test_fresh_draws_always_differ_and_keyed_ones_never(session: Any) -> None:
    call = "custext_sanitize(repeat('good film ', 30), 1, false)"
    frame = session.sql(f"SELECT {call} AS one, {call} AS other FROM range(50)")
    first, second = frame.collect(), frame.collect()
    assert len({text for rows in (first, second) for row in rows for text in (row.one, row.other)}) == 200
    keyed = session.range(100).selectExpr("custext_sanitize_keyed('a good film', CAST(id AS STRING)) AS text")
    assert sorted(keyed.collect()) == sorted(keyed.repartition(7).collect())
    assert len(set(keyed.collect())) > 50


def test_the_same_record_and_text_give_the_same_bytes_as_in_python(session: Any, starter_db: Path, key: Path) -> None:
    """The other interfaces are compared with Python in tests/files/test_equal_texts.py, with these texts."""
    frame = session.createDataFrame([*enumerate(TEXTS)], "id INT, body STRING").repartition(3)
    found = frame.selectExpr("id", "custext_sanitize_keyed(body, concat('body:', CAST(id AS STRING))) AS new").collect()
    records = [f"body:{number}" for number in range(len(TEXTS))]
    expected = Sanitizer.load(starter_db, key_file=key).sanitize_batch(TEXTS, records=records)
    assert [row.new for row in sorted(found)] == expected


def test_nothing_that_leaves_the_driver_contains_the_key(session: Any, cluster: Cluster, key: Path) -> None:
    frame = session.sql("SELECT custext_sanitize_keyed('a good film', 'one') AS named_here_only")
    assert frame.collect()
    secret = bytes.fromhex(json.loads(key.read_text(encoding="utf-8"))["key"])
    plan = session._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "extended")
    assert "custext_sanitize_keyed" in plan
    events = cluster.folder / "events"  # Spark writes it with some delay
    wait_for(lambda: any(b"named_here_only" in content for content in _read_files(events).values()))
    contents = _read_files(cluster.folder)
    assert any(path.name.startswith("custext-") for path in contents)  # the file with the mapping is on the workers
    everything = [plan.encode(), *contents.values()]
    for form in (secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)[:-2]):
        assert not any(form in content for content in everything)


def test_a_worker_refuses_a_mapping_that_was_tampered_with(spark: Any, cluster: Cluster, starter_db: Path) -> None:
    from custext_sql.spark import register

    def find_fetched() -> set[Path]:
        return {path for folder in cluster.folder.glob("worker-*") for path in find_files(folder, "custext-*")}

    def fetch() -> bool:
        spark.sparkContext.parallelize(range(8), 8).map(lambda number: number).collect()
        return len(find_fetched() - known) == 2  # both workers had a task, and got the new file for it

    known = find_fetched()
    register(spark, starter_db, calibration="tight")  # a different file from that of the other tests
    wait_for(fetch)
    new = find_fetched() - known
    for path in new:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    message = read_error(spark, "custext_sanitize('Zaphod', 1, false)")
    assert "was changed after it was written (its SHA-256 differs), so it cannot be used" in message
    for path in new:
        path.unlink()


def test_workers_check_the_key_as_every_other_reader_does(spark: Any, starter_db: Path, tmp_path: Path) -> None:
    from custext_sql.spark import register

    path, call = tmp_path / "own.key", "custext_sanitize_keyed('Zaphod', 'one')"
    make_key(path, starter_db)
    register(spark, starter_db, key_file=path)
    path.chmod(0o644)
    assert "can be read or changed by other users" in read_error(spark, call)
    path.unlink()
    make_key(path, starter_db)
    assert "has another key on this worker; expected key" in read_error(spark, call)


def test_settings_and_versions_are_checked(spark: Any, starter_db: Path, tmp_path: Path) -> None:
    from custext_sql.spark import register
    from custext_sql.spark.functions import Shipped, open_shipped

    with pytest.raises(SettingError, match="this worker has custext-sql .*, but the driver has 9.9; install the same"):
        open_shipped(Shipped("custext-0", "0", "9.9"))
    with pytest.raises(KeyFileError, match="cannot read the key file"):
        register(spark, starter_db, key_file=tmp_path / "none.key")
    with pytest.raises(SettingError, match="expected a Spark session of PySpark 4.1 or later; found str"):
        register("spark", starter_db)
    register(spark, starter_db)
    assert "custext_sanitize_keyed needs a key: register(spark, key_file=PATH)" in read_error(
        spark, "custext_sanitize_keyed('Zaphod', 'one')"
    )


@pytest.mark.parametrize(
    "error, expected",
    [
        (ValueError(SECRET), "CusTextError: custext_failing failed (ValueError)"),
        (SettingError("eps must be numbers"), "SettingError: eps must be numbers"),
    ],
)
def test_an_error_of_ours_keeps_its_message_and_any_other_is_not_quoted(error: Exception, expected: str) -> None:
    """In the traceback, which Spark writes to its logs."""
    from custext_sql.spark.functions import quote_no_data

    def custext_failing(text: pa.Array) -> pa.Array:
        raise error

    with pytest.raises(CusTextError) as raised:
        quote_no_data(custext_failing)(pa.array([SECRET]))
    found = "".join(traceback.format_exception(raised.value))
    assert expected in found and SECRET not in found


def _read_files(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below a folder; Spark may delete some meanwhile."""
    contents = {}
    for path in find_files(folder):
        with suppress(FileNotFoundError):
            if path.is_file():
                contents[path] = path.read_bytes()
    return contents
