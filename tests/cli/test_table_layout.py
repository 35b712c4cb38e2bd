"""Tables fit the width: texts are folded, spare columns left out, other columns follow below; numbers stay whole."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custext_sql.cli.output import lay_out, print_table

COLUMNS = ["name", "rows", "in the clear", "where it was found"]
ROWS = [["alice", "1,000,000", "7", "a place with a long name"], ["bob", "3", "12", "here"]]
Show = Callable[..., tuple[list[str], str]]


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Show:
    """Return a function that prints the table at a width, and returns its lines, and the note below it."""

    def show(width: int | None, spare: tuple[int, ...] = ()) -> tuple[list[str], str]:
        if width is not None:
            monkeypatch.setenv("COLUMNS", str(width))
        print_table(COLUMNS, ROWS, right=(1, 2), spare=spare)
        printed = capsys.readouterr()
        return [line.rstrip() for line in printed.out.splitlines()], " ".join(printed.err.split())

    return show


def test_a_table_that_is_piped_is_as_wide_as_it_is(show: Show) -> None:
    whole = [
        "name        rows  in the clear  where it was found",
        "alice  1,000,000             7  a place with a long name",
        "bob            3            12  here",
    ]
    assert show(None) == show(56) == show(500) == (whole, "")


def test_texts_and_headers_are_folded_and_numbers_are_not(show: Show) -> None:
    folded = [
        "                  in the  where it was",
        "name        rows   clear  found",
        "alice  1,000,000       7  a place with a",
        "                          long name",
        "bob            3      12  here",
    ]
    assert show(42) == (folded, "")


def test_columns_that_are_left_out_are_named(show: Show) -> None:
    lines, note = show(40, spare=(3, 2))
    assert lines == [
        "name        rows  in the clear",
        "alice  1,000,000             7",
        "bob            3            12",
    ]
    assert note == "Not shown at 40 columns: where it was found (for all: COLUMNS=160, or --json)."
    lines, note = show(16, spare=(3, 2))
    assert lines[1] == "alice  1,000,000" and "in the clear, where it was found" in note


def test_other_columns_follow_below_with_the_first_one(show: Show) -> None:
    first = ["                   in the", "name        rows    clear", "alice  1,000,000        7"]
    below = ["name   where it was found", "alice  a place with a", "       long name", "bob    here"]
    assert show(25) == ([*first, "bob            3       12", "", *below], "")


@given(
    st.lists(st.lists(st.text("ab ", max_size=60), min_size=4, max_size=4), max_size=3),
    st.integers(1, 200),
    st.permutations(range(4)),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_every_column_is_shown_or_left_out(
    rows: list[list[str]], width: int, order: list[int], spare: int, right: int
) -> None:
    blocks, left_out = lay_out(COLUMNS, rows, width, order[:right], order[:spare], fixed=1)
    shown = {place for block in blocks for place in block}
    assert shown | set(left_out) == {0, 1, 2, 3} and not shown & set(left_out)
    for block in blocks:
        for place, room in block.items():
            longest = max((len(row[place].rstrip("\n")) for row in rows), default=0)
            assert room <= max(longest, len(COLUMNS[place]))
            assert place not in order[:right] or room >= longest
        assert sum(block.values()) + 2 * (len(block) - 1) <= width or len(block) <= 2
    assert left_out == order[: len(left_out)] and len(left_out) <= spare
