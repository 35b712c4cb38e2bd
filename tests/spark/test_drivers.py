"""Drivers in their own processes: one that is killed, and a client of a Spark Connect server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from custext_sql import read_ledger, register
from custext_sql.errors import PrivacyWarning
from custext_sql.store.outputs import publish_text
from tests.processes import find_files, start, wait_for
from tests.spark import MARKS
from tests.spark.cluster import HOST, Cluster, environment
from tests.spark.reviews import read_rows

pytestmark = MARKS

SAME = Path(__file__).with_name("same.sql")
ROOT = Path(__file__).parents[2]
KILLED = """
import sys
from pathlib import Path
from custext_sql.spark import sanitize
from tests.spark.cluster import open_session

folder, reviews, database, output = sys.argv[1:]
spark = open_session("local[2]", Path(folder))

def pass_first_part(batches):
    import time
    from pyspark import TaskContext
    if TaskContext.get().partitionId() > 0:
        time.sleep(3600)  # the driver is killed meanwhile
    yield from batches

frame = spark.read.parquet(reviews)
assert frame.rdd.getNumPartitions() > 1
frame = frame.mapInArrow(pass_first_part, frame.schema)
sanitize(frame, "body", 1.0, output=output, dataset="reviews", database=database)
"""
KILLED_WHILE_REPLACING = """
import os, signal, sys
from pathlib import Path
from custext_sql.spark import sanitize
from custext_sql.spark.folders import DraftFolder
from tests.spark.cluster import open_session

folder, reviews, database, output = sys.argv[1:]
frame = open_session("local[1]", Path(folder)).read.parquet(reviews)
known = {"output": output, "dataset": "reviews", "database": database}
sanitize(frame.limit(50), "body", 0.0, **known)
rename = DraftFolder._rename

def rename_one(self, source, target):
    rename(self, source, target)
    os.kill(os.getpid(), signal.SIGKILL)

DraftFolder._rename = rename_one
sanitize(frame.limit(20), "body", 0.0, force=True, **known)
"""
CLIENT = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from custext_sql.spark import register, sanitize

address, reviews, database, key, query, output = sys.argv[1:]
spark = SparkSession.builder.remote(address).getOrCreate()
register(spark, database, key_file=key)
register(spark, database, key_file=key)  # a second time: the file is already there
frame = spark.read.parquet(reviews)
frame.createOrReplaceTempView("reviews")
spark.sql(Path(query).read_text()).write.parquet(output)
errors = []
for ask in (
    lambda: spark.sql("SELECT custext_sanitize('Zaphod', 1000, true)").collect(),
    lambda: sanitize(frame, "body", output=output + "2", dataset="reviews", database=database),
):
    try:
        ask()
        errors.append("no error")
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps(errors))
"""


def has_rows(folder: Path) -> bool:
    """Return whether a task has written all its rows: its file is then in a folder of the task."""
    return any(path.parent.name.startswith("task_") for path in find_files(folder, "part-*.parquet"))


def test_a_killed_driver_leaves_no_output_and_no_entry(
    cluster: Cluster, reviews: Path, own_db: Path, tmp_path: Path
) -> None:
    output = tmp_path / "outputs" / "out"
    arguments = [str(tmp_path), str(reviews), str(own_db), str(output)]
    with start([sys.executable, "-W", "ignore", "-c", KILLED, *arguments], env=environment(), cwd=ROOT) as driver:
        wait_for(lambda: driver.poll() is not None or has_rows(output.parent), 600)
        assert driver.poll() is None
    # the driver was killed, with its JVM
    assert not output.exists()
    [draft] = output.parent.iterdir()
    assert draft.name.startswith(".out.") and draft.stat().st_mode & 0o077 == 0
    assert read_ledger(own_db).releases == []


def test_a_driver_that_is_killed_while_it_replaces_an_output_leaves_both(
    frame: Any, reviews: Path, own_db: Path, tmp_path: Path
) -> None:
    from custext_sql.spark import sanitize

    output = tmp_path / "outputs" / "out"
    arguments = [str(tmp_path), str(reviews), str(own_db), str(output)]
    script = [sys.executable, "-W", "ignore", "-c", KILLED_WHILE_REPLACING, *arguments]
    with start(script, env=environment(), cwd=ROOT) as driver:
        assert driver.wait(600) == -signal.SIGKILL
    [draft, replaced] = sorted(output.parent.iterdir())
    assert (len(read_rows(replaced)), len(read_rows(draft / "rows"))) == (50, 20)
    assert [release.state for release in read_ledger(own_db).releases] == ["complete", "pending"]
    for folder in (draft, replaced):
        folder.chmod(0o700)
        os.utime(folder, (0, 0))
    publish_text(output.with_name("local.txt"), "local", force=False)
    with pytest.warns(PrivacyWarning) as told:
        sanitize(frame.limit(10), "body", 0.0, output=output, dataset="reviews", database=own_db, force=True)
    messages = [str(warning.message) for warning in told if warning.category is PrivacyWarning]
    assert [message.split(" ")[0] for message in messages] == [f"file:{draft}", f"file:{replaced}"]
    assert sorted(output.parent.iterdir()) == [draft, replaced, output.with_name("local.txt"), output]
    assert (len(read_rows(replaced)), len(read_rows(output))) == (50, 10)


@pytest.fixture(scope="module")
def address(cluster: Cluster) -> Iterator[str]:
    """Return the address of a Spark Connect server, which runs its tasks itself."""
    settings = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": "0",  # any free one
        "spark.driver.host": HOST,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
    }
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    port = cluster.run(
        "connect",
        "org.apache.spark.deploy.SparkSubmit",
        *("--master", "local[2]", *options),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
        ready=r"Spark Connect server started at: \S+:(\d+)\n",
    )
    yield f"sc://{HOST}:{port}"


def test_spark_connect_gives_the_same_as_duckdb(
    cluster: Cluster, address: str, reviews: Path, starter_db: Path, key: Path, tmp_path: Path
) -> None:
    output = tmp_path / "connect"
    arguments = [address, str(reviews), str(starter_db), str(key), str(SAME), str(output)]
    client = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CLIENT, *arguments],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert client.returncode == 0, client.stderr
    wrong, classic_only = json.loads(client.stdout.splitlines()[-1])
    message = "eps must be 0, or between 0.001 and 100; found 1000.0"
    assert message in wrong
    assert classic_only.startswith("SettingError: sanitize needs a classic Spark session")
    log = cluster.folder / "connect.log"
    wait_for(lambda: message in log.read_text(encoding="utf-8", errors="replace"))
    assert "Zaphod" not in wrong + log.read_text(encoding="utf-8", errors="replace")
    with duckdb.connect() as connection:
        register(connection, starter_db, key_file=key)
        connection.execute(f"CREATE VIEW reviews AS FROM '{reviews}/part-*.parquet'")
        expected = connection.execute(f"{SAME.read_text(encoding='utf-8')} ORDER BY id").fetchall()
        found = connection.execute(f"FROM '{output}/*.parquet' ORDER BY id").fetchall()
    assert len(found) > 10_000
    assert found == expected
