"""Many requests at once: all are answered, and memory stays flat."""

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from custext_sql.playground.serving import Address
from tests.playground.requesting import PATIENCE, name_self
from tests.playground.server_process import serve

REQUESTS, AT_ONCE, WARM_UP = 5_000, 50, 2_000
MOST_GROWTH = 40.0  # MB
WORDS = [
    *("the", "family", "was", "well", "my", "doctor", "said", "mother", "called", "film", "hospital"),
    *("12", "98765", "zorglub", "a@b.org", "home", "night", "good"),
]
EPSILONS = [0.0, *(round(0.1 * 10 ** (step / 20), 3) for step in range(55))]  # those of the slider
CHOICES: list[dict[str, Any]] = [
    {},
    {"plus": True},
    {"plus": True, "calibration": "tight"},
    {"policy": {"name": "paper"}},
    {"policy": {"name": "strict", "unknown": "keep"}, "calibration": "tight"},
]

_three_files = threading.BoundedSemaphore(3)  # a fourth file would replace the first


def list_requests(connection: "Connection", draw: random.Random, mappings: list[str]) -> Iterator[int]:
    """Send what a page sends, one request after the other, and yield the status of each answer."""
    while True:
        settings = draw.choices(CHOICES, [30, 10, 1, 1, 1])[0] | {"mapping": draw.choice(mappings)}
        for eps in (*draw.sample(EPSILONS, 4), round(draw.uniform(0.1, 50.0), 3)):
            text = " ".join(draw.choices(WORDS, k=draw.choice([0, 1, 20, 200])))
            asked: dict[str, Any] = {"text": text, "settings": settings | {"eps": eps}}
            status, found = connection.post("sanitize", **asked)
            yield status
            yield connection.post("snippets", settings=asked["settings"])[0]
        outputs = [found["after"][start:end] for start, end in zip(found["new_starts"], found["new_ends"], strict=True)]
        yield connection.post("attack", **asked, outputs=outputs)[0]
        yield connection.post("verdict", **asked, unchanged=len(found["unchanged"]))[0]
        if 0 in found["kinds"]:
            place = found["kinds"].index(0)
            word = found["before"][found["starts"][place] : found["ends"][place]]
            yield connection.post("inspect", word=word, output=outputs[place], settings=asked["settings"])[0]
        if draw.random() < 0.1:
            yield connection.send("GET", "setup")[0]
            with _three_files:
                status, file = connection.send("POST", "files?name=a.csv", f"id,body\n1,{text}\n".encode() * 20)
                deleted, _ = connection.send("DELETE", f"files/{file['id']}")
            yield status
            yield deleted


class Connection:
    """A connection that stays open, as a browser's does."""

    def __init__(self, address: Address) -> None:
        self._headers = dict(name_self(address))
        self._connection = HTTPConnection(address.host, address.port, timeout=PATIENCE)

    def post(self, route: str, **body: Any) -> tuple[int, Any]:
        return self.send("POST", route, json.dumps(body).encode(), "application/json")

    def send(self, method: str, route: str, body: bytes = b"", kind: str = "text/csv") -> tuple[int, Any]:
        self._connection.request(method, f"/api/{route}", body, {**self._headers, "Content-Type": kind})
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        self._connection.close()


def press(address: Address, requests: int, at_once: int, mappings: list[str], seed: int) -> Counter[int | str]:
    """Send that many requests over that many connections, and return how many answers had which status."""
    seen: Counter[int | str] = Counter()
    left, lock = iter(range(requests)), threading.Lock()

    def work(number: int) -> None:
        connection = Connection(address)
        try:
            for status in list_requests(connection, random.Random(f"{seed} {number}"), mappings):
                with lock:
                    seen[status] += 1
                    if next(left, None) is None:
                        return
        except Exception as error:
            with lock:
                seen[repr(error)] += 1
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def measure(process: int) -> float:
    """Return the resident memory of a process, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [size] = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(size) / 1024


@pytest.mark.slow
@pytest.mark.load
def test_thousands_of_requests_are_answered_in_flat_memory(few_db: Path, tmp_path: Path) -> None:
    from custext_sql import build_mapping

    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not tell the memory of a process")
    build_mapping(few_db, embedding="starter", k=5)
    mappings = ["starter-euclidean-k20", "starter-euclidean-k5"]
    (tmp_path / "tmp").mkdir()
    with serve(few_db, tmp_path / "tmp") as (process, address):
        seen = press(address, WARM_UP, AT_ONCE, mappings, 0)
        before = measure(process.pid)
        seen += press(address, REQUESTS - WARM_UP, AT_ONCE, mappings, 1)
        growth = measure(process.pid) - before
    assert list(seen) == [200] and seen[200] >= REQUESTS
    assert growth < MOST_GROWTH, f"memory grew by {growth:.0f} MB"
