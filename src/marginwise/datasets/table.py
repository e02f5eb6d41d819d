"""Tables of a user: CSV, Excel, Parquet or LIBSVM files as numbers, words and dates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise._wording import numbered, some
from marginwise.datasets.dialect import Dialect, read_sheet, read_text
from marginwise.datasets.encoding import as_labels, learn_columns, missing_cells, read_columns, require_no_missing
from marginwise.datasets.excel import is_excel
from marginwise.datasets.identifiers import names_rows
from marginwise.datasets.libsvm import is_libsvm, read_libsvm
from marginwise.datasets.parquet import is_parquet, read_parquet
from marginwise.datasets.reading import Grid, is_position, read_bytes, wrong_file
from marginwise.errors import InvalidInputError, choose
from marginwise.tables import Schema
from marginwise.tables.reading import CATEGORY, DATE

#: Name of the target of a LIBSVM file, which has no names.
_LABEL = "label"

#: What becomes of columns that name the rows, if it is said so.
SET_ASIDE = "set aside"


@dataclass(frozen=True, eq=False)
class Table:
    """A table read from a file.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs as numbers, NaN where cells are missing; objects where there are words or dates, None where a word is
        missing.
    y : array of shape (n,)
        Labels as the file has them: integers, other numbers or words.
    schema : Schema
        What the columns of ``X`` are, as ``load_inputs`` needs it to read a second table in the same way; its remarks
        say what was taken as missing, as limits and as percents, and what was set aside.
    row_numbers : array of int, shape (n,)
        Where each row stands in the file, the first below the header being 1: rows without a label are left out.
    row_names : tuple of str
        How a column that was set aside calls the rows; empty if there is none.
    groups : tuple of str
        The group that each row belongs to, as it is written; empty unless a column was named.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "table.csv")
    ...     _ = path.write_text("colour,size,kind\\nred,1,a\\ngreen,,b\\nred,3,a\\ngreen,4,b\\n")
    ...     table = load_table(path, "kind")
    >>> table.feature_names, table.y.tolist(), dict(table.categories)
    (('colour', 'size'), ['a', 'b', 'a', 'b'], {'colour': ('green', 'red')})
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[np.generic]
    schema: Schema
    row_numbers: npt.NDArray[np.intp]
    row_names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    __repr__ = summary

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of ``X``."""
        return self.schema.names

    @property
    def target_name(self) -> str:
        """Name of the column that ``y`` is from."""
        return self.schema.target or ""

    @property
    def categories(self) -> Mapping[str, tuple[Any, ...]]:
        """The categories of each column of words."""
        return self.schema.categories

    @property
    def categorical_features(self) -> list[bool]:
        """Which columns are categories, for estimators: words of numbers alone, such as codes, would be numbers."""
        return [n > 0 for n in self.schema.n_categories]

    @property
    def dates(self) -> tuple[str, ...]:
        """Names of the columns of dates."""
        return tuple(str(column.name) for column in self.schema.columns if column.kind == DATE)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a table to predict from.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs as those of a Table.
    labels : tuple of str, or None
        The column to predict as it is written, if the table has it and nothing in it is missing.
    unused : tuple of str
        Names of the columns that are neither.
    kept : mapping of str to tuple of str
        The columns to carry through to the predictions, as they are written.
    unseen : mapping of str to tuple of str
        Words that the first table had not, by column.
    remarks : tuple of str
        What was taken as missing, as limits and as percents.

    Examples
    --------
    :func:`~marginwise.load_inputs` shows one.

    >>> Inputs(np.array([[1.0]]), labels=("a",), unused=(), kept={}).labels
    ('a',)
    """

    X: npt.NDArray[Any]
    labels: tuple[str, ...] | None
    unused: tuple[str, ...]
    kept: Mapping[str, tuple[str, ...]]
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    __repr__ = summary


def load_table(
    path: str | os.PathLike[str],
    target: str | int | None = None,
    *,
    groups: str | int | None = None,
    drop: Sequence[str | int] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    missing: str = "keep",
    missing_values: Sequence[str] = (),
    identifiers: str = "keep",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    skip: int = 0,
    sheet: str | int | None = None,
) -> Table:
    """Read a table from a CSV, Excel (.xlsx), Parquet or LIBSVM file, plain or compressed with gzip.

    Columns hold numbers, dates (as 2024-05-31) or words. Missing values are an empty cell, NA, NaN, ?, null; among
    numbers also n/a, -, none and the like; rows without a label are left out. Limits among numbers, as <0.1, are taken
    as the limit, and percent signs are left out; the remarks of the schema say so. A LIBSVM file is known by its suffix
    (.libsvm, .svm, .svmlight) or by its content; its target is always the label at the start of each line.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str or int, optional
        Name or position of the column to predict; by default the last.
    groups : str or int, optional
        Name or position of the column that says which rows belong together, such as the patient. It is no input.
    drop : sequence of str or int, optional
        Columns to leave out, such as row numbers and names.
    categories : mapping of str to sequence of str, optional
        The categories of some columns, for example those of the table a model was trained on, or to have a
        column of codes read as categories. A value that is not among them is an error.
    missing : {"keep", "refuse"}
        Whether missing values of the inputs are kept, and rows without a label left out, or both are an error that says
        where they are.
    missing_values : sequence of str, optional
        Further words, or numbers such as -999, that mean a missing value in any column.
    identifiers : {"keep", "set aside"}
        What becomes of columns that name the rows, with words that hardly any two rows share: they are inputs like any
        other, or the first of them becomes ``row_names`` and none is an input.
    header : bool, optional
        Whether the first row of a CSV or Excel file holds the names; by default it does if it has the target's name, a
        word above numbers, or words only, or if its numbers are of another kind than those below. Where it may as
        well hold data, this must be said. Without a header the columns are x1, x2, ….
    delimiter : str, optional
        What parts the cells of a CSV file; by default a tab, semicolon, bar, comma or blank is recognised.
    encoding : str, optional
        That of a CSV file; by default that of its byte order mark, otherwise UTF-8.
    decimal : {".", ","}, optional
        The decimal sign of a CSV file; by default a comma if some numbers have it, none has a point, and it cannot
        part thousands in all of them.
    skip : int, default=0
        Lines above the table, such as a title, in a CSV or Excel file.
    sheet : str or int, optional
        Name of the sheet of an Excel file, or its number from 1; by default the first.

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
    >>> table.feature_names, table.categories
    (('age', 'colour'), {'colour': ('blue', 'red')})
    >>> table.X.tolist(), table.y.tolist()
    ([[31.0, 'blue'], [45.0, 'red']], ['yes', 'no'])
    """
    choose("missing", missing, ("keep", "refuse"))
    if isinstance(missing_values, str) or not all(isinstance(word, str) for word in missing_values):
        raise InvalidInputError("missing_values", missing_values, "a list of words, such as ['unknown', '-999']")
    choose("identifiers", identifiers, ("keep", SET_ASIDE))
    said = Dialect(encoding, delimiter, decimal, header, skip, sheet)
    file = Path(path).expanduser()
    content = read_bytes(file)
    if is_libsvm(file, content):
        return _of_libsvm(file, content, target=target, groups=groups, drop=drop, categories=categories)
    grid = _grid(file, content, said, _names([target, groups, *drop, *(categories or ())]))
    goal = grid.index("target", -1 if target is None else target)
    together = [] if groups is None else [grid.index("groups", groups)]
    if goal in together:
        raise InvalidInputError("groups", groups, "another column than the target")
    left_out = {goal, *together, *(grid.index("drop", column) for column in drop)}
    columns = [j for j in range(len(grid.names)) if j not in left_out]
    if not columns:
        raise wrong_file(
            grid.path,
            f"at least one column in addition to the target {grid.names[goal]!r}; name the delimiter if it has more",
        )
    known = {grid.index("categories", name): values for name, values in (categories or {}).items()}
    grid = grid.with_missing([*columns, goal, *together], missing_values)
    without = [(i, goal) for i in grid.missing(goal)]
    if len(without) == len(grid.lines):
        require_no_missing(grid, without)
    kept = list(range(len(grid.lines)))
    if missing == "keep":
        gone = {i for i, _ in without}
        kept = [i for i in kept if i not in gone]
        grid = grid.only(kept)
    naming = [j for j in columns if identifiers == SET_ASIDE and j not in known and names_rows(grid, j)]
    columns = [j for j in columns if j not in naming]
    if not columns:
        raise wrong_file(grid.path, f"a column to learn from, but {_quoted(grid, naming)} only names the rows")
    X, schema = learn_columns(grid, columns, known)
    if missing == "refuse":
        require_no_missing(grid, [*missing_cells(columns, X), *without])
    remarks = (*_unlabelled(grid.names[goal], without), *_set_aside(grid, naming), *schema.remarks)
    schema = replace(schema, target=grid.names[goal], missing_values=tuple(missing_values), remarks=remarks)
    row_names = grid.words(naming[0]) if naming else ()
    belonging = _belonging(grid, together[0]) if together else ()
    return Table(X, as_labels(grid.labels(goal)), schema, np.array(kept) + 1, row_names, belonging)


def _of_libsvm(file: Path, content: bytes, **named: Any) -> Table:
    """Return the table in a LIBSVM file, whose columns cannot be named."""
    for argument, value in named.items():
        if value not in (None, (), [], {}):
            raise _nameless(argument, value, file)
    X, y, names = read_libsvm(file, content)
    numbers = np.arange(1, len(y) + 1)
    return Table(X, _as_integers(y), replace(Schema.numeric(names), target=_LABEL), numbers)


def _belonging(grid: Grid, column: int) -> tuple[str, ...]:
    """Return the group of each row."""
    without = [(i, column) for i in grid.missing(column)]
    if without:
        raise wrong_file(
            grid.path,
            f"a group for each row, but {len(without)} of its cells are missing: {grid.places(without)}; "
            "give a row that belongs to no other a group of its own",
        )
    return grid.words(column)


def _unlabelled(target: str, without: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return a remark on rows that were left out because they have no label."""
    if not without:
        return ()
    which = f"{'row' if len(without) == 1 else 'rows'} {some(str(i + 1) for i, _ in without)}"
    return (f"{numbered(len(without), 'row')} without {target!r} left out: {which}",)


def _quoted(grid: Grid, columns: Sequence[int]) -> str:
    return some(repr(grid.names[j]) for j in columns)


def _set_aside(grid: Grid, columns: Sequence[int]) -> tuple[str, ...]:
    """Return a remark on columns that only name the rows."""
    if not columns:
        return ()
    words = "names the rows and is" if len(columns) == 1 else "name the rows and are"
    return (f"{_quoted(grid, columns)} only {words} not learnt from: hardly any two rows share a word",)


def load_inputs(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    keep: Sequence[str | int] | None = None,
    missing: str = "keep",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    skip: int = 0,
    sheet: str | int | None = None,
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
    missing, header, delimiter, encoding, decimal, skip, sheet
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
        if keep:
            raise _nameless("keep", keep, file)
        X, y, _ = read_libsvm(file, content, schema.names)
        return Inputs(X, tuple(map(str, _as_integers(y).tolist())), (), {})
    grid = _grid(file, content, said, schema.names)
    absent = [repr(name) for name in schema.names if name not in grid.names]
    if absent:
        raise wrong_file(
            file,
            f"all {len(schema.names)} columns that the model was trained on, but {some(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} missing; it has {some(map(repr, grid.names))}",
        )
    columns = [grid.names.index(name) for name in schema.names]
    goal = grid.names.index(schema.target) if schema.target in grid.names else None
    grid = grid.with_missing(columns if goal is None else [*columns, goal], schema.missing_values)
    X, remarks = read_columns(grid, columns, schema)
    if missing == "refuse":
        require_no_missing(grid, missing_cells(columns, X))
    labels = None if goal is None or grid.missing(goal) else grid.labels(goal)
    unused = [j for j, name in enumerate(grid.names) if name not in schema.names and j != goal]
    if keep is None:
        kept = [j for j in unused if grid.is_identifier(j)]
    else:
        kept = [grid.index("keep", column) for column in keep]
    carried = {grid.names[j]: grid.words(j) for j in kept}
    unused_names = tuple(grid.names[j] for j in unused)
    return Inputs(X, labels, unused_names, carried, _unseen(X, schema), remarks)


def _unseen(X: npt.NDArray[Any], schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return the words that are in no category, by column."""
    columns = zip(schema.names, schema.columns, X.T, strict=True)
    new = {
        name: {cell for cell in cells if isinstance(cell, str)}.difference(column.categories)
        for name, column, cells in columns
        if column.kind == CATEGORY
    }
    return {name: tuple(sorted(words)) for name, words in new.items() if words}


def _grid(file: Path, content: bytes, said: Dialect, names: Sequence[str]) -> Grid:
    if is_excel(content):
        return read_sheet(file, content, said, names)
    if said.sheet is not None:
        raise InvalidInputError("sheet", said.sheet, f"nothing, because {file} is no Excel file")
    if is_parquet(content):
        if said.skip:
            raise InvalidInputError("skip", said.skip, f"0, because {file} is in Parquet format")
        return read_parquet(file, content)
    return read_text(file, content, said, names)


def _names(columns: Iterable[str | int | None]) -> list[str]:
    """Return those of the columns that are given by name for certain: 3 may be a position."""
    return [column for column in columns if isinstance(column, str) and not is_position(column)]


def _nameless(argument: str, value: object, file: Path) -> InvalidInputError:
    return InvalidInputError(argument, value, f"nothing, because {file} is in LIBSVM format, which has no names")


def _has_libsvm_names(schema: Schema) -> bool:
    """Return whether the columns are named as those of a LIBSVM file are: x and their index, from 0 or 1."""
    first = 0 if schema.names[0] == "x0" else 1
    return schema.is_numeric and schema.names == tuple(f"x{a}" for a in range(first, first + len(schema.columns)))


def _as_integers(y: Array) -> npt.NDArray[np.generic]:
    integers = np.rint(y)
    return integers.astype(int) if np.array_equal(integers, y) and np.abs(y).max() < 2**53 else y
