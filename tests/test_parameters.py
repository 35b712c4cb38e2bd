"""Messages about names and numbers."""

from custext_sql.parameters import count_of, suggest


def test_a_noun_agrees_with_its_number() -> None:
    assert [count_of(number, "row") for number in (0, 1, 2, 1200)] == ["0 rows", "1 row", "2 rows", "1,200 rows"]
    assert [count_of(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


def test_a_name_that_does_not_exist_gets_a_hint() -> None:
    assert suggest("startr", ["starter", "large"], "mappings") == "did you mean 'starter'?"
    assert suggest("x", ["starter", "large"], "mappings") == "mappings: large, starter"
    assert suggest("x", ["b", "a"]) == "expected one of: a, b"
    assert suggest("x", []) == "there are none yet"
    assert suggest("x", [f"name{number}" for number in range(50)], "names").endswith(", ...")
