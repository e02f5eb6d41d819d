"""Plain text for terminals."""

from __future__ import annotations

import pytest

from marginwise._wording import numbered, percent
from marginwise.cli.text import printable
from marginwise.reporting.text import aligned, bar


def test_columns_are_aligned_and_lines_have_no_blanks_at_their_ends() -> None:
    assert aligned([["a", "1"], ["long", "10"]], "<>") == "a      1\nlong  10\n"
    assert aligned([["a", ""], ["b", "c"]], "<<") == "a\nb  c\n"


@pytest.mark.parametrize(
    ("fraction", "drawn"), [(0, ""), (0.5, "██"), (0.53, "██▏"), (1, "████"), (7, "████"), (-1, "")]
)
def test_bars_are_as_long_as_they_should_be(fraction: float, drawn: str) -> None:
    assert bar(fraction, 4) == drawn


def test_terminals_without_these_characters() -> None:
    assert printable("± ██▎ é", "utf-8") == "± ██▎ é"
    assert printable("± ██▎ é", None) == "± ██▎ é"
    assert printable("± ██▎ é", "ascii") == "+- ## é"


def test_numbers_of_things() -> None:
    assert [numbered(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert percent(0.1234) == "12.3 %"
