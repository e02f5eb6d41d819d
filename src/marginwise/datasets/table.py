"""Tables read from CSV, Excel, Parquet and LIBSVM files: numbers, words and dates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._summary import summary
from marginwise._wording import numbered, some
from marginwise.datasets.dialect import Dialect
from marginwise.datasets.encoding import as_labels, learn_columns, missing_cells, require_no_missing
from marginwise.datasets.identifiers import names_rows
from marginwise.datasets.libsvm import as_integers, is_libsvm, read_libsvm
from marginwise.datasets.reading import Grid, is_position, read_bytes, wrong_file
from marginwise.datasets.source import groups_in, read_grid, require_unnamed
from marginwise.errors import InvalidInputError, choose
from marginwise.tables import Schema
from marginwise.tables.reading import DATE

#: Name of the target of a LIBSVM file, which has no names.
_LABEL = "label"

#: What ``identifiers`` is if columns that identify rows are not to be inputs.
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
        The columns of ``X``, which ``load_inputs`` needs to read a second table in the same way. Its remarks say which
        cells were read as missing, as limits or as percentages, and which columns were set aside.
    row_numbers : array of int, shape (n,)
        Number of each row in the file, starting from 1 below the header; rows without a label are left out.
    row_names : tuple of str
        Names of the rows, from a column that was set aside; empty if there is none.
    groups : tuple of str
        The group of each row, as written in the file; empty unless a column was named.

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
        """Which columns are categories, for estimators, which would take columns of codes as numbers."""
        return [n > 0 for n in self.schema.n_categories]

    @property
    def dates(self) -> tuple[str, ...]:
        """Names of the columns of dates."""
        return tuple(str(column.name) for column in self.schema.columns if column.kind == DATE)


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

    Columns hold numbers, dates (such as 2024-05-31) or words. Missing values are written as an empty cell, NA, NaN, ?
    or null; in columns of numbers also as n/a, -, none and the like. Rows without a label are left out. In columns of
    numbers, a limit such as <0.1 is read as the number, and percent signs are dropped; the remarks of the schema say
    so. A LIBSVM file is recognised by its suffix (.libsvm, .svm, .svmlight) or its content; its target is always the
    label at the start of each line.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str or int, optional
        Name or position of the column to predict; by default the last.
    groups : str or int, optional
        Name or position of a column that identifies groups of rows, such as the patient. It is not an input.
    drop : sequence of str or int, optional
        Columns to ignore, such as row numbers and names.
    categories : mapping of str to sequence of str, optional
        The categories of some columns: those of the table that a model was trained on, for example, or of a column of
        codes that would be read as numbers. Any other value is an error.
    missing : {"keep", "refuse"}
        Whether to keep missing values of the inputs and leave out rows without a label, or to raise an error that says
        where they are.
    missing_values : sequence of str, optional
        Additional words, or numbers such as -999, that mean a missing value in any column.
    identifiers : {"keep", "set aside"}
        What to do with columns that identify rows, whose words hardly any two rows share: keep them as inputs, or set
        them aside, the first of them as ``row_names``.
    header : bool, optional
        Whether the first row of a CSV or Excel file holds column names. By default it does if it contains the target's
        name, a word above numbers, or only words, or if its numbers differ in kind from those below; if that is
        ambiguous, this must be given. Without a header the columns are x1, x2, ….
    delimiter : str, optional
        The character that separates cells of a CSV file; by default a tab, semicolon, bar, comma or space is detected.
    encoding : str, optional
        Encoding of a CSV file; by default that of its byte order mark, otherwise UTF-8.
    decimal : {".", ","}, optional
        The decimal separator of a CSV file. By default it is a comma if some numbers have one, none has a point, and
        not all of these commas can be thousands separators.
    skip : int, default=0
        Lines to skip above the table, such as a title, in a CSV or Excel file.
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
    grid = read_grid(file, content, said, _names([target, groups, *drop, *(categories or ())]))
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
    belonging = groups_in(grid, together[0]) if together else ()
    return Table(X, as_labels(grid.labels(goal)), schema, np.array(kept) + 1, row_names, belonging)


def _of_libsvm(file: Path, content: bytes, **named: Any) -> Table:
    """Return the table in a LIBSVM file, whose columns cannot be named."""
    require_unnamed(file, **named)
    X, y, names = read_libsvm(file, content)
    numbers = np.arange(1, len(y) + 1)
    return Table(X, as_integers(y), replace(Schema.numeric(names), target=_LABEL), numbers)


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


def _names(columns: Iterable[str | int | None]) -> list[str]:
    """Return those of the columns that are given by name for certain: 3 may be a position."""
    return [column for column in columns if isinstance(column, str) and not is_position(column)]
