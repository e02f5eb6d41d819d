"""Figures inside a page: colours follow the page, ids don't clash, the same figure gives the same text."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from marginwise.display import INK, SERIES, Page, as_svg, figure_style
from marginwise.display.svg import inline_svg
from marginwise.errors import InvalidInputError
from page_checks import check_page, read


def _figure() -> Figure:
    with mpl.rc_context(figure_style()):
        figure = Figure(figsize=(4, 3))
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], label="a & <b>")
        axes.plot([0, 1], [1, 0], "o", color="#123456")
        axes.legend()
    return figure


def test_colours_become_those_of_the_page():
    svg = inline_svg(as_svg(_figure()), "two lines", "f")
    assert SERIES[0] not in svg
    assert INK not in svg
    assert "stroke: var(--series-1)" in svg
    assert "fill: var(--ink)" in svg
    assert "#123456" in svg  # not one of the page's: kept
    assert SERIES[0] in as_svg(_figure())


def test_every_colour_of_a_series_is_in_the_style_sheet_for_light_and_dark():
    html = Page("t").html()
    for number, colour in enumerate(SERIES, start=1):
        assert html.count(f"--series-{number}:") == 2
        assert f"--series-{number}: {colour};" in html


def test_several_figures_share_a_page():
    page = Page("t")
    page.figure(_figure(), "one", "first figure")
    page.figure(_figure(), "two", "second figure")
    check_page(page.html())
    assert "a & <b>" in read(page.html()).texts  # text stays text


def test_the_same_figure_gives_the_same_text():
    assert as_svg(_figure()) == as_svg(_figure())


def test_styles_and_scripts_of_a_figure_stay_inside():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt"><style>*{a: b} .c, .d{e: f}</style>'
        "<script>alert(1)</script><title>old</title></svg>"
    )
    text = inline_svg(svg, "new", "f")
    assert "<style>#f *{a: b}#f .c,#f .d{e: f}</style>" in text
    assert "script" not in text
    assert "old" not in text
    assert 'viewBox="0 0 72 36"' in text
    assert "max-width:1in" in text


@pytest.mark.parametrize("text", ["not a figure", "<p>text</p>", "<svg/>"])
def test_what_is_no_figure_is_named(text):
    with pytest.raises(InvalidInputError, match="figure is"):
        inline_svg(text, "x", "f")
