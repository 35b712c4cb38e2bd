"""The ledger has every release, adds up what they spent, and keeps budgets."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

from custext_sql import Sanitizer, read_ledger
from custext_sql.ledger import places
from custext_sql.store.outputs import AtomicOutput
from tests.files.test_data_files import db, folder, run
from tests.ledger_entries import enter_release, list_releases, list_totals
from tests.processes import hold_ledger

__all__ = ["db", "folder"]  # fixtures

SECRET = "Zzyzxa81"


def write_texts(path: Path, *texts: str) -> None:
    path.write_text("id,body\n" + "".join(f"{number},{text}\n" for number, text in enumerate(texts)))


def test_every_release_leaves_its_receipt(db: Path, folder: Path) -> None:
    write_texts(folder / "in.csv", f"Alice met {SECRET} 12345", "the bob's carol", "")
    options = ("--column", "body", "--eps", "0.5", "--plus", "--policy", "paper")
    assert run("sanitize", "in.csv", "out.csv", *options).exit_code == 0
    [release] = list_releases(db)
    assert (release.state, release.dataset) == ("complete", str((folder / "in.csv").resolve()))
    assert release.completed_at is not None and release.started_at <= release.completed_at
    assert (release.sanitized, release.eps, release.plus, release.draws) == (["body"], 0.5, True, "fresh")
    assert release.policy == "unknown=keep numbers=shape case=lower invisible=keep units=keep"
    assert release.calibration == "paper"
    assert (release.row_count, release.word_count, release.replaced, release.stopwords) == (2, 8, 3, 1)
    assert (release.numbers, release.unknown_kept, release.endings) == (1, 2, 1)
    assert release.characters_in_clear == len(f"met{SECRET}thes")
    assert (release.largest_row_eps, release.mean_row_eps) == (Decimal(1), 0.75)


def test_texts_and_queries_are_entered_without_their_words(db: Path, folder: Path) -> None:
    write_texts(folder / "in.csv", f"Alice {SECRET}")
    assert run("sanitize", f"Alice {SECRET}").exit_code == 0
    assert run("sanitize", "-", input=f"Alice\nbob {SECRET}\n".encode()).exit_code == 0
    query = f"SELECT custext_sanitize(body, id + 1, true) AS t, '{SECRET}' AS s FROM 'in.csv', range(3) r(id)"
    assert run("sql", query.replace("id + 1", "r.id + 1"), "--output", "out.csv").exit_code == 0
    assert run("sql", "SELECT 1 AS a", "--output", "none.csv", "--dataset", "mine", "--allow-raw").exit_code == 0
    first, second, third, fourth = list_releases(db)
    names = [release.dataset for release in (first, second, third, fourth)]
    assert names == ["<argument>", "<stdin>", "<query>", "mine"]
    assert {release.state for release in (first, second, third, fourth)} == {"complete"}
    assert (first.row_count, second.row_count, second.replaced) == (1, 2, 2)
    assert (third.row_count, third.replaced, third.eps, third.plus) == (3, 3, 3.0, True)
    assert third.largest_row_eps == Decimal(3)
    assert (fourth.row_count, fourth.eps, fourth.plus, fourth.draws) == (1, None, None, "raw")
    assert (second.at_least, third.at_least, fourth.at_least) == (False, True, False)
    for release in (first, second, third, fourth):
        assert SECRET not in json.dumps(release.to_dict())
    for path in db.parent.glob(f"{db.stem}.*"):
        assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("identifier", ["x", "a:b:c"])
def test_a_row_is_the_same_whether_its_record_names_the_column(db: Path, folder: Path, identifier: str) -> None:
    (folder / "in.csv").write_text(f"id,body\n{identifier},alice bob\n")
    assert run("keygen", "k").exit_code == 0
    keyed = ("--key-file", "k", "--record-column", "id", "--dataset", "d")
    assert run("sanitize", "in.csv", "out.csv", "--column", "body", *keyed).exit_code == 0
    sanitizer = Sanitizer.load(db, key_file="k")
    sanitizer.release(["alice bob"], records=[f"body:{identifier}"], dataset="d")  # the same draws again
    assert [total.total_eps for total in list_totals(db)] == [2]
    sanitizer.release(["alice bob"], records=[identifier], dataset="d")
    assert [total.total_eps for total in list_totals(db)] == [4]


def test_a_key_knows_rows_by_one_column(db: Path, folder: Path) -> None:
    """By another one, all rows would be drawn again, as other records."""
    (folder / "in.csv").write_text("id,sku,body\n1,a1,alice bob\n2,a2,carol\n")
    assert run("keygen", "k").exit_code == 0
    keyed = ("--column", "body", "--key-file", "k", "--dataset", "d")
    assert run("sanitize", "in.csv", "1.csv", *keyed, "--record-column", "id").exit_code == 0
    refused = run("sanitize", "in.csv", "2.csv", *keyed, "--record-column", "sku", "--reuse-key")
    assert "identified rows by column 'id' before" in refused.output and not Path("2.csv").exists()
    assert run("sanitize", "in.csv", "2.csv", *keyed, "--record-column", "ID").exit_code == 0
    assert [total.total_eps for total in list_totals(db)] == [2]


def test_a_folder_is_no_name_of_a_dataset(db: Path, folder: Path) -> None:
    """Its files identify the data; under the folder's name, they would be counted apart."""
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("alice bob\n")
    assert run("sanitize", "texts", "1.txt").exit_code == 0
    for name in (str(folder / "texts"), "texts/", "./texts"):
        refused = run("sanitize", "texts", "2.txt", "--dataset", name)
        assert "is a folder, whose files identify the data" in refused.output and not Path("2.txt").exists()


@pytest.mark.slow
def test_a_stream_that_was_cut_off_has_spent_what_it_gave(db: Path, folder: Path) -> None:
    content = "alice bob carol\n" * 200_000
    (folder / "in.txt").write_text(content)
    command = f"{sys.executable} -m custext_sql sanitize - - --dataset d < in.txt | head -1"
    subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    [release] = list_releases(db)
    assert (release.state, release.largest_row_eps) == ("pending", Decimal(3))
    refused = run("sanitize", "in.txt", "out.txt", "--dataset", "d", "--budget-total", "5")
    assert "total eps of 6" in refused.output


def test_exports_hold_everything(db: Path, folder: Path) -> None:
    run("sanitize", "alice")
    assert run("ledger", "--export", "l.csv").output == "l.csv: 1 release\n"
    assert run("ledger", "--export", "l.json").exit_code == 0
    with (folder / "l.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    [other] = json.loads((folder / "l.json").read_text())
    assert row.keys() == other.keys() and row["release_id"] == other["release_id"]
    assert row["replaced"] == "1" and other["replaced"] == 1
    found = read_ledger(db)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict() == json.loads(run("ledger", "--json").output)
    assert other == found.to_dict()["releases"][0] and other["started_at"] == found.releases[0].started_at.isoformat()
    assert row["started_at"] == str(found.releases[0].started_at)
    assert "l.csv already exists" in run("ledger", "--export", "l.csv").output
    assert "must end in .csv or .json" in run("ledger", "--export", "l.txt").output


def test_the_release_is_pending_until_its_output_is_there(
    db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_texts(folder / "in.csv", "alice bob")
    seen: list[tuple[str, bool]] = []
    publish = AtomicOutput.publish

    def watching(output: AtomicOutput) -> None:
        seen.append((list_releases(db)[0].state, (folder / "out.csv").exists()))
        publish(output)
        seen.append((list_releases(db)[0].state, (folder / "out.csv").exists()))

    monkeypatch.setattr(AtomicOutput, "publish", watching)
    assert run("sanitize", "in.csv", "out.csv", "--column", "body").exit_code == 0
    assert seen == [("pending", False), ("pending", True)]
    assert list_releases(db)[0].state == "complete"


@pytest.mark.parametrize(
    ("error", "states"), [(KeyboardInterrupt(), ["pending"]), (SystemExit(143), ["pending"]), (OSError(28, "full"), [])]
)
def test_an_output_that_may_be_there_stays_in_the_ledger(
    db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, states: list[str]
) -> None:
    """An interrupt may come right after the output appeared; an output that failed to appear was not released."""
    write_texts(folder / "in.csv", "alice bob")
    publish = AtomicOutput.publish

    def interrupted(output: AtomicOutput) -> None:
        if not isinstance(error, OSError):
            publish(output)
        raise error

    monkeypatch.setattr(AtomicOutput, "publish", interrupted)
    assert run("sanitize", "in.csv", "out.csv", "--column", "body").exit_code != 0
    assert [release.state for release in list_releases(db)] == states
    assert (folder / "out.csv").exists() == bool(states)


TEXTS = ["alice bob carol", "dave", "alice bob carol dave", "zzz"]
ROUTES = {
    "csv": ["sanitize", "in.csv", "out.csv", "--column", "body"],
    "stream": ["sanitize", "-", "-"],
    "table": ["sanitize", "--data", "shop.duckdb", "--table", "reviews", "out", "--column", "body"],
    "query": ["sql", "SELECT custext_sanitize(body, 1, false) AS body FROM 'in.csv'", "--output", "out.csv"],
}


@pytest.fixture(params=["csv", "stream", "table"])
def release(request: pytest.FixtureRequest, folder: Path) -> Callable[..., Result]:
    """Release the texts by one of the routes; if that is refused, nothing comes out."""
    write_texts(folder / "in.csv", *TEXTS)
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE reviews AS SELECT unnest(?) AS body", [TEXTS])

    def run_route(*options: str) -> Result:
        done = run(*ROUTES[request.param], *options, input="\n".join(TEXTS).encode())
        if done.exit_code:
            assert done.stdout == "" and not list(folder.glob("out.*"))
            with duckdb.connect("shop.duckdb", read_only=True) as connection:
                assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("reviews",)]
        return done

    return run_route


def test_rows_that_would_spend_too_much_are_refused(db: Path, release: Callable[..., Result]) -> None:
    refused = release("--max-row-eps", "2")
    assert refused.exit_code == 1 and list_releases(db) == []
    assert "a row would spend more than --max-row-eps 2 " in refused.output
    assert "up to 4; nothing was written" in refused.output
    assert release("--max-row-eps", "4").exit_code == 0


@pytest.mark.parametrize("release", ROUTES, indirect=True)
def test_what_cannot_be_entered_is_not_released(
    db: Path, release: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PATIENCE", 0.3)
    enter_release(db, "earlier", largest_row_eps=3)
    with hold_ledger(db):
        refused = release()
        assert refused.exit_code == 1
        reason = "another process is still writing to it; nothing was released."
        assert f"cannot write the ledger {db.with_suffix('.ledger.sqlite')}: {reason}" in refused.output
        assert "name another ledger: --ledger PATH or URL" in refused.output
        assert [release.dataset for release in list_releases(db)] == ["earlier"]  # readers need not wait
    assert release().exit_code == 0 and len(list_releases(db)) == 2
