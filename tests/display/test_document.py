"""A report as data: the same parts on a page, as Markdown and as files."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import pytest

from marginwise.display import Cell, Document, Drawing, Facts, Notes, PageTable, Section
from marginwise.display.drawing import file_stem
from marginwise.errors import InvalidInputError
from page_checks import check_page, read


@dataclass(frozen=True)
class Line(Drawing):
    """A straight line."""

    slope: float
    name = "line"
    caption = "A line."
    alt = "A line that rises."
    size = (3.0, 2.0)

    def draw(self, figure):
        figure.subplots().plot([0, 1], [0, self.slope])


DOCUMENT = Document(
    "A title",
    "What it is about.",
    [
        Section("First", ["A paragraph.", Facts([("3 of 4", "hold")]), Notes(["beware"])]),
        Section(
            "Second",
            [PageTable("t", "A table", "A note.", ["a", "b"], [["x", Cell("1.0", 1.0)]], [{"a": "x"}]), Line(2)],
        ),
    ],
)


def test_a_page_shows_all_parts():
    html = DOCUMENT.page().html()
    check_page(html)
    texts = read(html).texts
    for words in ("A title", "What it is about.", "A paragraph.", "3 of 4", "hold", "beware", "A table", "A line."):
        assert words in texts


def test_markdown_says_the_same():
    text = DOCUMENT.markdown(figures="images/my-")
    assert text.startswith(
        "# A title\n\nWhat it is about.\n\n## First\n\nA paragraph.\n\n- **3 of 4** hold\n\n> - beware\n"
    )
    assert "| x | 1.0 |" in text
    assert "![A line that rises.](images/my-line.svg)\n\nA line." in text


def test_files_are_written_beside_the_page(tmp_path):
    page = DOCUMENT.write(tmp_path / "new", formats=("svg", "png"))
    assert page == tmp_path / "new" / "index.html"
    assert (tmp_path / "new" / "report.md").read_text(encoding="utf-8") == DOCUMENT.markdown()
    assert {path.name for path in (tmp_path / "new" / "figures").iterdir()} == {"line.svg", "line.png"}
    with (tmp_path / "new" / "tables" / "t.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "x"}]
    with pytest.raises(InvalidInputError, match="formats is 'gif'"):
        DOCUMENT.write(tmp_path, formats=("gif",))


def test_names_of_files_hold_no_blanks():
    assert file_stem("histogram-my flowers (2).v1") == "histogram-my-flowers-2-.v1"
