"""One dataset is released by every documented route, and the total in the ledger equals a plain count."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import spacy

from custext_sql import Sanitizer, connect, read_ledger, register, strike_release
from custext_sql.files.opening import open_release
from custext_sql.files.parts import add_part, sanitize_part
from custext_sql.ledger.entries import COMPLETE
from custext_sql.ledger.release import settle_all
from custext_sql.playground.serving import open_server
from tests.files.test_data_files import db, folder, run
from tests.playground.requesting import ask, upload
from tests.playground.requesting import connect as connect_page

__all__ = ["db", "folder"]  # fixtures

NAME = "reviews"
TEXTS = {"1": "alice met bob", "2": "carol dave erin frank", "3": "zzz 12"}
EDITED = {**TEXTS, "2": "carol dave erin frank grace"}
OTHERS = {f"1{record}": text for record, text in TEXTS.items()}
VOCABULARY = {"alice", "bob", "carol", "dave", "erin", "frank", "grace"}


@dataclass(frozen=True)
class Route:
    """A way to release texts: its name, the texts by their IDs, eps as written, and whether it uses a key."""

    name: str
    texts: dict[str, str]
    eps: str
    release: Callable[[], object]
    keyed: bool = False
    column: str = "body"

    def count(self) -> Fraction:
        """Return the most that a row of this release spends."""
        return max(map(self.count_text, self.texts.values()))

    def count_text(self, text: str) -> Fraction:
        """Return what a text spends, counted one word at a time."""
        return Fraction(self.eps) * sum(word.lower() in VOCABULARY for word in text.split())


def add_naively(routes: Iterable[Route]) -> Fraction:
    """Return the largest rows of the fresh releases, and the record that spent most on different texts by the key."""
    fresh = Fraction()
    records: dict[str, dict[tuple[str, str], Fraction]] = defaultdict(dict)
    for route in routes:
        if not route.keyed:
            fresh += route.count()
            continue
        for record, text in route.texts.items():
            records[record][route.column, text] = route.count_text(text)
    return fresh + max((sum(texts.values(), Fraction()) for texts in records.values()), default=Fraction())


def write_rows(path: Path, texts: dict[str, str], column: str = "body") -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("id", column), *texts.items()])


@pytest.fixture
def routes(db: Path, folder: Path) -> list[Route]:
    for name, texts in (("same", TEXTS), ("edited", EDITED), ("others", OTHERS)):
        write_rows(folder / f"{name}.csv", texts)
    write_rows(folder / "Body.csv", TEXTS, "Body")
    (folder / "lines.txt").write_text("".join(f"{text}\n" for text in TEXTS.values()))
    (folder / "parts").mkdir()
    for record, text in TEXTS.items():
        write_rows(folder / "parts" / f"{record}.csv", {record: text})
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE same AS SELECT id::VARCHAR AS id, body FROM 'same.csv'")
    assert run("keygen", "k", "--eps", "0.7").exit_code == 0
    lines = (folder / "lines.txt").read_bytes()
    made: list[Route] = []

    def command(
        name: str, texts: dict[str, str], *arguments: str, content: bytes | None = None, column: str = "body"
    ) -> None:
        """Return a route through the command line, with fresh draws at its own eps or with a key."""
        number = len(made) + 1
        keyed = "--key-file" in arguments
        eps = "0.7" if keyed else f"0.{number:03d}"
        given = [argument.replace("EPS", eps).replace("NEW", f"new{number}") for argument in arguments]
        budget = [] if keyed or given[0] == "sql" else ["--eps", eps]

        def release() -> None:
            done = run(*given, *budget, "--dataset", NAME, input=content)
            assert done.exit_code == 0, (name, done.output)

        made.append(Route(name, texts, eps, release, keyed, column))

    def python(name: str, texts: dict[str, str], release: Callable[[float], object], keyed: bool = False) -> None:
        eps = "0.7" if keyed else f"0.{len(made) + 1:03d}"
        made.append(Route(name, texts, eps, lambda: release(float(eps)), keyed))

    column = ("--column", "body")
    key = ("--key-file", "k", "--record-column", "id")
    command("a file", TEXTS, "sanitize", "same.csv", "NEW.csv", *column)
    command("a file to Parquet", TEXTS, "sanitize", "same.csv", "NEW.parquet", *column)
    command("a file to JSON", TEXTS, "sanitize", "same.csv", "NEW.jsonl", *column, "--json")
    command("a folder", TEXTS, "sanitize", "parts", "NEW.csv", *column)
    command("a pattern", TEXTS, "sanitize", "parts/*.csv", "NEW.csv", *column)
    command("lines", TEXTS, "sanitize", "lines.txt", "NEW.txt")
    command("lines, zipped", TEXTS, "sanitize", "lines.txt", "NEW.txt.gz")
    command("lines to standard output", TEXTS, "sanitize", "lines.txt", "-")
    command("rows to standard output", TEXTS, "sanitize", "same.csv", "-", *column)
    command("a stream of lines", TEXTS, "sanitize", "-", "-", content=lines)
    command("a stream with a limit", TEXTS, "sanitize", "-", "-", "--max-row-eps", "50", content=lines)
    stream = ("sanitize", "-", "NEW.csv", "--format", "csv", *column)
    command("a stream of rows", TEXTS, *stream, content=(folder / "same.csv").read_bytes())
    wide = ("--encoding", "utf-16")
    (folder / "wide.csv").write_bytes((folder / "same.csv").read_bytes().decode().encode("utf-16"))
    command("a file in UTF-16", TEXTS, "sanitize", "wide.csv", "NEW.csv", *column, *wide)
    command("a stream in UTF-16", TEXTS, "sanitize", "-", "-", *wide, content=lines.decode().encode("utf-16"))
    command("a text", {"1": TEXTS["1"]}, "sanitize", TEXTS["1"])
    command("a text as JSON", {"1": TEXTS["1"]}, "sanitize", TEXTS["1"], "--json")
    command("a table", TEXTS, "sanitize", "--data", "shop.duckdb", "--table", "same", "NEW", *column)
    command("a table to a file", TEXTS, "sanitize", "--data", "shop.duckdb", "--table", "same", "NEW.csv", *column)
    call = "custext_sanitize(body, EPS, false) AS body"
    command("a query", TEXTS, "sql", f"SELECT {call} FROM 'same.csv'")
    command("a query of a table", TEXTS, "sql", f"SELECT {call} FROM same", "--data", "shop.duckdb")
    command("a query as JSON", TEXTS, "sql", f"SELECT {call} FROM 'same.csv'", "--json")
    command("a query to a file", TEXTS, "sql", f"SELECT id, {call} FROM 'same.csv'", "--output", "NEW.parquet")
    into = ("--data", "shop.duckdb", "--into")
    command("a query into a table", TEXTS, "sql", f"SELECT {call} FROM same", *into, "NEW")
    command("a query into a table again", TEXTS, "sql", f"SELECT {call} FROM same", *into, "again", "--force")
    attached = ("--attach", "shop=shop.duckdb")
    command("a query of an attached table", TEXTS, "sql", f"SELECT {call} FROM shop.same", *attached)
    command("a query in steps", TEXTS, "sql", f"WITH t AS (SELECT {call} FROM 'same.csv') FROM t")
    command("a key", TEXTS, "sanitize", "same.csv", "NEW.csv", *column, *key)
    command("the same by a key", TEXTS, "sanitize", "same.csv", "NEW.parquet", *column, *key)
    command("edited texts by a key", EDITED, "sanitize", "edited.csv", "NEW.csv", *column, *key)
    command("other records by a key", OTHERS, "sanitize", "others.csv", "NEW.csv", *column, *key)
    command(
        "another header by a key", TEXTS, "sanitize", "Body.csv", "NEW.csv", "--column", "Body", *key, column="Body"
    )
    keyed = "SELECT custext_sanitize_keyed(body, 'body:' || id) AS body FROM 'same.csv'"
    command("a query by a key", TEXTS, "sql", keyed, "--key-file", "k", "--output", "NEW.csv")
    command("a table by a key", TEXTS, "sanitize", "--data", "shop.duckdb", "--table", "same", "NEW", *column, *key)

    def release_keyed(texts: dict[str, str]) -> object:
        records = [f"body:{record}" for record in texts]
        return Sanitizer.load(db, key_file="k").release(list(texts.values()), records=records, dataset=NAME)

    def call_function(connection: duckdb.DuckDBPyConnection, eps: float) -> None:
        connection.execute("SELECT custext_sanitize(body, ?, false) FROM 'same.csv'", [eps]).fetchall()

    def use_connection(eps: float) -> None:
        with connect(db, dataset=NAME) as connection:
            call_function(connection, eps)

    def use_register(eps: float) -> None:
        with duckdb.connect() as connection:
            register(connection, db, dataset=NAME)
            call_function(connection, eps)

    def use_spacy(eps: float) -> None:
        nlp = spacy.blank("en")
        nlp.add_pipe("custext", config={"database": str(db), "eps": eps, "dataset": NAME})
        list(nlp.pipe(TEXTS.values()))

    def use_spacy_by_key(eps: float) -> None:
        nlp = spacy.blank("en")
        nlp.add_pipe("custext", config={"database": str(db), "key_file": "k", "dataset": NAME})
        for record, text in EDITED.items():
            doc = nlp.make_doc(text)
            doc._.custext_record = f"body:{record}"
            nlp(doc)

    def release_parts(**settings: Any) -> None:
        release = open_release("rows", columns=["body"], dataset=NAME, database=db, **settings)
        for record, text in TEXTS.items():
            ids = pa.array([record]) if "key_file" in settings else None
            add_part(release, sanitize_part(release.sanitizer, {"body": pa.array([text])}, ids)[1])
        release.publish(lambda: None)

    def use_page(eps: float) -> None:
        with open_server(db, port=0) as (address, _), connect_page(address) as client:
            file = upload(client, "same.csv", (folder / "same.csv").read_bytes())
            route, settings = f"files/{file['id']}/release", {"eps": eps}
            ask(client, route, columns=["body"], dataset=NAME, settings=settings)

    python("the page", TEXTS, use_page)
    python("Python", TEXTS, lambda eps: Sanitizer.load(db).release(list(TEXTS.values()), eps, dataset=NAME))
    python("Python by a key", TEXTS, lambda eps: release_keyed(TEXTS), keyed=True)
    python("Python by a key, edited", EDITED, lambda eps: release_keyed(EDITED), keyed=True)
    python("parts", TEXTS, lambda eps: release_parts(eps=eps))
    python("parts by a key", TEXTS, lambda eps: release_parts(key_file="k", record_column="id"), keyed=True)
    python("connect", TEXTS, use_connection)
    python("register", TEXTS, use_register)
    python("spaCy", TEXTS, use_spacy)
    python("spaCy by a key", EDITED, use_spacy_by_key, keyed=True)
    return made


@pytest.mark.parametrize("each_ledger", ["SQLite", pytest.param("PostgreSQL", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.usefixtures("each_ledger")
def test_the_total_is_that_of_a_plain_count(db: Path, routes: list[Route]) -> None:
    assert len(routes) >= 30
    totals = []
    for number, route in enumerate(routes, start=1):
        route.release()
        settle_all()
        ledger = read_ledger(db)
        releases = ledger.releases
        assert len(releases) == number, route.name
        assert releases[-1].state == COMPLETE and releases[-1].dataset == NAME, route.name
        assert Fraction(releases[-1].largest_row_eps or 0) == route.count(), route.name
        [total] = ledger.totals
        assert total.total_eps is not None, route.name
        totals.append(Fraction(total.total_eps))
        assert totals[-1] == add_naively(routes[:number]), route.name
        if number % 4 == 0:
            strike_release(db, release=releases[-1].release_id, reason="deleted; it counts all the same")
    keyed = [number for number, route in enumerate(routes) if route.keyed]
    growing = [number for number in keyed if totals[number] > totals[number - 1]]
    assert [routes[number].name for number in growing] == ["a key", "edited texts by a key", "another header by a key"]
    assert len(keyed) == 11  # the other eight draw nothing new
