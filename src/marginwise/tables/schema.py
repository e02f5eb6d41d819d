"""What the columns of a table are, learnt when a model is fitted and asked of every table after that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Mask
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError
from marginwise.tables.column import FROM_DTYPE, Column
from marginwise.tables.reading import CATEGORY, NUMBER, Cells, columns_of
from marginwise.tables.remarks import Note, remarks

#: What to do about words among numbers, in Python.
_MEND = "if it is a column of numbers, write them as such, or NaN if they mean missing"


@dataclass(frozen=True)
class Schema:
    """The columns of a table: those that a model was trained on and needs to find in a table to predict.

    Attributes
    ----------
    columns : tuple of Column
        The inputs, in the model's order.
    target : str, optional
        Name of the column to predict, where the table was a file.
    missing_values : tuple of str
        Additional words that mean missing.
    remarks : tuple of str
        What a user should know about how the columns were read.

    Examples
    --------
    >>> import numpy as np
    >>> schema, cells = Schema.learnt(np.array([["red", 1.5], ["blue", 2.0]], dtype=object))
    >>> [column.kind for column in schema.columns], cells.tolist()
    (['category', 'number'], [[1.0, 1.5], [0.0, 2.0]])
    """

    columns: tuple[Column, ...]
    target: str | None = None
    missing_values: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    __repr__ = summary

    @classmethod
    def numeric(cls, names: Iterable[str | int]) -> Schema:
        """Return that of a table of numbers."""
        return cls(tuple(Column(name, NUMBER) for name in names))

    @classmethod
    def learnt(cls, X: Any, categorical_features: Any = FROM_DTYPE) -> tuple[Schema, Array]:
        """Return the schema of a data frame or an array with two axes, and its cells as numbers."""
        table = list(columns_of(X))
        schema = cls.of(table, categorical_features, getattr(X, "columns", ()))
        return schema, schema._matrix(cells for _, cells in table)[0]

    @classmethod
    def of(
        cls, table: Sequence[tuple[str | int, Cells]], categorical_features: Any = FROM_DTYPE, names: Any = ()
    ) -> Schema:
        """Return the schema of columns that were read."""
        chosen = chosen_columns(categorical_features, len(table), names)
        learnt = [
            Column.learnt(name, cells, None if chosen is None else bool(chosen[j]))
            for j, (name, cells) in enumerate(table)
        ]
        return cls(tuple(one.column for one in learnt), remarks=remarks([one.note for one in learnt], _MEND))

    def cells(self, X: Any) -> tuple[Array, tuple[str, ...]]:
        """Return the cells of another table with these columns as numbers, NaN where they are missing, and remarks."""
        cells, notes = self._matrix(cells for _, cells in columns_of(X))
        return cells, remarks(notes, _MEND)

    def _matrix(self, table: Iterable[Cells]) -> tuple[Array, list[Note]]:
        read = [column.numbers(cells) for column, cells in zip(self.columns, table, strict=True)]
        return canonical(np.column_stack([numbers for numbers, _ in read])), [note for _, note in read]

    def table(self, cells: Array) -> npt.NDArray[Any]:
        """Return the table that has these cells: numbers, or objects where there are categories or dates."""
        if self.is_numeric:
            return cells
        return np.column_stack([column.values(cells[:, j]) for j, column in enumerate(self.columns)])

    def named(self, names: Iterable[str]) -> Schema:
        """Return the same columns with other names."""
        pairs = zip(self.columns, names, strict=True)
        return replace(self, columns=tuple(replace(column, name=name) for column, name in pairs))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns; x1, x2, … where they have none."""
        return tuple(column.name if isinstance(column.name, str) else f"x{column.name + 1}" for column in self.columns)

    @property
    def categories(self) -> Mapping[str, tuple[Any, ...]]:
        """The categories of each column that has some, by its name."""
        named = zip(self.names, self.columns, strict=True)
        return {name: column.categories for name, column in named if column.kind == CATEGORY}

    @property
    def is_numeric(self) -> bool:
        """Whether all columns hold numbers."""
        return all(column.kind == NUMBER for column in self.columns)

    @property
    def n_categories(self) -> tuple[int, ...]:
        """How many categories each column has, 0 where it holds numbers; ordered categories are numbers."""
        return tuple(len(column.categories) if column.kind == CATEGORY else 0 for column in self.columns)


def chosen_columns(categorical_features: Any, n_columns: int, names: Any = ()) -> Mask | None:
    """Return which columns are categories; None if their types say so."""
    if isinstance(categorical_features, str) and categorical_features == FROM_DTYPE:
        return None
    chosen = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return chosen
    allowed = f'"{FROM_DTYPE}", None, a mask of {n_columns} truth values, or places or names of columns'
    if isinstance(categorical_features, str) or np.ndim(categorical_features) != 1:
        raise InvalidInputError("categorical_features", categorical_features, allowed)
    given = list(categorical_features)
    if given and all(isinstance(one, bool | np.bool_) for one in given):
        if len(given) != n_columns:
            raise InvalidInputError("categorical_features", Finding(f"has {len(given)} truth values"), allowed)
        return np.array(given, dtype=bool)
    places = {str(name): j for j, name in enumerate(names)}
    for one in given:
        if isinstance(one, str) and one in places:
            chosen[places[one]] = True
        elif isinstance(one, Integral) and 0 <= int(one) < n_columns:
            chosen[int(one)] = True
        else:
            known = f"; the columns are {', '.join(places)}" if places else ""
            raise InvalidInputError("categorical_features", one, allowed + known)
    return chosen


def canonical(cells: Array) -> Array:
    """Return the matrix with the same bits for every missing cell, so that equal rows look equal."""
    return np.where(np.isnan(cells), np.nan, cells)
