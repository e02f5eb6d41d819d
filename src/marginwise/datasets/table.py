"""Tables of a user: CSV or LIBSVM files as numbers, with words one-hot encoded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marginwise.datasets.libsvm import is_libsvm, read_libsvm
from marginwise.datasets.reading import MISSING, Grid, number, read_bytes, read_grid, repeated, wrong_file
from marginwise.errors import InvalidInputError

Array = npt.NDArray[np.float64]

#: Categories a column of words may have; with more it is an identifier, or numbers that are badly written.
MOST_CATEGORIES = 100

#: A number with one way of writing it, so that labels like 007 stay as they are; integers fit 64 bits.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, eq=False)
class Table:
    """A table read from a file.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs as numbers; a column of words is one column of 0 and 1 for each of its categories.
    y : array of shape (n,)
        Labels as the file has them: integers, other numbers or words.
    feature_names : tuple of str
        Names of the columns of ``X``; "colour=blue" for a category.
    target_name : str
        Name of the column that ``y`` is from.
    categories : mapping of str to tuple of str
        The categories of each column of words, in the order of the columns of ``X``.
    """

    X: Array
    y: npt.NDArray[np.generic]
    feature_names: tuple[str, ...]
    target_name: str
    categories: Mapping[str, tuple[str, ...]]


def load_table(
    path: str | os.PathLike[str],
    target: str | int | None = None,
    *,
    drop: Sequence[str | int] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read a table from a CSV or LIBSVM file, plain or compressed with gzip.

    A CSV file is UTF-8 text; columns of numbers are inputs as they are, all others are one-hot encoded.
    Missing values (an empty cell, NA, NaN, ?, null) are an error that says where they are. A LIBSVM file is
    known by its suffix (.libsvm, .svm, .svmlight) or by its content; its target is always the label at the
    start of each line.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str or int, optional
        Name or position of the column to predict; by default the last.
    drop : sequence of str or int, optional
        Columns to leave out, such as row numbers and names.
    categories : mapping of str to sequence of str, optional
        The categories of some columns, for example those of the table a model was trained on, or to have a
        column of codes read as categories. A value that is not among them is an error.
    header : bool, optional
        Whether the first row holds the names; by default it does if it has a word above numbers, or words
        only. Without a header the columns are x1, x2, ….
    delimiter : str, optional
        What parts the cells; by default a tab, semicolon, bar, comma or blank is recognised.

    Raises
    ------
    InvalidInputError
        If the file cannot be read as a table; the message says where and why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = file.write_text("age,colour,class\\n31,blue,yes\\n45,red,no\\n")
    >>> table = load_table(file)
    >>> table.feature_names
    ('age', 'colour=blue', 'colour=red')
    >>> table.X.tolist(), table.y.tolist()
    ([[31.0, 1.0, 0.0], [45.0, 0.0, 1.0]], ['yes', 'no'])
    """
    file = Path(path).expanduser()
    content = read_bytes(file)
    if is_libsvm(file, content):
        for argument, value in (("target", target), ("drop", drop), ("categories", categories)):
            if value not in (None, (), [], {}):
                raise InvalidInputError(
                    argument, value, f"nothing, because {file} is in LIBSVM format, which has no names"
                )
        X, y = read_libsvm(file, content)
        names = tuple(f"x{a}" for a in range(1, X.shape[1] + 1))
        return Table(X, _as_integers(y), names, "label", {})
    grid = read_grid(file, content, header=header, delimiter=delimiter)
    return _encode(grid, target, drop, categories or {})


def _encode(
    grid: Grid, target: str | int | None, drop: Sequence[str | int], known: Mapping[str, Sequence[str]]
) -> Table:
    goal = grid.index("target", -1 if target is None else target)
    left_out = {goal, *(grid.index("drop", column) for column in drop)}
    inputs = [j for j in range(len(grid.names)) if j not in left_out]
    if not inputs:
        raise wrong_file(
            grid.path,
            f"at least one column beside the target {grid.names[goal]!r}; name the delimiter if it has more",
        )
    given = {grid.index("categories", name): tuple(values) for name, values in known.items()}
    _require_no_missing(grid, [*inputs, goal])

    blocks: list[Array] = []
    feature_names: list[str] = []
    categories: dict[str, tuple[str, ...]] = {}
    for j in inputs:
        numbers = None if j in given else _numbers(grid, j)
        if numbers is not None:
            blocks.append(numbers[:, None])
            feature_names.append(grid.names[j])
            continue
        levels = given[j] if j in given else _levels(grid, j)
        blocks.append(_one_hot(grid, j, levels))
        feature_names += [f"{grid.names[j]}={level}" for level in levels]
        categories[grid.names[j]] = levels
    if again := repeated(feature_names):
        raise wrong_file(grid.path, f"different names of inputs, but {again} would be repeated; rename a column")
    return Table(np.hstack(blocks), _labels(grid.columns[goal]), tuple(feature_names), grid.names[goal], categories)


def _require_no_missing(grid: Grid, columns: Sequence[int]) -> None:
    missing = [(i, j) for j in columns for i, cell in enumerate(grid.columns[j]) if cell.casefold() in MISSING]
    if missing:
        raise wrong_file(
            grid.path,
            f"no missing values, but {len(missing)} of its cells are missing: {grid.places(missing)}; "
            "fill them in, or leave out those rows, or drop those columns",
        )


def _numbers(grid: Grid, j: int) -> Array | None:
    """Return a column as finite numbers, or None if some cell holds a word."""
    numbers = [number(cell) for cell in grid.columns[j]]
    if any(value is None for value in numbers):
        return None
    values = np.array(numbers, dtype=float)
    infinite = [(int(i), j) for i in np.flatnonzero(~np.isfinite(values))]
    if infinite:
        raise wrong_file(
            grid.path,
            f"finite numbers, but {len(infinite)} are not: {grid.places(infinite)}; mend or drop them",
        )
    return values


def _levels(grid: Grid, j: int) -> tuple[str, ...]:
    """Return the sorted categories of a column of words, unless they look like something else."""
    levels = sorted(set(grid.columns[j]))
    name = grid.names[j]
    if all(number(level.replace(",", ".", 1)) is not None for level in levels):
        raise wrong_file(
            grid.path,
            f"numbers with a decimal point, but column {name!r} has values like {levels[0]!r}; write points",
        )
    if len(levels) > MOST_CATEGORIES:
        words = [(i, j) for i, cell in enumerate(grid.columns[j]) if number(cell) is None]
        raise wrong_file(
            grid.path,
            f"at most {MOST_CATEGORIES} categories in a column, but {name!r} has {len(levels)}, with words "
            f"in {grid.places(words)}; drop it if it is an identifier, mend these cells if it holds numbers, "
            "or list its values in categories",
        )
    return tuple(levels)


def _one_hot(grid: Grid, j: int, levels: Sequence[str]) -> Array:
    position = {level: k for k, level in enumerate(levels)}
    unknown = [(i, j) for i, cell in enumerate(grid.columns[j]) if cell not in position]
    if unknown:
        raise InvalidInputError(
            "categories",
            {grid.names[j]: tuple(levels)},
            f"all values of {grid.path}; others are in {grid.places(unknown)}",
        )
    codes = np.array([position[cell] for cell in grid.columns[j]])
    return (codes[:, None] == np.arange(len(levels))).astype(float)


def _labels(cells: Sequence[str]) -> npt.NDArray[np.generic]:
    """Return labels as integers or other numbers if all are plainly written as such, otherwise as words."""
    if all(_INTEGER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells])
    numbers = [number(cell) if _PLAIN_NUMBER.fullmatch(cell) else None for cell in cells]
    if all(value is not None and np.isfinite(value) for value in numbers):
        return np.array(numbers, dtype=float)
    return np.array(cells)


def _as_integers(y: Array) -> npt.NDArray[np.generic]:
    integers = np.rint(y)
    return integers.astype(int) if np.array_equal(integers, y) and np.abs(y).max() < 2**53 else y
