"""A table as data: on a page, as Markdown and as CSV."""

from __future__ import annotations

import csv

from marginwise.display import Cell, Page, PageTable


def test_a_table_in_three_forms(tmp_path):
    rows = [["x|y", Cell("1.0", 1.0, detail="0.9"), None]]
    table = PageTable("name", "Title", "Note.", ["a", "b", "c"], rows, [{"a": "x", "b": 1.25}])
    assert table.markdown().splitlines()[2:5] == ["| a | b | c |", "| --- | ---: | --- |", "| x\\|y | 1.0<br>0.9 | — |"]
    with table.write_csv(tmp_path).open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "x", "b": "1.25"}]
    page = Page("t")
    table.add_to(page)
    assert "<small>0.9</small>" in page.html()


def test_records_may_have_different_fields(tmp_path):
    table = PageTable("name", "Title", "Note.", ["a"], [["x"]], [{"a": 1}, {"a": 2, "b": 3}])
    assert table.write_csv(tmp_path).read_text().split() == ["a,b", "1,", "2,3"]
