"""A sanitizer as a file: the same sanitizer comes out, without a key; a file that was changed is refused."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custext_sql import CusTextError, Policy, Sanitizer
from custext_sql.errors import MappingError, OutputError, SettingError
from custext_sql.sanitizer.settings import Settings
from custext_sql.store.key_files import read_key_file
from tests.small_mapping import small_mapping

WORDS = ["alice", "bob", "carol", "dave", "erin", "frank"]
STOPWORDS = frozenset({"the", "it’s"})
SETTINGS = Settings(
    eps=2.5, plus=True, policy=Policy(unknown="keep", case="match"), calibration="tight", language="dutch"
)
TEXT = "The alice, Bob and carol; zq 12"
HEADER, DIGEST = b"custext_sanitizer", b"custext_sanitizer_sha256"


@pytest.fixture(scope="module")
def small() -> Sanitizer:
    return Sanitizer(small_mapping(WORDS, k=3), STOPWORDS, SETTINGS)


@pytest.fixture(scope="module")
def saved(small: Sanitizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "sanitizer"
    small.save(path)
    return path


def assert_same(found: Sanitizer, expected: Sanitizer) -> None:
    assert found.identity == expected.identity
    assert found.mapping.info == expected.mapping.info
    assert found.mapping.ranks.tolist() == expected.mapping.ranks.tolist()
    assert replace(found.settings, mapping=None) == replace(expected.settings, mapping=None, key=None)


def test_what_is_opened_is_what_was_saved(small: Sanitizer, saved: Path) -> None:
    opened = Sanitizer.open(saved)
    assert_same(opened, small)
    assert opened.settings == replace(SETTINGS, mapping="small")
    assert opened.draws == "fresh"
    assert opened.database is None
    assert opened.sanitize(TEXT, 0) == small.sanitize(TEXT, 0)
    for word in WORDS:
        assert opened.distribution(word) == small.distribution(word)
        assert opened.distribution(word, 0.1) == small.distribution(word, 0.1)


def test_equal_sanitizers_give_equal_bytes(small: Sanitizer, saved: Path, tmp_path: Path) -> None:
    seeded = Sanitizer(small.mapping, STOPWORDS, SETTINGS, seed=7)
    for number, sanitizer in enumerate((small, Sanitizer.open(saved), seeded)):
        path = tmp_path / str(number)
        assert sanitizer.save(path) == hashlib.sha256(saved.read_bytes()).hexdigest()
        assert path.read_bytes() == saved.read_bytes()


def test_a_key_stays_behind_and_can_be_added(keyed: Sanitizer, key: Path, tmp_path: Path) -> None:
    path = tmp_path / "sanitizer"
    keyed.save(path)
    content, text = path.read_bytes(), json.loads(key.read_text())["key"]
    assert bytes.fromhex(text) not in content
    assert text.encode() not in content
    assert str(key).encode() not in content
    opened = Sanitizer.open(path)
    assert opened.key is None
    assert_same(opened, keyed.with_fresh_draws())
    assert (opened.settings.eps, opened.settings.plus) == (2.0, True)
    again = opened.with_key(read_key_file(key))
    assert again.sanitize("alice bob", record="r") == keyed.sanitize("alice bob", record="r")


def test_an_existing_file_is_replaced_only_on_demand(small: Sanitizer, saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "sanitizer"
    path.write_text("mine")
    with pytest.raises(OutputError, match="already exists.*force=True"):
        small.save(path)
    assert path.read_text() == "mine"
    small.save(path, force=True)
    assert path.read_bytes() == saved.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing(small: Sanitizer, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="does not exist"):
        small.save(tmp_path / "missing" / "sanitizer")
    with pytest.raises(OutputError, match="is a folder"):
        small.save(tmp_path, force=True)
    with pytest.raises(OutputError, match="cannot write"):
        small.save(tmp_path / "a\0b")
    with pytest.raises(SettingError, match="must be a path"):
        small.save(3)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_is_a_mapping_error(small: Sanitizer, tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, tmp_path / "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(MappingError, match="cannot read the sanitizer file"):
            Sanitizer.open(path)
    with pytest.raises(SettingError, match="must be a path"):
        Sanitizer.open(b"x")  # type: ignore[arg-type]


def refusal_of(path: Path, content: bytes, sha256: str | None = None) -> str:
    path.write_bytes(content)
    with pytest.raises(CusTextError) as caught:
        Sanitizer.open(path, sha256=sha256)
    assert type(caught.value) is MappingError
    assert "write" in str(caught.value)
    return str(caught.value)


@settings(max_examples=40)
@given(data=st.data())
def test_a_flipped_byte_never_changes_what_is_opened(saved: Path, small: Sanitizer, data: st.DataObject) -> None:
    """Some bytes mean nothing, such as padding. All others are noticed, and with a digest, these too."""
    content = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = saved.with_name("flipped")
    expected = hashlib.sha256(saved.read_bytes()).hexdigest()
    assert "its SHA-256 differs" in refusal_of(path, bytes(content), expected)
    try:
        opened = Sanitizer.open(path)
    except MappingError:
        return
    assert_same(opened, small)


def rewrite(content: bytes, change: Callable[[pa.Table], pa.Table]) -> bytes:
    table = change(pa.ipc.open_file(pa.BufferReader(content)).read_all())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def rewrite_header(content: bytes, change: Callable[[dict[str, Any]], object], *, digest: bool) -> bytes:
    """Return a file with another header. digest: with the digest of the new header, as a forger would write it."""

    def change_table(table: pa.Table) -> pa.Table:
        header = json.loads(table.schema.metadata[HEADER])
        change(header)
        written = json.dumps(header, sort_keys=True).encode()
        known = hashlib.sha256(written).hexdigest().encode() if digest else table.schema.metadata[DIGEST]
        return table.replace_schema_metadata({HEADER: written, DIGEST: known})

    return rewrite(content, change_table)


def with_column(name: str, change: Callable[[list[Any]], list[Any]]) -> Callable[[pa.Table], pa.Table]:
    def change_table(table: pa.Table) -> pa.Table:
        place, kind = table.column_names.index(name), table.schema.field(name).type
        return table.set_column(place, table.schema.field(name), pa.array(change(table[name].to_pylist()), kind))

    return change_table


def test_changed_stopwords_are_noticed(saved: Path, tmp_path: Path) -> None:
    """Someone who also changes the digest inside the file is noticed only by the digest of the file."""
    path, expected = tmp_path / "changed", hashlib.sha256(saved.read_bytes()).hexdigest()
    content = saved.read_bytes()

    def change(header: dict[str, Any]) -> None:
        header["stopwords"] = ["alice"]

    assert "its settings or stopwords differ" in refusal_of(path, rewrite_header(content, change, digest=False))
    forged = rewrite_header(content, change, digest=True)
    assert "its SHA-256 differs" in refusal_of(path, forged, expected)
    assert Sanitizer.open(path).stopwords == {"alice"}
    assert Sanitizer.open(saved, sha256=expected).stopwords == STOPWORDS


NO_FILE = "is not a sanitizer file, or is damaged; write one with Sanitizer.save"
TABLES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "score": (
        with_column("units", lambda rows: [[rows[0][0], rows[0][1] - 1, *rows[0][2:]], *rows[1:]]),
        "fingerprint",
    ),
    "huge score": (with_column("units", lambda rows: [[2**30, *rows[0][1:]], *rows[1:]]), "not between -1 and 1"),
    "NULL scores": (with_column("units", lambda rows: [None, *rows[1:]]), NO_FILE),
    "ranks": (with_column("rank", lambda ranks: ranks[::-1]), "the ranks of words differ"),
    "equal ranks": (with_column("rank", lambda ranks: [ranks[0], ranks[0], *ranks[2:]]), "same rank"),
    "word": (with_column("word", lambda words: ["mallory", *words[1:]]), "fingerprint"),
    "negative group": (with_column("group_id", lambda groups: [-1, *groups[1:]]), NO_FILE),
    "fewer words": (lambda table: table.slice(3), "removed"),
    "another column": (lambda table: table.append_column("x", pa.nulls(len(table))), NO_FILE),
    "another type": (lambda table: table.set_column(2, "rank", table["rank"].cast("int64")), NO_FILE),
    "another table": (lambda _: pa.table({"word": ["secret"]}), NO_FILE),
}


@pytest.mark.parametrize("change, reason", TABLES.values(), ids=TABLES)
def test_a_changed_table_is_refused(
    saved: Path, tmp_path: Path, change: Callable[[pa.Table], pa.Table], reason: str
) -> None:
    assert reason in refusal_of(tmp_path / "changed", rewrite(saved.read_bytes(), change))


@pytest.mark.parametrize("content", [b"", b"secret", b"ARROW1\0\0", None])
def test_other_files_are_refused(saved: Path, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other"
    assert refusal_of(path, saved.read_bytes()[:-1] if content is None else content) == f"{path} {NO_FILE}"


@pytest.mark.parametrize(
    "changes",
    [
        *({"settings": {"eps": eps}} for eps in (101, 10**400)),
        {"settings": {"plus": 1}},
        {"settings": {"policy": {"unknown": "publish"}}},
        {"settings": {"key": "secret"}},
        *({"mapping": {"name": name}} for name in (["small"], "\ud800")),
        {"mapping": {"created_at": "yesterday"}},
        {"mapping": {"fingerprint": "0" * 64}},
        *({"stopwords": stopwords} for stopwords in (None, ["\udfff"])),
        {"format": 3},
    ],
)
@pytest.mark.parametrize("digest", [False, True])
def test_a_changed_header_is_refused_even_with_its_digest(
    saved: Path, tmp_path: Path, changes: dict[str, Any], digest: bool
) -> None:
    def change(header: dict[str, Any]) -> None:
        header.update(
            {name: {**header[name], **new} if isinstance(new, dict) else new for name, new in changes.items()}
        )

    refusal_of(tmp_path / "changed", rewrite_header(saved.read_bytes(), change, digest=digest))
