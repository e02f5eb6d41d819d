"""The inputs of an ONNX file, and the cells of a table as numbers that they become.

A table whose columns have names has one input for each of them, of shape (n, 1): numbers of double precision, NaN where
they are missing, or strings, empty where they are. A matrix of numbers is one input, X. Dates are days since 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from marginwise.errors import Finding, InvalidInputError
from marginwise.export.graph import Value, concat, node, where
from marginwise.tables import Column, Schema
from marginwise.tables.reading import CATEGORY, DATE, NOTHING, NUMBER, ORDERED

#: Name of the input that a matrix is.
MATRIX = "X"

#: Kinds of columns whose cells are numbers as they are.
_PLAIN = (NUMBER, DATE)

#: A missing word.
MISSING_WORD = ""


@dataclass(frozen=True)
class Inputs:
    """What an ONNX file takes.

    Attributes
    ----------
    schema : Schema
        The columns.
    is_matrix : bool
        Whether all of them are one input.
    """

    schema: Schema
    is_matrix: bool

    @classmethod
    def of(cls, schema: Schema, names: Sequence[str] | None) -> Inputs:
        """Return those of a table; ``names`` are those of its columns, where these have none."""
        columns = schema.columns
        if names is not None:
            _check_names(names, len(columns))
            schema = schema.named(names)
        nameless = all(isinstance(column.name, int) for column in schema.columns)
        is_matrix = nameless and not any(has_words(column) for column in columns)
        if not is_matrix:
            _check_names(schema.names, len(columns))
            schema = schema.named(schema.names)
        return cls(schema, is_matrix)

    @property
    def names(self) -> list[str]:
        """The names of the inputs."""
        return [MATRIX] if self.is_matrix else list(self.schema.names)

    def declared(self) -> list[Any]:
        """Return the inputs with their types and shapes."""
        if self.is_matrix:
            return [helper.make_tensor_value_info(MATRIX, TensorProto.DOUBLE, ["n", len(self.schema.columns)])]
        kinds = [TensorProto.STRING if has_words(column) else TensorProto.DOUBLE for column in self.schema.columns]
        pairs = zip(self.schema.names, kinds, strict=True)
        return [helper.make_tensor_value_info(name, kind, ["n", 1]) for name, kind in pairs]

    def cells(self, values: Sequence[Value]) -> Value:
        """Return the cells of the table as numbers, shape (n, n_columns), NaN where they are missing.

        ``values`` are the columns one by one, or all of them as one matrix of numbers.
        """
        columns = self.schema.columns
        if len(values) == 1 < len(columns):
            (matrix,) = values
            if all(column.kind in _PLAIN for column in columns):
                return matrix
            values = [matrix.take(np.array([j]), 1) for j in range(len(columns))]
        return concat([_cells(column, cells) for column, cells in zip(columns, values, strict=True)], axis=1)

    def described(self) -> list[dict[str, Any]]:
        """Return what each column is, for whoever fills it."""
        return [
            {"name": name, "kind": column.kind} | ({"values": list(column.categories)} if column.categories else {})
            for name, column in zip(self.schema.names, self.schema.columns, strict=True)
        ]


def _cells(column: Column, cells: Value) -> Value:
    if column.kind == NOTHING:  # nothing was learnt of it
        return cells * np.nan
    return cells if column.kind in _PLAIN else _places(column, cells)


def _places(column: Column, cells: Value) -> Value:
    """Return places among the categories: the next place for one never seen, which an ordered one takes as missing."""
    if has_words(column):
        values: Any = np.array(column.categories, dtype=object)
        missing = cells.equals(np.array([[MISSING_WORD]], dtype=object))
    else:
        values = np.array(column.categories, dtype=float)
        missing = node("IsNaN", cells)
    is_value = cells.equals(values[None]).cast(np.float64)
    size = float(len(values))
    places = (is_value * (np.arange(size) - size)).sum(1, keep=True) + size
    if column.kind == ORDERED:
        missing = places >= size
    elif MISSING_WORD in column.categories:
        return places
    return where(missing, np.nan, places)


def has_words(column: Column) -> bool:
    """Return whether the cells of a column are strings."""
    if column.kind not in (CATEGORY, ORDERED):
        return False
    words = {isinstance(category, str) for category in column.categories}
    if len(words) == 2:
        raise InvalidInputError(
            f"model, {column.where}", Finding("has words and numbers as its categories"), "either; fit with strings"
        )
    return words == {True}


def _check_names(names: Sequence[str], size: int) -> None:
    if len(names) != size:
        raise InvalidInputError("names", Finding(f"has {len(names)} names"), f"{size}, one for each column")
    if len(set(names)) < size or not all(isinstance(name, str) and name for name in names):
        raise InvalidInputError("names", list(names), "a different string for each column, and none that is empty")
