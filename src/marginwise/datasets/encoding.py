"""The columns of a grid as numbers: words one-hot encoded, labels as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.datasets.reading import Grid, number, repeated, some, wrong_file

#: Categories a column of words may have; with more it is an identifier, or numbers that are badly written.
MOST_CATEGORIES = 100

#: A number with one way of writing it, so that labels like 007 stay as they are; integers fit 64 bits.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][-+]?\d+)?")

#: A number with a sign between thousands.
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d+)?")


def encode(
    grid: Grid, columns: Sequence[int], known: Mapping[int, Sequence[str]], *, numeric: bool = False
) -> tuple[Array, tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return these columns as inputs, the inputs' names, and the categories of the columns of words.

    ``known`` are categories by column; with ``numeric`` all other columns must hold numbers.
    """
    blocks: list[Array] = []
    names: list[str] = []
    categories: dict[str, tuple[str, ...]] = {}
    for j in columns:
        numbers = None if j in known else _numbers(grid, j)
        if numbers is not None:
            blocks.append(numbers[:, None])
            names.append(grid.names[j])
            continue
        if numeric and j not in known:
            words = grid.places(grid.words_among_numbers(j))
            raise wrong_file(grid.path, f"numbers, as in training, but words are in {words}")
        levels = tuple(known[j]) if j in known else _levels(grid, j)
        blocks.append(_one_hot(grid, j, levels))
        names += [f"{grid.names[j]}={level}" for level in levels]
        categories[grid.names[j]] = levels
    if again := repeated(names):
        raise wrong_file(grid.path, f"different names of inputs, but {again} would be repeated; rename a column")
    return np.hstack(blocks), tuple(names), categories


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
    infinite = [(int(i), j) for i in np.flatnonzero(~np.isfinite(values))]
    if infinite:
        raise wrong_file(
            grid.path,
            f"finite numbers, but {len(infinite)} are not: {grid.places(infinite)}; mend or drop them",
        )
    return values


def _levels(grid: Grid, j: int) -> tuple[str, ...]:
    """Return the sorted categories of a column of words, unless they look like something else."""
    levels = sorted(set(grid.words(j)))
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


def _way_out(grid: Grid, j: int) -> str:
    """Return what to do with a column of too many words, or of numbers with some words among them."""
    words = grid.words_among_numbers(j)
    if len(words) < len(grid.lines) / 2:
        return f"mend the words among its numbers, in {grid.places(words)}"
    return "drop it if it is an identifier, a date or free text, or group its values"


def _is_number_otherwise(cell: str) -> bool:
    """Return whether a cell is a number by some convention, as 1.5, 1,5 and 1.234,5 are."""
    return any(number(cell, sign) is not None for sign in ".,") or _GROUPED.fullmatch(cell) is not None


def _one_hot(grid: Grid, j: int, levels: Sequence[str]) -> Array:
    position = {level: k for k, level in enumerate(levels)}
    unknown = [(i, j) for i, cell in enumerate(grid.words(j)) if cell not in position]
    if unknown:
        raise wrong_file(
            grid.path,
            f"no other categories in column {grid.names[j]!r} than {some(map(repr, levels))}; "
            f"others are in {grid.places(unknown)}",
        )
    codes = np.array([position[cell] for cell in grid.words(j)])
    return (codes[:, None] == np.arange(len(levels))).astype(float)


def as_labels(cells: Sequence[str]) -> npt.NDArray[np.generic]:
    """Return labels as integers or other numbers if all are plainly written as such, otherwise as words."""
    if all(_INTEGER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells])
    numbers = [number(cell) if _PLAIN_NUMBER.fullmatch(cell) else None for cell in cells]
    if all(value is not None and np.isfinite(value) for value in numbers):
        return np.array(numbers, dtype=float)
    return np.array(cells)
