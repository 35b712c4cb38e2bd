"""Files that are dropped on the page: read, previewed and released as by the library."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from custext_sql import Sanitizer, compare_texts, find_leaks, sanitize_file
from custext_sql.kinds import spread_counts
from custext_sql.ledger.entries import COMPLETE, Entry
from tests.ledger_entries import list_releases, list_totals
from tests.playground.file_site import Site, open_site
from tests.playground.requesting import upload

TEXTS = ['The "family" was well; Zorglub called', "", "my mother\nsaw a film", "é 98765 doctor, a@b.org"]
CSV = "id,body,note\n" + "".join(
    f'{number},"{text.replace(chr(34), 2 * chr(34))}",n{number}\n' for number, text in enumerate(TEXTS)
)


def to_parquet() -> bytes:
    target = io.BytesIO()
    columns = {"id": range(4), "body": TEXTS, "note": [f"n{number}" for number in range(4)]}
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), target)
    return target.getvalue()


def to_tsv() -> str:
    target = io.StringIO()
    csv.writer(target, dialect="excel-tab", lineterminator="\n").writerows(csv.reader(io.StringIO(CSV)))
    return target.getvalue()


ROWS = [{"id": number, "body": text, "note": f"n{number}"} for number, text in enumerate(TEXTS)]
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS)
TEXT = "\n".join(text.replace("\n", " ") for text in TEXTS)
FORMATS: dict[str, Callable[[], bytes]] = {
    "reviews.csv": CSV.encode,
    "reviews.tsv": lambda: to_tsv().encode(),
    "reviews.parquet": to_parquet,
    "reviews.json": lambda: json.dumps(ROWS).encode(),
    "reviews.jsonl": LINES.encode,
    "REVIEWS.NDJSON": LINES.encode,
    "reviews.txt": TEXT.encode,
    "reviews.csv.gz": lambda: gzip.compress(CSV.encode()),
    "reviews.jsonl.gz": lambda: gzip.compress(LINES.encode()),
    "Reviews.2024.TXT.GZ": lambda: gzip.compress(TEXT.encode()),
}
QUICK = ("reviews.csv", "reviews.parquet", "Reviews.2024.TXT.GZ")


@pytest.fixture(scope="module")
def site(few_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    from custext_sql import build_mapping

    with open_site(few_template, tmp_path_factory.mktemp("uploads")) as opened:
        build_mapping(opened.database, embedding="starter", k=5)
        yield opened


def find_releases(site: Site, dataset: str) -> list[Entry]:
    return [release for release in list_releases(site.database) if release.dataset == dataset]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FORMATS]
)
def test_a_file_is_released_as_on_the_command_line(site: Site, tmp_path: Path, name: str) -> None:
    content = FORMATS[name]()
    file = upload(site.client, name, content)
    columns = [] if "txt" in name.lower() else ["id", "body", "note"]
    assert (file["name"], file["bytes"], file["columns"]) == (name, len(content), columns)
    chosen = columns[1:2]
    report = site.release(file, chosen, f"data of {name}", eps=0, plus=True)

    (tmp_path / name).write_bytes(content)
    stem, ending = name.split(".", 1) if "2024" not in name else (name[:12], name[13:])
    expected = tmp_path / f"{stem}.sanitized.{ending}"
    known = sanitize_file(
        tmp_path / name, expected, columns=chosen, eps=0, plus=True, dataset="expected", database=site.database
    )
    assert report["output"] == expected.name
    assert (report["rows"], report["copied"]) == (known.rows, list(known.copied))
    assert report["lines"] == known.receipt.describe().split("\n")
    assert report["counts"] == json.loads(json.dumps(spread_counts(asdict(known.receipt))))
    output = site.download(file)
    assert unzip(output) == unzip(expected.read_bytes()) != unzip(content)
    assert site.download(file) == output
    response = site.client.get(f"/api/files/{file['id']}/output")
    assert response.headers["content-disposition"] == f"attachment; filename*=UTF-8''{expected.name}"
    [release] = find_releases(site, f"data of {name}")
    assert release.state == COMPLETE and release.parts == []
    assert release.outputs == [{"name": expected.name, "sha256": sha256(output).hexdigest()}]
    for private in (*map(str, asdict(release).values()), json.dumps(report), output.decode("latin-1")):
        assert str(site.temporary) not in private and ".draft" not in private


def unzip(content: bytes) -> bytes:
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


@pytest.mark.parametrize("plus", [False, True])
def test_a_preview_shows_what_the_library_finds(site: Site, tmp_path: Path, plus: bool) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text(CSV)
    file = upload(site.client, "reviews.csv", CSV.encode())
    before = len(list_releases(site.database))
    for eps in (0, 4):  # the second time, the leaks are remembered
        found = site.preview(file, "body", eps=eps, plus=plus)
        expected = compare_texts(path, column="body", rows=10, database=site.database, eps=eps, plus=plus)
        assert [row["place"] for row in found["rows"]] == [row.place for row in expected.rows]
        for row, known in zip(found["rows"], expected.rows, strict=True):
            shown = [[piece.before, piece.after, piece.kind] for piece in known.pieces]
            kept = slice(3) if eps == 0 else slice(0, 3, 2)  # draws differ
            assert [piece[kept] for piece in row["pieces"]] == [piece[kept] for piece in shown]
        leaks = find_leaks(path, column="body", top=8, database=site.database, plus=plus)
        assert [found["leaks"][name] for name in ("rows", "words", "replaced", "in_clear", "advice")] == [
            *(leaks.rows, leaks.words, leaks.replaced, leaks.in_clear, list(leaks.advice))
        ]
        assert [(kind["kind"], kind["count"], kind["words"]) for kind in found["leaks"]["kinds"]] == [
            (kind.kind, kind.count, [word.word for word in kind.words]) for kind in leaks.kinds
        ]
    assert len(list_releases(site.database)) == before


def test_a_preview_shows_ten_rows_and_the_beginning_of_long_ones_and_of_long_words(site: Site) -> None:
    long = "the family was well " * 50_000
    file = upload(site.client, "long.txt", f"{long}\n".encode() + b"film\n" * 20)
    rows = site.preview(file, None)["rows"]
    assert [row["place"] for row in rows] == list(range(1, 11))
    shown = "".join(piece[0] for piece in rows[0]["pieces"])
    assert len(shown) <= 2_004 and long.startswith(shown.removesuffix(" ...")) and shown.endswith(" ...")
    found = site.preview(upload(site.client, "a.txt", b"q" * 1_000_000 + b" zorglub\n"), None)
    assert found["leaks"]["kinds"][0]["words"] == ["q" * 40 + "...", "zorglub"]
    assert len(json.dumps(found)) < 10_000


def test_releases_of_the_same_data_add_up(site: Site) -> None:
    content = b"the family was well\nmy mother\n"
    for number in (1, 2):
        file = upload(site.client, f"copy{number}.txt", content)
        site.release(file, [], "Added", eps=1)
        site.release(file, [], "added ", eps=0.5)
        [total] = [total for total in list_totals(site.database) if total.dataset.lower() == "added"]
        assert total.total_eps == number * 4 * 1.5


def test_another_mapping_needs_to_be_allowed(site: Site) -> None:
    file = upload(site.client, "a.txt", b"the family was well\n")
    site.release(file, [], "two mappings")
    before = site.download(file)
    settings = {"mapping": "starter-euclidean-k5"}
    said = site.refuse(file, "release", dataset="two mappings", settings=settings)
    assert "starter-euclidean-k20" in said and len(find_releases(site, "two mappings")) == 1
    assert site.download(file) == before
    body = {"dataset": "two mappings", "settings": settings, "second_mapping": True}
    response = site.client.post(f"/api/files/{file['id']}/release", json=body)
    assert response.status_code == 200 and len(find_releases(site, "two mappings")) == 2


def test_several_columns_are_released_together(site: Site) -> None:
    file = upload(site.client, "a.csv", b"a,b,c\nfamily,doctor,keep\n")
    assert site.release(file, ["a", "b"], "columns", eps=0)["copied"] == ["c"]
    sanitizer = Sanitizer.load(site.database)
    expected = f"a,b,c\n{sanitizer.sanitize('family', 0.0)},{sanitizer.sanitize('doctor', 0.0)},keep\n"
    assert site.download(file).decode() == expected


def test_the_name_of_the_data_is_needed(site: Site) -> None:
    file = upload(site.client, "a.txt", b"the family\n")
    for name in (" ", "\n"):
        assert "name must not be empty" in site.refuse(file, "release", dataset=name)
    assert "must not begin with <" in site.refuse(file, "release", dataset="<stdin>")  # would not add up
