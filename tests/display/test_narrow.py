"""On a phone nothing is beyond the edge: figures are drawn for it, wide tables become lists."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from marginwise.display import Page, figure_style
from marginwise.display.narrow import narrowed
from page_checks import beyond_the_edge, check_page, needs_browser


def panels(rows: int, columns: int, width: float = 8.0) -> Figure:
    """A grid whose rows and columns are named at its edges only."""
    with mpl.rc_context(figure_style()):
        figure = Figure(figsize=(width, 2.0 * rows))
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for i, row in enumerate(grid):
            row[0].set_ylabel(f"row {i}")
            for axes in row:
                axes.plot([0, 1], [0, 1])
        for j, axes in enumerate(grid[0]):
            axes.set_title(f"column {j}")
        for axes in grid[-1]:
            axes.set_xlabel("time")
    return figure


@pytest.mark.parametrize(("rows", "columns", "beside"), [(1, 1, 1), (3, 1, 1), (1, 4, 1), (2, 3, 1), (3, 3, 2)])
def test_panels_are_below_each_other_and_say_who_they_are(rows: int, columns: int, beside: int) -> None:
    figure = panels(rows, columns)
    before = figure.get_size_inches().tolist()
    narrow = narrowed(figure)
    assert narrow is not None
    assert narrow.get_figwidth() < 3.8
    boxes = [axes.get_window_extent() for axes in narrow.axes]
    assert len({round(box.x0) for box in boxes}) <= beside
    assert all(not a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    if columns > 1:
        names = [(axes.get_title(loc="left"), axes.get_ylabel(), axes.get_xlabel()) for axes in narrow.axes]
        assert names == [(f"column {j}", f"row {i}", "time") for i in range(rows) for j in range(columns)]
        assert narrow.get_figheight() == pytest.approx(2.0 * rows * columns / beside, rel=0.2)
    assert figure.get_size_inches().tolist() == before  # the figure itself is left as it was
    assert len({tuple(axes.get_position().bounds) for axes in figure.axes}) == rows * columns


def test_a_narrow_figure_is_shown_once() -> None:
    assert narrowed(panels(1, 1, width=3.5)) is None
    page = Page("t")
    page.figure(panels(1, 1, width=3.5), "small", "a line")
    page.figure(panels(1, 2), "large", "two lines")
    html = page.html()
    check_page(html)
    assert html.count("<svg") == 3
    assert html.count('class="narrow"') == html.count('class="wide"') == 1


@needs_browser
def test_nothing_is_beyond_the_edge_of_a_phone(tmp_path) -> None:
    page = Page("A title with averyveryverylongwordthatdoesnotfit" + "x" * 60, "lead")
    page.facts([("1.0", "one"), ("2.0", "two")])
    page.table(["a", "b"], [["x", 1], ["y", 2]], caption="narrow")
    page.table(["name", *(f"column {k}" for k in range(12))], [["x" * 80, *range(12)]], caption="wide")
    page.table(["name", "words"], [["x", "word " * 60]], caption="words", note="a note " * 30)
    page.figure(panels(2, 3), "caption " * 20, "lines")
    path = page.write(tmp_path / "page.html")
    assert beyond_the_edge(path) == "nothing"
    assert 'class="sortable">' in page.html()  # the first is a table there, too
    assert beyond_the_edge(path, width=300) == "nothing"


@needs_browser
def test_a_page_that_is_too_wide_is_noticed(tmp_path) -> None:
    page = Page("t").write(tmp_path / "page.html")
    page.write_text(page.read_text().replace("</main>", '<pre style="width:900px">wide</pre></main>'))
    assert beyond_the_edge(page) == "PRE wide"
