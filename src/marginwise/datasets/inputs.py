"""A second table, read as the first one was: inputs to predict from, or rows to add to a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from marginwise._summary import summary
from marginwise._wording import some
from marginwise.datasets.dialect import Dialect
from marginwise.datasets.encoding import missing_cells, read_columns, require_no_missing
from marginwise.datasets.libsvm import as_integers, is_libsvm, read_libsvm
from marginwise.datasets.reading import read_bytes, wrong_file
from marginwise.datasets.source import groups_in, read_grid, require_unnamed
from marginwise.errors import InvalidInputError, choose
from marginwise.tables import Schema
from marginwise.tables.reading import CATEGORY


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a table to predict from.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs as those of a Table.
    labels : tuple of str, or None
        The column to predict as written in the file, if the table has it and no cell of it is missing.
    unused : tuple of str
        Names of the other columns.
    kept : mapping of str to tuple of str
        The columns to copy to the predictions, as written in the file.
    unseen : mapping of str to tuple of str
        Words that do not occur in the first table, by column.
    remarks : tuple of str
        Which cells were read as missing, as limits or as percentages.
    groups : tuple of str
        The group of each row, as written in the file; empty unless a column was named.

    Examples
    --------
    :func:`~marginwise.load_inputs` shows one.

    >>> import numpy as np
    >>> Inputs(np.array([[1.0]]), labels=("a",), unused=(), kept={}).labels
    ('a',)
    """

    X: npt.NDArray[Any]
    labels: tuple[str, ...] | None
    unused: tuple[str, ...]
    kept: Mapping[str, tuple[str, ...]]
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    __repr__ = summary


def load_inputs(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    groups: str | int | None = None,
    keep: Sequence[str | int] | None = None,
    missing: str = "keep",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    skip: int = 0,
    sheet: str | int | None = None,
) -> Inputs:
    """Read the inputs of a second table in the same way as :func:`load_table` read those of the first.

    Columns are found by name, in any order; the target may be missing.

    Parameters
    ----------
    path : str or path-like
        The file.
    schema : Schema
        The schema of the first table.
    groups : str or int, optional
        Name or position of a column that identifies groups of rows: neither an input nor the target.
    keep : sequence of str or int, optional
        Columns to copy, by name or position. By default those that are neither inputs nor the target and that identify
        rows: words or whole numbers, none missing and no two equal.
    missing, header, delimiter, encoding, decimal, skip, sheet
        As in :func:`load_table`.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or a column is missing or of another kind than in the first table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from marginwise import load_inputs, load_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "first.csv").write_text("age,colour,class\\n31,blue,yes\\n45,red,no\\n")
    >>> _ = (folder / "second.csv").write_text("id,colour,age\\nk7,blue,18\\n")
    >>> inputs = load_inputs(folder / "second.csv", load_table(folder / "first.csv").schema)
    >>> inputs.X.tolist(), inputs.kept
    ([[18.0, 'blue']], {'id': ('k7',)})
    """
    choose("missing", missing, ("keep", "refuse"))
    said = Dialect(encoding, delimiter, decimal, header, skip, sheet)
    file = Path(path).expanduser()
    content = read_bytes(file)
    if is_libsvm(file, content):
        if not _has_libsvm_names(schema):
            raise wrong_file(
                file,
                f"a table with the columns {some(map(repr, schema.names))}, but it is in LIBSVM format, "
                "which has no names",
            )
        require_unnamed(file, groups=groups, keep=keep)
        X, y, _ = read_libsvm(file, content, schema.names)
        return Inputs(X, tuple(map(str, as_integers(y).tolist())), (), {})
    grid = read_grid(file, content, said, schema.names)
    absent = [repr(name) for name in schema.names if name not in grid.names]
    if absent:
        raise wrong_file(
            file,
            f"all {len(schema.names)} columns that the model was trained on, but {some(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} missing; it has {some(map(repr, grid.names))}",
        )
    columns = [grid.names.index(name) for name in schema.names]
    goal = grid.names.index(schema.target) if schema.target in grid.names else None
    others = [] if goal is None else [goal]
    together = [] if groups is None else [grid.index("groups", groups)]
    if set(together) & {*columns, *others}:
        raise InvalidInputError("groups", groups, "a column that is neither an input nor the target")
    grid = grid.with_missing([*columns, *others, *together], schema.missing_values)
    X, remarks = read_columns(grid, columns, schema)
    if missing == "refuse":
        require_no_missing(grid, missing_cells(columns, X))
    labels = None if goal is None or grid.missing(goal) else grid.labels(goal)
    unused = [j for j in range(len(grid.names)) if j not in (*columns, *others, *together)]
    if keep is None:
        kept = [j for j in unused if grid.is_identifier(j)]
    else:
        kept = [grid.index("keep", column) for column in keep]
    carried = {grid.names[j]: grid.words(j) for j in kept}
    unused_names = tuple(grid.names[j] for j in unused)
    belonging = groups_in(grid, together[0]) if together else ()
    return Inputs(X, labels, unused_names, carried, _unseen(X, schema), remarks, belonging)


def _unseen(X: npt.NDArray[Any], schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return the words that are in no category, by column."""
    columns = zip(schema.names, schema.columns, X.T, strict=True)
    new = {
        name: {cell for cell in cells if isinstance(cell, str)}.difference(column.categories)
        for name, column, cells in columns
        if column.kind == CATEGORY
    }
    return {name: tuple(sorted(words)) for name, words in new.items() if words}


def _has_libsvm_names(schema: Schema) -> bool:
    """Return whether the columns are named as those of a LIBSVM file are: x and their index, from 0 or 1."""
    first = 0 if schema.names[0] == "x0" else 1
    return schema.is_numeric and schema.names == tuple(f"x{a}" for a in range(first, first + len(schema.columns)))
