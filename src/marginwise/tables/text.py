"""Cells of text as the numbers and dates that they are.

Many columns of numbers hold a few other cells: ``n/a`` where a value is missing, ``<0.1`` below a detection
limit, ``64%``. A column is one of numbers if *all* its cells are of these kinds or missing, and at least one of them is
a number; one other word makes it a column of categories.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Mask

#: Cells of text, and numbers among it; None where they are missing.
TextColumn = Sequence[Any] | npt.NDArray[Any]

#: What a missing value is written as in any column, in any mixture of capitals.
MISSING = frozenset({"", "na", "nan", "?", "null"})

#: What is a missing value only where the other cells are numbers or dates: among words it may be a category.
MISSING_AMONG_NUMBERS = frozenset(
    {
        *("-", "--", "---", "–", "—", ".", "..", "...", "*"),
        *("n/a", "n.a.", "n. a.", "n.a", "#n/a", "#na", "<na>", "nat", "-nan", "1.#qnan", "1.#ind", "-1.#ind"),
        *("#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "(null)", "none", "nil", "missing", "unknown"),
        *("unk", "nd", "n/d", "n.d.", "not available", "not applicable", "not measured", "not determined"),
        *("k.a.", "k. a.", "k.a", "keine angabe", "fehlt", "fehlend"),
    }
)

#: A number that a value lies below or above, such as a detection limit.
_LIMIT = re.compile(r"(?:<=|>=|<|>|≤|≥)\s*(.+)")
_PERCENT = re.compile(r"(.+?)\s*%")

#: A number with a sign between thousands.
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d+)?")

#: How a date begins.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]|$)")


class TextNumbers(NamedTuple):
    """A column of text as numbers, NaN where they are missing.

    ``missing`` are the words that were taken as missing, ``limits`` the cells such as ``<0.1`` that were taken as the
    limit, ``percent`` says which numbers had a percent sign.
    """

    values: Array
    missing: tuple[str, ...]
    limits: tuple[str, ...]
    percent: Mask

    @property
    def percent_unit(self) -> float | None:
        """What one percent is worth; None if no cell has the sign.

        1, and the sign is left out, unless most numbers are written without it and all of these are shares from 0 to 1.
        """
        if not self.percent.any():
            return None
        plain = self.values[~self.percent & ~np.isnan(self.values)]
        shares = len(plain) > self.percent.sum() and bool(((plain >= 0.0) & (plain <= 1.0)).all())
        return 0.01 if shares else 1.0

    def in_units(self, percent_unit: float | None) -> Array:
        """Return the numbers, those in percent in this unit."""
        return self.values if percent_unit is None else np.where(self.percent, percent_unit * self.values, self.values)


def text_numbers(cells: TextColumn, decimal: str = ".") -> TextNumbers | None:
    """Return a column of text, numbers and None as numbers; None if a cell holds something else."""
    values, percent = np.empty(len(cells)), np.zeros(len(cells), dtype=bool)
    missing: dict[str, None] = {}
    limits: dict[str, None] = {}
    for i, cell in enumerate(cells):
        plain = _plain(cell, decimal)
        if plain is not None:
            values[i] = plain
            continue
        word = cell.strip()
        found = _quantity(word, decimal)
        if found is not None:
            values[i], percent[i] = found.value, found.percent
            if found.limit:
                limits[word] = None
        elif word.casefold() in MISSING_AMONG_NUMBERS:
            values[i], missing[word] = np.nan, None
        else:
            return None
    return TextNumbers(values, tuple(missing), tuple(limits), percent)


class _Quantity(NamedTuple):
    value: float
    percent: bool
    limit: bool


def _plain(cell: Any, decimal: str) -> float | None:
    """Return a number that is one or is written as such, NaN for none; None for other text."""
    if cell is None:
        return np.nan
    if not isinstance(cell, str):
        return float(cell)
    return np.nan if is_missing(cell.strip()) else number(cell, decimal)


def _quantity(word: str, decimal: str) -> _Quantity | None:
    """Return the number in a word, which may be a limit or in percent."""
    limit = _LIMIT.fullmatch(word)
    word = limit[1] if limit else word
    share = _PERCENT.fullmatch(word)
    value = number(share[1] if share else word, decimal)
    return None if value is None else _Quantity(value, share is not None, limit is not None)


class TextDates(NamedTuple):
    """A column of text as dates, None where they are missing, and the words that were taken as missing."""

    values: npt.NDArray[Any]
    missing: tuple[str, ...]


def text_dates(cells: TextColumn) -> TextDates | None:
    """Return a column of dates as ISO 8601 writes them (2024-05-31); None if it holds something else, or no date."""
    moments = np.empty(len(cells), dtype=object)
    missing: dict[str, None] = {}
    for i, cell in enumerate(cells):
        if cell is None or is_missing(cell):
            continue
        if cell.strip().casefold() in MISSING_AMONG_NUMBERS:
            missing[cell.strip()] = None
            continue
        try:
            moments[i] = datetime.fromisoformat(cell) if _ISO_DATE.match(cell) else None
        except ValueError:
            return None
        if moments[i] is None:
            return None
    found = any(moment is not None for moment in moments)
    return TextDates(moments, tuple(missing)) if found else None


def words_among_numbers(cells: TextColumn, decimal: str = ".") -> tuple[str, ...]:
    """Return the words that keep a column from being numbers, if more than half of its cells are numbers.

    Numbers by another convention than ``decimal`` count as numbers, and are such words.
    """
    counts = Counter(cell for cell in cells if cell is not None and not (isinstance(cell, str) and _is_no_value(cell)))
    words = [cell for cell in counts if isinstance(cell, str) and _quantity(cell.strip(), decimal) is None]
    others = sum(counts[word] for word in words if not is_number_otherwise(word))
    return tuple(words) if 2 * others < counts.total() else ()


def number(cell: str, decimal: str = ".") -> float | None:
    """Return the number a cell holds, or None if it holds something else."""
    foreign = "_" if decimal == "." else "_."  # float() would read 1_000 as a number
    try:
        return None if any(sign in cell for sign in foreign) else float(cell.replace(decimal, "."))
    except ValueError:
        return None


def is_missing(cell: str) -> bool:
    """Return whether a cell says in any column that a value is missing."""
    return cell.casefold() in MISSING


def may_be_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell may stand in a column of numbers."""
    return _is_no_value(cell) or _quantity(cell.strip(), decimal) is not None


def _is_no_value(cell: str) -> bool:
    """Return whether a cell means missing in a column of numbers."""
    return cell.strip().casefold() in MISSING | MISSING_AMONG_NUMBERS


def is_number_otherwise(cell: str) -> bool:
    """Return whether a cell is a number by some convention, as 1.5, 1,5 and 1.234,5 are."""
    return any(number(cell, sign) is not None for sign in ".,") or _GROUPED.fullmatch(cell) is not None
