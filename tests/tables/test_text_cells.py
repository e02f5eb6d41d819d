"""Cells of text as numbers: what means missing among them, limits, percents, and what makes words of a column."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.tables.text import text_dates, text_numbers, words_among_numbers

NUMBERS = ["1.5", "2", "-3e1", "0.25"]


@pytest.mark.parametrize(
    "word",
    ["n/a", "N/A", "-", "--", "–", "k.A.", "None", "missing", ".", "#N/A", "?", "", "NA", "nan", "null", " n/a "],
)
def test_words_that_mean_missing_among_numbers(word: str) -> None:
    numbers = text_numbers([*NUMBERS, word])
    np.testing.assert_array_equal(numbers.values, [1.5, 2.0, -30.0, 0.25, np.nan])
    usual = word.strip().casefold() in ("", "na", "nan", "?", "null")
    assert numbers.missing == (() if usual else (word.strip(),))


@pytest.mark.parametrize("word", ["broken", "A", "12kg", "1,5", "1_000", "none at all", "<", "%", "< low", "5%%"])
def test_any_other_word_makes_a_column_of_words(word: str) -> None:
    assert text_numbers([*NUMBERS, word]) is None
    assert words_among_numbers([*NUMBERS, "n/a", word]) == (word,)


@pytest.mark.parametrize(("cell", "limit"), [("<0.1", 0.1), ("> 100", 100.0), ("≤5", 5.0), (">=1e3", 1000.0)])
def test_limits_are_taken_as_such(cell: str, limit: float) -> None:
    numbers = text_numbers([*NUMBERS, cell])
    assert numbers.values[-1] == limit
    assert numbers.limits == (cell,)


def test_the_decimal_sign_is_the_one_said() -> None:
    numbers = text_numbers(["1,5", "<0,1", "12,5 %", "k.A."], ",")
    np.testing.assert_array_equal(numbers.values, [1.5, 0.1, 12.5, np.nan])
    assert text_numbers(["1,5", "1.5"], ",") is None


@pytest.mark.parametrize(
    ("cells", "unit", "values"),
    [
        (["64%", "7.5 %", "n/a"], 1.0, [64.0, 7.5, np.nan]),
        (["64%", "7.5%", "12"], 1.0, [64.0, 7.5, 12.0]),
        (["0.64", "0.07", "12%"], 0.01, [0.64, 0.07, 0.12]),
        (["64", "7", "12%"], 1.0, [64.0, 7.0, 12.0]),
        (["64", "7"], None, [64.0, 7.0]),
    ],
    ids=["all percent", "most percent", "shares", "numbers without the sign", "none"],
)
def test_percents_have_the_unit_of_the_other_numbers(cells: list[str], unit: float | None, values: list) -> None:
    numbers = text_numbers(cells)
    assert numbers.percent_unit == unit
    np.testing.assert_allclose(numbers.in_units(unit), values, rtol=1e-15)


def test_words_are_remarkable_only_among_numbers() -> None:
    assert words_among_numbers(["1", "2", "2", "A"]) == ("A",)
    assert words_among_numbers(["A", "B", "B", "2"]) == ()
    assert words_among_numbers(["1,5", "2,5"]) == ("1,5", "2,5")
    assert words_among_numbers(["red", "none", "-"]) == ()
    assert words_among_numbers([None, ""]) == ()


def test_dates_are_as_iso_8601_writes_them() -> None:
    dates = text_dates(["2024-05-31", None, "NA", "2024-06-01 12:00", "n/a"])
    assert [date and date.day for date in dates.values] == [31, None, None, 1, None]
    assert dates.missing == ("n/a",)
    assert text_dates(["2024-05-31", "31.5.2024"]) is None
    assert text_dates(["2024-05-31", "2024-13-01"]) is None
    assert text_dates([None, ""]) is None
