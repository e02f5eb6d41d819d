"""The page: everything escaped, tables and figures as asked, complete in one file."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.display import Cell, Page
from marginwise.errors import InvalidInputError
from page_checks import check_page, in_browser, needs_browser, read

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path id="p" d="M0 0L9 9" fill="#000000"/></svg>'


def _page() -> Page:
    page = Page("Errors & <others>", "A lead.")
    page.facts([("3 of 4", "cells <hold>")])
    for name in ("One", "Two", "Two", "Three"):
        page.heading(name)
    page.heading("Part", level=3)
    page.text("if a < b & c > d then <script>alert(1)</script>")
    page.notes(["beware of <this>"])
    page.table(
        ["set", "error", "n"],
        [["b", Cell("10.0 ± 2", 10.0, "bad"), 3], ["a", 9.5, None], ["c", np.float64(-1.25), 12], ["d", np.nan, -2]],
        caption="Errors",
        note="A note.",
    )
    page.figure(SVG, "One figure.", "a line & more")
    page.figure(SVG, "Another.", "a line again")
    return page


def test_a_page_is_well_formed_and_complete():
    html = _page().html()
    check_page(html)
    assert "<title>Errors &amp; &lt;others&gt;</title>" in html
    assert "<script>alert" not in html
    texts = read(html).texts
    assert "if a < b & c > d then <script>alert(1)</script>" in texts
    assert "cells <hold>" in texts
    assert "a line & more" in texts  # the title of the figure


def test_sections_are_listed_once_there_are_several():
    html = _page().html()
    anchors = [a["href"] for tag, a, around in read(html).elements if tag == "a" and "nav" in around]
    assert anchors == ["#section-one", "#section-two", "#section-two-2", "#section-three"]
    short = Page("t")
    short.heading("One")
    assert "<nav" not in short.html()


def test_numbers_are_aligned_and_carry_what_they_are_sorted_by():
    cells = [(tag, a) for tag, a, around in read(_page().html()).elements if "tbody" in around and tag in ("td", "th")]
    assert [a.get("data-value") for tag, a in cells if tag == "td"] == [
        "10.0",
        "3.0",
        "9.5",
        "",
        "-1.25",
        "12.0",
        "",
        "-2.0",
    ]
    assert [a["scope"] for tag, a in cells if tag == "th"] == ["row"] * 4
    assert cells[1][1]["class"] == "number bad"
    assert "−1.25" in _page().html()


def test_long_texts_get_room_and_details_stand_below():
    page = Page("t")
    page.table(["a", "b"], [["x", Cell("word " * 20, detail="small & fine")]])
    cells = [a for tag, a, around in read(page.html()).elements if tag == "td"]
    assert [cell["class"] for cell in cells] == ["words"]
    assert "<small>small &amp; fine</small>" in page.html()


def test_nothing_to_say_adds_nothing():
    page = Page("t")
    page.notes([])
    page.facts([])
    assert '<ul class="notes">' not in page.html()
    assert '<dl class="facts">' not in page.html()
    page.table(["a"], [])
    check_page(page.html())


def test_wrong_input_is_named():
    page = Page("t")
    with pytest.raises(InvalidInputError, match="2 cells, one for each column"):
        page.table(["a", "b"], [["x"]])
    with pytest.raises(InvalidInputError, match="alt is ' '"):
        page.figure(SVG, "caption", " ")
    with pytest.raises(InvalidInputError, match="level is 4"):
        page.heading("x", level=4)


def test_writing_makes_the_directory(tmp_path):
    path = _page().write(tmp_path / "new" / "index.html")
    assert path.read_text(encoding="utf-8") == _page().html()


_CLICKS = """
const results = [];
const heads = document.querySelectorAll("thead th");
function order() { return Array.from(document.querySelectorAll("tbody tr")).map(r => r.cells[0].textContent).join(""); }
for (const [column, clicks] of [[0, 1], [1, 1], [1, 1], [2, 1], [2, 1]]) {
  const button = heads[column].querySelector("button");
  button.focus();
  for (let i = 0; i < clicks; i++) document.activeElement.click();
  results.push(order() + ":" + Array.from(heads).map(h => h.getAttribute("aria-sort") || "").join(","));
}
results.push("wider=" + (document.documentElement.scrollWidth > window.innerWidth));
document.body.setAttribute("data-results", results.join(" "));
"""


@needs_browser
def test_a_browser_sorts_a_table(tmp_path):
    shown = in_browser(_page().write(tmp_path / "page.html"), script=_CLICKS, width=500)
    results = next(a["data-results"] for tag, a, _ in read(shown).elements if tag == "body")
    assert results.split() == [
        "abcd:ascending,,",
        "cabd:,ascending,",
        "bacd:,descending,",
        "dbca:,,ascending",
        "cbda:,,descending",
        "wider=false",
    ]
