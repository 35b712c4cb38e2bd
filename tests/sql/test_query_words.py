"""Words of a query that may be shown: those outside of all quotes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.errors import are_plain, tell_arrow_type, tell_type
from custext_sql.sql.query_words import QueryWords


def names_of(query: str) -> set[str]:
    return set(QueryWords.read(query).names.values())


QUERIES = {
    "SELECT a, t.b FROM t": {"SELECT", "a", "t", "b", "FROM"},
    "SELECT 'Alice', x": {"SELECT", "x"},
    "SELECT 'It's Alice's dog', x": {"SELECT"},
    "SELECT x, 'Alice": {"SELECT", "x"},
    r"SELECT E'it\'s Alice', x": {"SELECT"},
    r"SELECT 'C:\x\', Alice, 'y'": {"SELECT"},
    r"SELECT 'C:\x', y": {"SELECT", "y"},
    'SELECT "Alice ""Bob"" Carol", x': {"SELECT", "x"},
    'SELECT "Alice "Bob" Carol", x': {"SELECT"},
    "SELECT `Alice`, x": {"SELECT", "x"},
    "SELECT $$Alice's$$, x": {"SELECT", "x"},
    "SELECT $tag$Alice$$ Bob$tag$, x": {"SELECT", "x"},
    "SELECT a$$Alice$$, x": {"SELECT"},
    "SELECT $1, $name, x": {"SELECT"},
    "SELECT x -- Alice's\n, y": {"SELECT", "x", "y"},
    "SELECT x /* a /* b */ Alice */, y": {"SELECT", "x", "y"},
    "SELECT x /* Alice": {"SELECT", "x"},
    "SELECT x, ‘Alice Bob’": {"SELECT", "x"},
    "SELECT 5551234, 1e5, x'AB', größe": {"SELECT", "größe"},
    "FROM read_csv('f', types = {'id': 'INT', 'n': 'Alice'})": {"FROM", "read_csv", "types", "id", "n"},
    "FROM read_csv('f', columns := {'id': 'INT'}, names = ['a', 'b'])": (
        {"FROM", "read_csv", "columns", "names", "id", "a", "b"}
    ),
    "SELECT x FROM t WHERE columns = {'Alice': 1}": {"SELECT", "x", "FROM", "t", "WHERE", "columns"},
    "FROM read_csv('f', types = ['Alice'], x = {'Bob': 1})": {"FROM", "read_csv", "types", "x"},
}


@pytest.mark.parametrize("query", QUERIES)
def test_bare_words_are_names(query: str) -> None:
    assert names_of(query) == QUERIES[query]


@given(st.text(alphabet=st.sampled_from("abzQ'\"\\$`(),\n /*-é‘"), max_size=30).map(lambda text: f"Zsecret{text}tailZ"))
def test_what_is_quoted_well_is_never_a_name(text: str) -> None:
    string, identifier = "'" + text.replace("'", "''") + "'", '"' + text.replace('"', '""') + '"'
    for query in (
        f"SELECT {string}, x",
        f"SELECT {identifier}, x",
        f"SELECT f({string}) FROM t WHERE {identifier} = 1",
    ):
        shown = " ".join(names_of(query))
        assert "Zsecret" not in shown and "tailZ" not in shown


@given(
    st.lists(st.sampled_from(["'", "''", '"', "x", "Alice", " ", ",", "\\", "--", "/*", "*/", "$$", "\n"]), max_size=30)
)
def test_no_query_is_too_strange_to_be_read(parts: list[str]) -> None:
    query = "".join(parts)
    assert all(re.search(rf"\b{name}\b", query) for name in names_of(query))


def test_functions_that_turn_values_into_names_are_found() -> None:
    for query in (
        "FROM query_table('x')",
        "SELECT GetVariable ('x')",
        "SELECT \"getvariable\"('x')",
        "FROM query('x')",
    ):
        assert QueryWords.read(query).is_dynamic
    assert not QueryWords.read("SELECT query FROM query_log").is_dynamic


def test_types_that_quote_data_are_cut_to_their_first_word() -> None:
    for kind, shown in (
        ("BIGINT", "BIGINT"),
        ("DECIMAL(10,2)[]", "DECIMAL(10,2)[]"),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"),
        ('"NULL"', "NULL"),
        ("ENUM('Alice', 'Bob')", "ENUM"),
        ('STRUCT("Alice\'s" INTEGER)[]', "a list of STRUCT"),
        ("Alice", "another type"),
        ("VARCHAR'Alice", "another type"),
    ):
        assert tell_type(kind) == shown
    assert are_plain("VARCHAR, INTEGER_LITERAL") and are_plain("") and are_plain("INTEGER[], TIME")
    assert not are_plain("VARCHAR, ENUM('Alice')") and not are_plain("VARCHAR, Alice") and not are_plain("INTEGERAlice")
    assert tell_arrow_type("struct<Alice: string>") == "struct"
    assert tell_arrow_type("timestamp[us, tz=Alice]") == "timestamp"
    assert tell_arrow_type("large_binary") == "large_binary"
    assert tell_arrow_type("<Alice>") == "another type"
