"""The columns of a grid as numbers, words and dates, and labels as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.datasets.reading import Grid, is_missing, number, some, wrong_file
from marginwise.tables.reading import as_objects

#: Categories a column of words may have; with more it is an identifier, or numbers that are badly written.
MOST_CATEGORIES = 1000

#: A number with one way of writing it, so that labels like 007 stay as they are; integers fit 64 bits.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][-+]?\d+)?")

#: How a date begins.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]|$)")

#: A number with a sign between thousands.
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d+)?")


class Encoded(NamedTuple):
    """Columns as inputs: numbers, or objects where there are words and dates; which are words, and their categories."""

    X: npt.NDArray[Any]
    categories: dict[str, tuple[str, ...]]
    dates: tuple[str, ...]


def encode(
    grid: Grid, columns: Sequence[int], known: Mapping[int, Sequence[str] | None], dates: Sequence[int] = ()
) -> Encoded:
    """Return these columns of a grid as they are, NaN or None where cells are missing.

    ``known`` are columns of words, with the categories that they may hold, None for any; others are recognised.
    ``dates`` are known to be dates.
    """
    found: list[npt.NDArray[Any]] = []
    categories: dict[str, tuple[str, ...]] = {}
    of_dates: list[str] = []
    for j in columns:
        numbers = None if j in known or j in dates else _numbers(grid, j)
        if numbers is not None:
            found.append(numbers)
            continue
        moments = None if j in known else _dates(grid, j)
        if moments is not None:
            found.append(moments)
            of_dates.append(grid.names[j])
            continue
        levels = tuple(known[j] or _found(grid, j)) if j in known else _levels(grid, j)
        found.append(_words(grid, j, levels))
        categories[grid.names[j]] = levels
    if not categories and not of_dates:
        return Encoded(np.column_stack(found), {}, ())
    X = np.empty((len(grid.lines), len(columns)), dtype=object)
    for a, column in enumerate(found):
        X[:, a] = column
    return Encoded(X, categories, tuple(of_dates))


def require_no_missing(grid: Grid, columns: Sequence[int]) -> None:
    """Say where values are missing, if any are."""
    missing = [(i, j) for j in columns for i in grid.missing(j)]
    if missing:
        raise wrong_file(
            grid.path,
            f"no missing values, but {len(missing)} of its cells are missing: {grid.places(missing)}; "
            "fill them in, or leave out those rows, or drop those columns",
        )


def _numbers(grid: Grid, j: int) -> Array | None:
    """Return a column as finite numbers, or None if some cell holds a word."""
    values = grid.numbers(j)
    if values is None:
        return None
    infinite = [(int(i), j) for i in np.flatnonzero(np.isinf(values))]
    if infinite:
        raise wrong_file(
            grid.path,
            f"finite numbers, but {len(infinite)} are not: {grid.places(infinite)}; mend or drop them",
        )
    return values


def _levels(grid: Grid, j: int) -> tuple[str, ...]:
    """Return the sorted categories of a column of words, unless they look like something else."""
    levels = _found(grid, j)
    name = grid.names[j]
    if all(map(_is_number_otherwise, levels)):
        raise wrong_file(
            grid.path,
            f"numbers with the decimal sign {grid.decimal!r} and nothing between thousands, but column {name!r} has "
            f"values like {levels[0]!r}; name the sign if it is another (decimal), or mend or drop the column",
        )
    if len(levels) > MOST_CATEGORIES:
        raise wrong_file(
            grid.path,
            f"at most {MOST_CATEGORIES} categories in a column, but {name!r} has {len(levels)}; {_way_out(grid, j)}",
        )
    return tuple(levels)


def _found(grid: Grid, j: int) -> list[str]:
    """Return the different words of a column."""
    return sorted({cell for cell in grid.words(j) if not is_missing(cell)})


def _way_out(grid: Grid, j: int) -> str:
    """Return what to do with a column of too many words, or of numbers with some words among them."""
    words = grid.words_among_numbers(j)
    if len(words) < len(grid.lines) / 2:
        return f"mend the words among its numbers, in {grid.places(words)}"
    return "drop it if it is an identifier, a date or free text, or group its values"


def _is_number_otherwise(cell: str) -> bool:
    """Return whether a cell is a number by some convention, as 1.5, 1,5 and 1.234,5 are."""
    return any(number(cell, sign) is not None for sign in ".,") or _GROUPED.fullmatch(cell) is not None


def _words(grid: Grid, j: int, levels: Sequence[str]) -> npt.NDArray[Any]:
    """Return a column of words, None where they are missing; those that are not among the levels are refused."""
    allowed = set(levels)
    cells = [None if is_missing(cell) else cell for cell in grid.words(j)]
    unknown = [(i, j) for i, cell in enumerate(cells) if cell is not None and cell not in allowed]
    if unknown:
        raise wrong_file(
            grid.path,
            f"no other categories in column {grid.names[j]!r} than {some(map(repr, levels))}; "
            f"others are in {grid.places(unknown)}",
        )
    return as_objects(cells)


def _dates(grid: Grid, j: int) -> npt.NDArray[Any] | None:
    """Return a column of dates as ISO 8601 writes them, or None if it holds something else."""
    moments: list[datetime | None] = []
    for cell in grid.words(j):
        if is_missing(cell):
            moments.append(None)
            continue
        try:
            moments.append(datetime.fromisoformat(cell) if _ISO_DATE.match(cell) else None)
        except ValueError:
            return None
        if moments[-1] is None:
            return None
    return as_objects(moments) if any(moments) else None


def as_labels(cells: Sequence[str]) -> npt.NDArray[np.generic]:
    """Return labels as integers or other numbers if all are plainly written as such, otherwise as words."""
    if all(_INTEGER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells])
    numbers = [number(cell) if _PLAIN_NUMBER.fullmatch(cell) else None for cell in cells]
    if all(value is not None and np.isfinite(value) for value in numbers):
        return np.array(numbers, dtype=float)
    return np.array(cells)
