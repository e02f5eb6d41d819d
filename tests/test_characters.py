"""Text of others: nothing that a terminal obeys, a page runs or a spreadsheet computes."""

from __future__ import annotations

import csv
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwise._characters import as_csv, as_html, as_markdown, from_csv, visible

#: Any text, with halves of pairs, as in names of files that are not UTF-8.
ANY = st.text(st.characters(codec=None, categories=None, max_codepoint=sys.maxunicode))


@given(ANY)
def test_what_is_left_can_be_seen_and_written(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in shown)
    if text.isprintable() and "\\" not in text:
        assert shown == text


@given(ANY)
def test_html_and_markdown_have_no_tags(text: str) -> None:
    for written in (as_html(text), as_markdown(text)):
        assert "<" not in written
        assert "\x1b" not in written
    assert '"' not in as_html(text)
    assert "](" not in as_markdown(text).replace("\\]", "")


@given(ANY)
def test_cells_come_back(text: str) -> None:
    assert from_csv(str(as_csv(text))) == text


@pytest.mark.parametrize("formula", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "'=1"])
def test_formulas_become_text(formula: str) -> None:
    assert as_csv(formula) == "'" + formula


@pytest.mark.parametrize("cell", ["-1.5", "+1e3", "-inf", "a=b", "", -1.5, None, "'quoted'"])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert as_csv(cell) == cell


@given(st.lists(ANY.filter(lambda text: text.isprintable()), min_size=1))
def test_a_row_of_cells_comes_back(cells: list[str]) -> None:
    stream = io.StringIO()
    csv.writer(stream).writerow([as_csv(cell) for cell in cells])
    stream.seek(0)
    assert [from_csv(cell) for cell in next(csv.reader(stream), [""])] == cells
