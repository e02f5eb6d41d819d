"""The columns of a grid as numbers, words and dates, and labels as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._wording import some
from marginwise.datasets.reading import Grid, wrong_file
from marginwise.tables import Column, Schema
from marginwise.tables.reading import CATEGORY, DATE, NOTHING, NUMBER, ORDERED, TEXT
from marginwise.tables.remarks import Note, remarks
from marginwise.tables.text import is_number_otherwise, number, text_dates, words_among_numbers

#: Categories a column of words may have; with more it is an identifier, or numbers that are badly written.
MOST_CATEGORIES = 1000

#: A number with one way of writing it, so that labels like 007 stay as they are; integers fit 64 bits.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][-+]?\d+)?")

#: What to do about words among numbers.
_MEND = "if that means missing, say so (missing_values, or --missing-values)"


def learn_columns(
    grid: Grid, columns: Sequence[int], known: Mapping[int, Sequence[str]]
) -> tuple[npt.NDArray[Any], Schema]:
    """Return these columns of a grid as they are, NaN or None where cells are missing, and what they are.

    ``known`` are columns of words, with the categories that they may hold; others are recognised.
    """
    found: list[npt.NDArray[Any]] = []
    learnt: list[Column] = []
    notes: list[Note] = []
    for j in columns:
        cells = grid.cells(j)
        if j in known:
            learnt.append(Column(grid.names[j], CATEGORY, tuple(known[j])))
            found.append(_known_words(grid, j, known[j]))
            continue
        column, typed, note = Column.learnt(grid.names[j], cells)
        if column.kind == CATEGORY:
            _check_categories(grid, j, column)
        learnt.append(column)
        notes.append(note._replace(from_text=False))  # files have nothing but text
        found.append(_dates(grid, j)[0] if column.kind == DATE else _finite(grid, j, typed.values))
    return _matrix(found), Schema(tuple(learnt), remarks=remarks(notes, _MEND))


def read_columns(grid: Grid, columns: Sequence[int], schema: Schema) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Return the columns of a second grid that are those of a schema, and remarks."""
    read = [_read(grid, j, column) for j, column in zip(columns, schema.columns, strict=True)]
    return _matrix([values for values, _ in read]), remarks([note for _, note in read], _MEND)


def _read(grid: Grid, j: int, column: Column) -> tuple[npt.NDArray[Any], Note]:
    note, cells = Note(grid.names[j]), grid.cells(j)
    if column.kind == NOTHING:
        return np.full(len(grid.lines), np.nan), note
    if column.kind in (CATEGORY, ORDERED) and all(isinstance(category, str) for category in column.categories):
        return grid.word_cells(j), note
    if column.kind == DATE:
        return _dates(grid, j)
    if cells.kind == TEXT and not cells.missing.all():
        _require_numbers(grid, j)
        values, note = Column(grid.names[j], NUMBER, percent_unit=column.percent_unit).numbers(cells)
        return _finite(grid, j, values), note
    return _finite(grid, j, np.asarray(cells.values, dtype=float)), note


def missing_cells(columns: Sequence[int], X: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """Return the cells of a grid that are missing in a matrix of these columns."""
    cells = zip(columns, X.T, strict=True)
    return [(i, j) for j, column in cells for i, cell in enumerate(column) if cell is None or cell != cell]


def require_no_missing(grid: Grid, missing: Sequence[tuple[int, int]]) -> None:
    """Raise if values are missing, with the places where they are."""
    if missing:
        raise wrong_file(
            grid.path,
            f"no missing values, but {len(missing)} of its cells are missing: {grid.places(missing)}; "
            "fill them in, or leave out those rows, or drop those columns",
        )


def _matrix(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the columns as a matrix of numbers, or of objects where there are words and dates."""
    if all(column.dtype != object for column in columns):
        return np.column_stack(columns)
    X = np.empty((len(columns[0]), len(columns)), dtype=object)
    for a, column in enumerate(columns):
        X[:, a] = column
    return X


def _finite(grid: Grid, j: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return words, or numbers if all are finite."""
    infinite = [] if values.dtype == object else [(int(i), j) for i in np.flatnonzero(np.isinf(values))]
    if infinite:
        raise wrong_file(
            grid.path,
            f"finite numbers, but {len(infinite)} are not: {grid.places(infinite)}; mend or drop them",
        )
    return values


def _check_categories(grid: Grid, j: int, column: Column) -> None:
    """Raise if the categories of a column look like something else."""
    levels, name = column.categories, column.name
    if all(map(is_number_otherwise, levels)):
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


def _way_out(grid: Grid, j: int) -> str:
    """Return what to do with a column of too many words, or of numbers with some words among them."""
    if words_among_numbers(grid.words(j), grid.decimal):
        return f"mend the words among its numbers, in {grid.places(grid.words_among_numbers(j))}; {_MEND}"
    return "drop it if it is an identifier, a date or free text, or group its values"


def _known_words(grid: Grid, j: int, levels: Sequence[str]) -> npt.NDArray[Any]:
    """Return a column of words, None where they are missing; those that are not among the levels are refused."""
    allowed, cells = set(levels), grid.word_cells(j)
    unknown = [(i, j) for i, cell in enumerate(cells) if cell is not None and cell not in allowed]
    if unknown:
        raise wrong_file(
            grid.path,
            f"no other categories in column {grid.names[j]!r} than {some(map(repr, levels))}; "
            f"others are in {grid.places(unknown)}",
        )
    return cells


def _dates(grid: Grid, j: int) -> tuple[npt.NDArray[Any], Note]:
    cells = grid.word_cells(j)
    dates = text_dates(cells)
    if dates is not None:
        return dates.values, Note(grid.names[j], dates.missing)
    if any(cell is not None for cell in cells):
        raise wrong_file(
            grid.path, f"dates such as 2024-05-31 in column {grid.names[j]!r}, as in training, but it has others"
        )
    return cells, Note(grid.names[j])


def _require_numbers(grid: Grid, j: int) -> None:
    """Raise if a column has words among numbers, which it did not have in training."""
    words = grid.words_among_numbers(j)
    if not words:
        return
    if text_dates(grid.word_cells(j)) is not None:
        raise wrong_file(grid.path, f"numbers in column {grid.names[j]!r}, as in training, but it has dates")
    raise wrong_file(grid.path, f"numbers, as in training, but words are in {grid.places(words)}")


def as_labels(cells: Sequence[str]) -> npt.NDArray[np.generic]:
    """Return labels as integers or other numbers if all are plainly written as such, otherwise as words."""
    if all(_INTEGER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells])
    numbers = [number(cell) if _PLAIN_NUMBER.fullmatch(cell) else None for cell in cells]
    if all(value is not None and np.isfinite(value) for value in numbers):
        return np.array(numbers, dtype=float)
    return np.array(cells)
