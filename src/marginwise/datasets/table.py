"""Tables of a user: CSV, Parquet or LIBSVM files as numbers, with words one-hot encoded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.datasets.dialect import Dialect, read_text
from marginwise.datasets.encoding import as_labels, encode, require_no_missing
from marginwise.datasets.libsvm import is_libsvm, read_libsvm
from marginwise.datasets.parquet import is_parquet, read_parquet
from marginwise.datasets.reading import Grid, is_position, read_bytes, some, wrong_file
from marginwise.errors import InvalidInputError

#: Name of the target of a LIBSVM file, which has no names.
_LABEL = "label"


@dataclass(frozen=True)
class Schema:
    """What a model was trained on, and so must find in a table to predict from.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns that are inputs, in the order of the model's.
    categories : mapping of str to tuple of str
        The categories of each column of words.
    target : str
        Name of the column to predict.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]
    target: str


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
    columns : tuple of str
        Names of the columns of the file that ``X`` is from.
    """

    X: Array
    y: npt.NDArray[np.generic]
    feature_names: tuple[str, ...]
    target_name: str
    categories: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]

    __repr__ = summary

    @property
    def schema(self) -> Schema:
        """What :func:`load_inputs` needs to read a second table in the same way."""
        return Schema(self.columns, self.categories, self.target_name)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a table to predict from.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs as the model was trained on.
    labels : tuple of str, or None
        The column to predict as it is written, if the table has it and nothing in it is missing.
    unused : tuple of str
        Names of the columns that are neither.
    kept : mapping of str to tuple of str
        The columns to carry through to the predictions, as they are written.
    """

    X: Array
    labels: tuple[str, ...] | None
    unused: tuple[str, ...]
    kept: Mapping[str, tuple[str, ...]]

    __repr__ = summary


def load_table(
    path: str | os.PathLike[str],
    target: str | int | None = None,
    *,
    drop: Sequence[str | int] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Read a table from a CSV, Parquet or LIBSVM file, plain or compressed with gzip.

    Columns of numbers are inputs as they are, all others are one-hot encoded.
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
        Whether the first row of a CSV file holds the names; by default it does if it has the target's name, a
        word above numbers, or words only, or if its numbers are of another kind than those below. Where it may as
        well hold data, this must be said. Without a header the columns are x1, x2, ….
    delimiter : str, optional
        What parts the cells of a CSV file; by default a tab, semicolon, bar, comma or blank is recognised.
    encoding : str, optional
        That of a CSV file; by default that of its byte order mark, otherwise UTF-8.
    decimal : {".", ","}, optional
        The decimal sign of a CSV file; by default a comma if some numbers have it, none has a point, and it cannot
        part thousands in all of them.

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
    said = Dialect(encoding, delimiter, decimal, header)
    file = Path(path).expanduser()
    content = read_bytes(file)
    if is_libsvm(file, content):
        for argument, value in (("target", target), ("drop", drop), ("categories", categories)):
            if value not in (None, (), [], {}):
                raise _nameless(argument, value, file)
        X, y, names = read_libsvm(file, content)
        return Table(X, _as_integers(y), names, _LABEL, {}, names)
    grid = _grid(file, content, said, _names([target, *drop, *(categories or ())]))
    goal = grid.index("target", -1 if target is None else target)
    left_out = {goal, *(grid.index("drop", column) for column in drop)}
    columns = [j for j in range(len(grid.names)) if j not in left_out]
    if not columns:
        raise wrong_file(
            grid.path,
            f"at least one column beside the target {grid.names[goal]!r}; name the delimiter if it has more",
        )
    known = {grid.index("categories", name): values for name, values in (categories or {}).items()}
    require_no_missing(grid, [*columns, goal])
    inputs, feature_names, found = encode(grid, columns, known)
    labels = as_labels(grid.labels(goal))
    return Table(inputs, labels, feature_names, grid.names[goal], found, tuple(grid.names[j] for j in columns))


def load_inputs(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    keep: Sequence[str | int] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> Inputs:
    """Read the inputs of a second table, to predict from, as :func:`load_table` read those of the first.

    Columns are found by their names, in any order; the target may be there or not.

    Parameters
    ----------
    path : str or path-like
        The file.
    schema : Schema
        That of the first table.
    keep : sequence of str or int, optional
        Columns to carry through, by name or position; by default those that are neither inputs nor the target and
        name the rows: words or whole numbers, all there and no two the same.
    header, delimiter, encoding, decimal
        As in :func:`load_table`.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, a column is missing, or holds what the first table had not.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "first.csv").write_text("age,colour,class\\n31,blue,yes\\n45,red,no\\n")
    >>> _ = (folder / "second.csv").write_text("id,colour,age\\nk7,blue,18\\n")
    >>> inputs = load_inputs(folder / "second.csv", load_table(folder / "first.csv").schema)
    >>> inputs.X.tolist(), inputs.kept
    ([[18.0, 1.0, 0.0]], {'id': ('k7',)})
    """
    said = Dialect(encoding, delimiter, decimal, header)
    file = Path(path).expanduser()
    content = read_bytes(file)
    if is_libsvm(file, content):
        if not _has_libsvm_names(schema):
            raise wrong_file(
                file,
                f"a table with the columns {some(map(repr, schema.columns))}, but it is in LIBSVM format, "
                "which has no names",
            )
        if keep:
            raise _nameless("keep", keep, file)
        X, y, _ = read_libsvm(file, content, schema.columns)
        return Inputs(X, tuple(map(str, _as_integers(y).tolist())), (), {})
    grid = _grid(file, content, said, schema.columns)
    absent = [repr(name) for name in schema.columns if name not in grid.names]
    if absent:
        raise wrong_file(
            file,
            f"all {len(schema.columns)} columns that the model was trained on, but {some(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} missing; it has {some(map(repr, grid.names))}",
        )
    columns = [grid.names.index(name) for name in schema.columns]
    require_no_missing(grid, columns)
    known = {grid.names.index(name): values for name, values in schema.categories.items()}
    inputs, _, _ = encode(grid, columns, known, numeric=True)
    goal = grid.names.index(schema.target) if schema.target in grid.names else None
    labels = None if goal is None or grid.missing(goal) else grid.labels(goal)
    unused = [j for j, name in enumerate(grid.names) if name not in schema.columns and j != goal]
    if keep is None:
        kept = [j for j in unused if grid.is_identifier(j)]
    else:
        kept = [grid.index("keep", column) for column in keep]
    return Inputs(inputs, labels, tuple(grid.names[j] for j in unused), {grid.names[j]: grid.words(j) for j in kept})


def _grid(file: Path, content: bytes, said: Dialect, names: Sequence[str]) -> Grid:
    return read_parquet(file, content) if is_parquet(content) else read_text(file, content, said, names)


def _names(columns: Iterable[str | int | None]) -> list[str]:
    """Return those of the columns that are given by name for certain: 3 may be a position."""
    return [column for column in columns if isinstance(column, str) and not is_position(column)]


def _nameless(argument: str, value: object, file: Path) -> InvalidInputError:
    return InvalidInputError(argument, value, f"nothing, because {file} is in LIBSVM format, which has no names")


def _has_libsvm_names(schema: Schema) -> bool:
    """Return whether the columns are named as those of a LIBSVM file are: x and their index, from 0 or 1."""
    first = 0 if schema.columns[0] == "x0" else 1
    names = tuple(f"x{a}" for a in range(first, first + len(schema.columns)))
    return names == schema.columns and not schema.categories


def _as_integers(y: Array) -> npt.NDArray[np.generic]:
    integers = np.rint(y)
    return integers.astype(int) if np.array_equal(integers, y) and np.abs(y).max() < 2**53 else y
