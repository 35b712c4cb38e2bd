"""A real Spark cluster on the loopback interface: a master and two workers, each in its own process."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.processes import find_files, start, wait_for

_WAIT = 300.0  # seconds for a process to get ready or to write a line, on a busy machine
HOST = "127.0.0.1"
_ANY_PORT = ("--port", "0", "--webui-port", "0")


def why_not() -> str | None:
    """Return why Spark cannot run here; None if it can."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed (extra `spark`)"
    folders = [str(Path(os.environ["JAVA_HOME"], "bin"))] if "JAVA_HOME" in os.environ else []
    java = shutil.which("java", path=os.pathsep.join([*folders, os.environ["PATH"]]))
    if java is None:
        return "Java is not installed"
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', shown)
    return None if version and int(version[1]) >= 17 else "Spark needs Java 17 or later"


class Cluster:
    """A master and two workers, each with one core. folder: for logs and files. running: ends the processes."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self.folder, self._running = folder, running
        self._workers: list[subprocess.Popen[Any]] = []
        master = "org.apache.spark.deploy.master.Master"
        found = r"Starting Spark master at (spark://\S+)\n"
        self.master = self.run("master", master, "--host", HOST, *_ANY_PORT, ready=found)
        for _ in range(2):
            self.add_worker()

    def add_worker(self) -> None:
        name = f"worker-{len(self._workers)}"
        options = ["--host", HOST, *_ANY_PORT, "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name)]
        worker = "org.apache.spark.deploy.worker.Worker"
        self.run(name, worker, *options, self.master, ready=r"(Successfully registered with master)")

    def run(self, name: str, class_name: str, *arguments: str, ready: str) -> str:
        """Start a process, wait until its log matches the pattern `ready`, and return the group of the pattern."""
        log, own = self.folder / f"{name}.log", environment()
        command = [f"{own['SPARK_HOME']}/bin/spark-class", class_name, *arguments]
        with log.open("wb") as file:
            process = self._running.enter_context(start(command, stdout=file, stderr=subprocess.STDOUT, env=own))
        if name.startswith("worker"):
            self._workers.append(process)
        wait_for(lambda: process.poll() is not None or re.search(ready, _read([log])), _WAIT)
        found = re.search(ready, _read([log]))
        assert found is not None, f"{log.name}: the process ended; {_read([log])[-2000:]}"
        return found[1]

    def kill_worker(self) -> None:
        """Kill the worker that was started last, and its executor."""
        os.killpg(self._workers[-1].pid, signal.SIGKILL)
        self._workers[-1].wait()

    def read_logs(self, message: str) -> str:
        """Wait until an executor has written a message, and return the logs of all processes of the cluster."""
        wait_for(lambda: message in _read(self._find_outputs()), _WAIT)
        return _read([*self.folder.glob("*.log"), *self._find_outputs()])

    def _find_outputs(self) -> list[Path]:
        """Return the files to which workers copy, with some delay, what their executors write."""
        return [path for name in ("stderr", "stdout") for path in find_files(self.folder, name)]


def environment() -> dict[str, str]:
    """Return the environment of all processes of a cluster."""
    import pyspark

    own = {"SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": pyspark.__path__[0]}
    no_fixed_port = "-Dspark.master.rest.enabled=false"
    return {**os.environ, **own, "SPARK_DAEMON_MEMORY": "512m", "SPARK_MASTER_OPTS": no_fixed_port}


def _read(logs: list[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)


def open_session(master: str, folder: Path, **settings: Any) -> Any:
    """Return a classic session whose driver is this process. settings: Spark settings, with __ for each dot."""
    from pyspark.sql import SparkSession

    os.environ |= {name: environment()[name] for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")}
    builder = SparkSession.builder.master(master).appName("custext tests")
    usual = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.memory": "600m",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "2",
    }
    for name, value in (usual | {name.replace("__", "."): value for name, value in settings.items()}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
