"""Many requests at once: all are answered, and memory stays flat."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from custext_sql.playground.serving import Address
from tests.playground.requesting import connect
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


def list_requests(client: httpx.Client, draw: random.Random, mappings: list[str]) -> Iterator[int]:
    """Send what a page sends, one request after the other, and yield the status of each answer."""

    def post(route: str, **body: Any) -> httpx.Response:
        return client.post(f"/api/{route}", json=body)

    while True:
        settings = draw.choices(CHOICES, [30, 10, 1, 1, 1])[0] | {"mapping": draw.choice(mappings)}
        for eps in (*draw.sample(EPSILONS, 4), round(draw.uniform(0.1, 50.0), 3)):
            text = " ".join(draw.choices(WORDS, k=draw.choice([0, 1, 20, 200])))
            asked: dict[str, Any] = {"text": text, "settings": settings | {"eps": eps}}
            answer = post("sanitize", **asked)
            yield answer.status_code
            yield post("snippets", settings=asked["settings"]).status_code
        found = answer.json()
        outputs = [found["after"][start:end] for start, end in zip(found["new_starts"], found["new_ends"], strict=True)]
        yield post("attack", **asked, outputs=outputs).status_code
        yield post("verdict", **asked, unchanged=len(found["unchanged"])).status_code
        if 0 in found["kinds"]:
            place = found["kinds"].index(0)
            word = found["before"][found["starts"][place] : found["ends"][place]]
            yield post("inspect", word=word, output=outputs[place], settings=asked["settings"]).status_code
        if draw.random() < 0.1:
            yield client.get("/api/setup").status_code
            with _three_files:
                file = client.post("/api/files?name=a.csv", content=f"id,body\n1,{text}\n".encode() * 20)
                deleted = client.delete(f"/api/files/{file.json()['id']}")
            yield file.status_code
            yield deleted.status_code


def press(address: Address, requests: int, at_once: int, mappings: list[str], seed: int) -> Counter[int]:
    """Send that many requests over that many connections, and return how many answers had which status."""
    seen: Counter[int] = Counter()
    left, lock = iter(range(requests)), threading.Lock()

    def work(number: int) -> None:
        with connect(address) as client:
            for status in list_requests(client, random.Random(f"{seed} {number}"), mappings):
                with lock:
                    seen[status] += 1
                    if next(left, None) is None:
                        return

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(work, range(at_once)))
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
