"""Columns that identify rows: words that hardly any two rows share, from which nothing can be learnt."""

from __future__ import annotations

import re

from marginwise.datasets.reading import Grid
from marginwise.tables.text import is_missing, may_be_number

#: Different words beyond which a column that has them in more than half of its rows names the rows.
_MOST_NAMES = 10

_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})|\d{1,2}[-. /]+[^\W\d]{3,9}[-., /]+\d{2,4})"
    r"(?:[T ,].*)?"
)


def looks_like_date(word: str) -> bool:
    """Return whether a word is a date, however it is written."""
    return _DATE.fullmatch(word) is not None


def names_rows(grid: Grid, j: int) -> bool:
    """Return whether a column holds different words in more than half of the rows; numbers and dates do not count.

    At least half of the words must not be numbers: otherwise they are words among numbers.
    """
    if not isinstance(grid.columns[j], tuple):
        return False
    words = {cell for cell in grid.words(j) if not is_missing(cell)}
    if len(words) <= max(_MOST_NAMES, len(grid.lines) / 2) or all(map(looks_like_date, words)):
        return False
    return 2 * sum(not any(may_be_number(word, sign) for sign in ".,") for word in words) >= len(words)
