"""Measures how quickly the page of `custext playground` is answered, beside the same work without a server."""

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.measuring import best_time, best_times
from benchmarks.sanitizing import read_corpora
from custext_sql import Sanitizer
from custext_sql.store.building import load_starter
from tests.processes import start

WORDS = 2_000
ROUNDS = 50
FEW = 5  # rounds, of what takes longer
MOST = 3.0  # times what the mechanism and a round trip take together
LIMIT = 3.0  # seconds for the attacker's view
TRIVIAL = "/api/snippets"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "custext.duckdb"
        load_starter(database)
        sanitizer = Sanitizer.load(database)
        text, others = split_reviews(sanitizer)
        (folder / "public.txt").write_text("\n".join(others), encoding="utf-8")
        with open_client(database, folder / "public.txt") as (client, seconds):
            print(f"\nplayground: a text of {WORDS:,} words ({len(text):,} characters), mapping starter, eps = 1")
            print(f"  ready {seconds:.1f} s after the command was started, with {len(others):,} public texts")
            compare(sanitizer, client, text)
            attack(client, text)


def split_reviews(sanitizer: Sanitizer) -> tuple[str, list[str]]:
    """Return a text of so many words, made of the first reviews, and all other reviews, each on one line."""
    reviews = [" ".join(review.split()) for review in read_corpora()[1]]
    taken = next(n for n in range(1, len(reviews)) if sanitizer.trace(" ".join(reviews[:n])).tally.words >= WORDS)
    traced = sanitizer.trace(" ".join(reviews[:taken]))
    return traced.before[: traced.ends[WORDS - 1]], reviews[taken:]


class Client:
    """A connection that stays open, as a browser's does."""

    def __init__(self, url: str) -> None:
        place, _, self._token = url.removeprefix("http://").partition("/#token=")
        self._connection = http.client.HTTPConnection(place)

    def post(self, path: str, **body: Any) -> bytes:
        """Post to a route, and return the answer as it came."""
        headers = {"X-Custext-Token": self._token, "Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {content[:200]!r}")
        return content


@contextmanager
def open_client(database: Path, public: Path) -> Iterator[tuple[Client, float]]:
    """Start the command in a process of its own; yield a client, and how long the command took to be ready."""
    options = ("--json", "--port", "0", "--public", str(public))
    command = [sys.executable, "-m", "custext_sql", "--db", str(database), "playground", *options]
    started = time.perf_counter()
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        yield Client(url), time.perf_counter() - started


def compare(sanitizer: Sanitizer, client: Client, text: str) -> None:
    """Print what the page waits for, beside the mechanism and a round trip, all in one run."""
    fresh = (1.0 + number / 1e6 for number in count(1))  # of eps: no table is ready

    def sanitize_at(eps: float) -> None:
        client.post("/api/sanitize", text=text, settings={"eps": eps})

    works: dict[str, Callable[[], object]] = {
        "alone": partial(sanitizer.sanitize, text, 1.0),
        "trip": partial(client.post, TRIVIAL),
        "page": partial(sanitize_at, 1.0),
        "alone, new eps": lambda: sanitizer.sanitize(text, next(fresh)),
        "page, new eps": lambda: sanitize_at(next(fresh)),
    }
    best_times(works, rounds=3)
    seconds = best_times(works, ROUNDS)
    print(f"\nbest of {ROUNDS}, in ms                          eps = 1   another eps each time")
    for title, name in (("Sanitizer.sanitize", "alone"), (f"one round trip (POST {TRIVIAL})", "trip")):
        print(f"  {title:<38}{seconds[name] * 1e3:8.2f}{seconds.get(f'{name}, new eps', seconds[name]) * 1e3:24.2f}")
    print(f"  {'POST /api/sanitize':<38}{seconds['page'] * 1e3:8.2f}{seconds['page, new eps'] * 1e3:24.2f}")
    ratios = [seconds[f"page{kind}"] / (seconds[f"alone{kind}"] + seconds["trip"]) for kind in ("", ", new eps")]
    verdicts = [f"{ratio:.2f}x {'ok' if ratio <= MOST else 'not ok'}" for ratio in ratios]
    print(f"    to both together, at most {MOST:g}x{verdicts[0]:>16}{verdicts[1]:>24}", flush=True)


def attack(client: Client, text: str) -> None:
    """Print how long the attacker's view takes, and what else the page asks for."""
    traced = json.loads(client.post("/api/sanitize", text=text, settings={"eps": 1.0, "plus": True}))
    words = [cut(traced["before"], *span) for span in zip(traced["starts"], traced["ends"], strict=True)]
    outputs = [cut(traced["after"], *span) for span in zip(traced["new_starts"], traced["new_ends"], strict=True)]
    replaced = traced["kinds"].index(0)
    settings = {"eps": 1.0, "plus": True}
    guess = partial(client.post, "/api/attack", text=text, outputs=outputs, settings=settings)
    first, again = best_time(guess, runs=1), best_time(guess, runs=FEW)
    print(f"\nin s                                        first   best of {FEW}")
    verdict = f"under {LIMIT:g} s: {'ok' if first < LIMIT else 'not ok'}"
    print(f"  the attacker's view (learns at first) {first:8.2f}{again:12.2f}   {verdict}", flush=True)
    for title, work in {
        "the verdict": partial(client.post, "/api/verdict", text=text, settings=settings, unchanged=0),
        "one word": partial(
            client.post, "/api/inspect", word=words[replaced], output=outputs[replaced], settings=settings
        ),
    }.items():
        print(f"  {title:<38}{best_time(work, runs=1):8.2f}{best_time(work, runs=FEW):12.2f}", flush=True)


def cut(text: str, first: int, last: int) -> str:
    """Return a part of a text whose places are counted in UTF-16."""
    return text.encode("utf-16-le")[2 * first : 2 * last].decode("utf-16-le")


if __name__ == "__main__":
    main()
