"""What the columns of a table are, learnt when a model is fitted and asked of every table after that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Mask
from marginwise._summary import summary
from marginwise.errors import InvalidInputError
from marginwise.tables.reading import (
    CATEGORY,
    DATE,
    IN_WORDS,
    NOTHING,
    NUMBER,
    ORDERED,
    Cells,
    as_objects,
    columns_of,
    plain,
)

#: Which columns are categories: by their types, none, or a mask, places or names.
FROM_DTYPE = "from_dtype"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    where : str
        How messages call it: column 'age', or column 3 where it has no name.
    kind : str
        "number", "date", "category" or "ordered category"; "nothing" if all its cells were missing.
    categories : tuple
        The values that a category had in training, in order.
    """

    where: str
    kind: str
    categories: tuple[Any, ...] = ()

    @classmethod
    def of(cls, where: str, cells: Cells, category: bool) -> Column:
        """Return what these cells say of a column, which is a category if that was said or it holds words."""
        if _is_missing(cells).all():
            return cls(where, NOTHING)
        if category:
            return cls(where, CATEGORY, _categories(cells))
        return cls(where, cells.kind, cells.levels)

    def numbers(self, cells: Cells) -> Array:
        """Return the cells as numbers: places among the categories, the next place for a category never seen."""
        if self.kind == NOTHING or _is_missing(cells).all():  # nothing was learnt of it, or there is nothing to tell
            return np.full(len(cells.values), np.nan)
        if self.kind == CATEGORY:
            self._require_words_or_numbers(cells)
            return self._places(cells, float(len(self.categories)))
        if cells.kind != self.kind and not (self.kind == ORDERED and cells.kind == CATEGORY):
            self._changed("words came" if cells.kind == CATEGORY else f"{IN_WORDS[cells.kind]} came")
        if self.kind == ORDERED:
            return self._ordered(cells)
        return self._finite(cells.values)

    def _places(self, cells: Cells, unseen: float) -> Array:
        """Return the places of the cells among the categories."""
        place = {category: float(k) for k, category in enumerate(self.categories)}
        pairs = zip(_named_values(cells), _is_missing(cells), strict=True)
        return np.array([np.nan if gone else place.get(value, unseen) for value, gone in pairs])

    def _ordered(self, cells: Cells) -> Array:
        places = self._places(cells, -1.0)
        if (places < 0.0).any():
            stranger = _named_values(cells)[int(np.argmax(places < 0.0))]
            self._changed(f"{stranger!r} came, which has no place among {', '.join(map(repr, self.categories))}")
        return places

    def _require_words_or_numbers(self, cells: Cells) -> None:
        """Say so if all categories were words and numbers came, or the other way round."""
        before = {isinstance(category, str) for category in self.categories}
        now = {isinstance(value, str) for value in _named_values(cells)[~_is_missing(cells)]}
        if len(before) == len(now) == 1 and before != now:
            self._changed("words came" if True in now else "numbers came")

    def _finite(self, values: Array) -> Array:
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise InvalidInputError(f"X, {self.where}", f"infinity in row {row}", "finite numbers, or NaN for none")
        return values

    def _changed(self, came: str) -> None:
        held = f"{IN_WORDS[self.kind]}" + (f" such as {self.categories[0]!r}" if self.categories else "")
        raise InvalidInputError(f"X, {self.where}", came, f"{held}, as in training")


@dataclass(frozen=True)
class Schema:
    """The columns of a table."""

    columns: tuple[Column, ...]

    __repr__ = summary

    @classmethod
    def numeric(cls, n_columns: int) -> Schema:
        """Return that of a table of numbers."""
        return cls(tuple(Column(f"column {j}", NUMBER) for j in range(n_columns)))

    @classmethod
    def learnt(cls, X: Any, categorical_features: Any = FROM_DTYPE) -> tuple[Schema, Array]:
        """Return the schema of a data frame or an array with two axes, and its cells as numbers."""
        table = list(columns_of(X))
        schema = cls.of(table, categorical_features, getattr(X, "columns", ()))
        return schema, schema._matrix(cells for _, cells in table)

    @classmethod
    def of(cls, table: Sequence[tuple[str, Cells]], categorical_features: Any = FROM_DTYPE, names: Any = ()) -> Schema:
        """Return the schema of columns that were read, by how messages call them."""
        chosen = chosen_columns(categorical_features, len(table), names)
        columns = []
        for j, (where, cells) in enumerate(table):
            category = cells.kind == CATEGORY if chosen is None else bool(chosen[j])
            if cells.kind == CATEGORY and not category:
                raise InvalidInputError(
                    f"X, {where}",
                    "words",
                    f"numbers, or a place among categorical_features ({FROM_DTYPE!r} takes words for categories)",
                )
            columns.append(Column.of(where, cells, category))
        return cls(tuple(columns))

    def cells(self, X: Any) -> Array:
        """Return the cells of another table with these columns as numbers, NaN where they are missing."""
        return self._matrix(cells for _, cells in columns_of(X))

    def _matrix(self, table: Iterator[Cells]) -> Array:
        columns = [column.numbers(cells) for column, cells in zip(self.columns, table, strict=True)]
        return canonical(np.column_stack(columns))

    @property
    def is_numeric(self) -> bool:
        """Whether all columns hold numbers."""
        return all(column.kind == NUMBER for column in self.columns)

    @property
    def n_categories(self) -> tuple[int, ...]:
        """How many categories each column has, 0 where it holds numbers; ordered categories are numbers."""
        return tuple(len(column.categories) if column.kind == CATEGORY else 0 for column in self.columns)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know of how the columns are taken."""
        dates = [column.where for column in self.columns if column.kind == DATE]
        if not dates:
            return ()
        which = f"{dates[0]} holds dates" if len(dates) == 1 else f"{', '.join(dates)} hold dates"
        return (f"{which}, taken as numbers of days: a weekday or season is not seen unless it is a column, too",)


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
            raise InvalidInputError("categorical_features", f"{len(given)} truth values", allowed)
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


def _categories(cells: Cells) -> tuple[Any, ...]:
    """Return the different values, sorted; those of different types by type first."""
    found = set(_named_values(cells)[~_is_missing(cells)])
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


def _named_values(cells: Cells) -> npt.NDArray[Any]:
    """Return values that can be compared with those of another table; a missing one is None or NaN."""
    if cells.kind == ORDERED:
        return as_objects([None if place != place else cells.levels[int(place)] for place in cells.values])
    if cells.values.dtype != object:
        return cells.values.astype(object)
    return as_objects([None if value is None else plain(value) for value in cells.values])


def _is_missing(cells: Cells) -> Mask:
    if cells.values.dtype == object:
        return np.array([value is None for value in cells.values], dtype=bool)
    return np.isnan(cells.values)
