"""Text in a chart is text, whatever it holds, and stays within the chart, however long it is."""

from xml.etree import ElementTree

from custext_sql.experiments.report.charts import Mark, Point, Series, draw_chart
from tests.drawn_chart import draw, find, is_inside, measure, read, view


def test_what_a_user_gives_is_text_and_never_markup() -> None:
    bad = "<script>\"'&\x00\x1b\ud800\uffff</script>"
    written = draw_chart(
        [Series(bad, [Point(1, 1, 0.1, bad, bad)]), Series(bad, [])],
        title=bad,
        x_label=bad,
        y_label=bad,
        marks=[Mark(1, bad), Mark(1, bad, "y")],
    )
    figure = ElementTree.fromstring(written)
    assert "<script" not in written
    assert figure.findtext("figcaption") == "<script>\"'& </script>"
    assert find(figure, "marker")[0].get("data-measurement") == "<script>\"'& </script>"
    assert not [element.tag for element in figure.iter() if element.tag == "script"]
    written.encode()


def test_long_names_and_labels_stay_within_the_chart() -> None:
    long = "a name that goes on and on " * 8 + "W" * 200
    figure = draw(
        [Series(long, [Point(1, 1, label=long), Point(2, 2)])],
        title=long,
        x_label=long,
        y_label=long,
        marks=[Mark(1.5, long), Mark(1.5, long, "y")],
    )
    assert all(is_inside(measure(label), view(figure)) for label in figure.iter("text"))
    assert long.strip() in read(figure.findall("ul/li")[0])
