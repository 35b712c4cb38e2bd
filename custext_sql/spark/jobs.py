"""The jobs of a release: if it fails or is interrupted, none of them goes on."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
_WAIT = 60.0  # seconds for jobs to end after they were canceled


@contextmanager
def own_jobs(spark: Any) -> Iterator[None]:
    """Run the jobs of a block as a group of their own; if the block fails, cancel them, and wait until they end."""
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in (_GROUP, _DESCRIPTION)}
    group = f"custext-{secrets.token_hex(8)}"
    context.setJobGroup(group, "custext_sql.spark.sanitize")
    try:
        yield
    except BaseException:
        _cancel(context, group)
        raise
    finally:
        with suppress(Exception):
            for name, value in before.items():
                context.setLocalProperty(name, value)


def _cancel(context: Any, group: str) -> None:
    deadline = time.monotonic() + _WAIT
    while time.monotonic() < deadline:
        with suppress(Exception):  # the first call after an interrupt may fail
            tracker = context.statusTracker()
            if not set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(group)):
                return
            context.cancelJobGroup(group)
        time.sleep(0.2)
