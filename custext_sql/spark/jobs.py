"""The jobs of a release: if it fails or is interrupted, none of them goes on."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
_WAIT = 60.0  # seconds for jobs and their tasks to end after they were canceled


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
    """Cancel the jobs of a group, and wait until their last task has ended: until then, tasks may write files."""
    deadline = time.monotonic() + _WAIT
    while time.monotonic() < deadline:
        with suppress(Exception):  # the first call after an interrupt may fail
            if not _is_running(context.statusTracker(), group):
                return
            context.cancelJobGroup(group)
        time.sleep(0.2)


def _is_running(tracker: Any, group: str) -> bool:
    """Return whether a job of a group is active, or a task of such a job, which may go on after its job has failed."""
    jobs = tracker.getJobIdsForGroup(group)
    if set(jobs) & set(tracker.getActiveJobsIds()):
        return True
    known = [info for info in map(tracker.getJobInfo, jobs) if info is not None]
    stages = [tracker.getStageInfo(stage) for info in known for stage in info.stageIds]
    return any(stage is not None and stage.numActiveTasks > 0 for stage in stages)
