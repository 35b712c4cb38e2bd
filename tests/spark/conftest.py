"""A cluster, a session and a table of texts, shared by all Spark tests. They need Java; see `why_not`."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from custext_sql import make_key
from tests.spark.cluster import Cluster, open_session, why_not
from tests.spark.reviews import write_reviews


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a running cluster with two workers."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as running:
        yield Cluster(tmp_path_factory.mktemp("cluster"), running)


@pytest.fixture(scope="session")
def spark(cluster: Cluster) -> Iterator[Any]:
    """Return a classic session on the cluster; it writes an event log, as clusters do."""
    events = cluster.folder / "events"
    events.mkdir()
    session = open_session(
        cluster.master,
        cluster.folder,
        spark__eventLog__enabled="true",
        spark__eventLog__dir=events.as_uri(),
        spark__eventLog__compress="false",  # tests look for words in it
        spark__python__task__killTimeout="600s",  # a task may outlive its job
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of Parquet files with 20,000 rows: id, body, title, stars."""
    return write_reviews(tmp_path_factory.mktemp("reviews"), 20_000)


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory, starter_db: Path) -> Path:
    """Return a key for the default mapping at eps = 0.3."""
    path = tmp_path_factory.mktemp("key") / "release.key"
    make_key(path, starter_db, eps=0.3)
    return path


@pytest.fixture
def frame(spark: Any, reviews: Path) -> Any:
    """Return the reviews as a frame, which Python gets in batches of 500 rows."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    return spark.read.parquet(str(reviews))
