"""What one column of a table is, and its cells as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._wording import some
from marginwise.errors import Finding, InvalidInputError
from marginwise.tables.reading import (
    CATEGORY,
    DATE,
    IN_WORDS,
    NOTHING,
    NUMBER,
    ORDERED,
    TEXT,
    Cells,
    as_objects,
    days_of,
    plain,
)
from marginwise.tables.remarks import Note
from marginwise.tables.text import TextNumbers, may_be_number, text_dates, text_numbers, words_among_numbers

#: Which columns are categories: by their types, none, or a mask, places or names.
FROM_DTYPE = "from_dtype"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str or int
        Its name, or its position if it has none.
    kind : str
        "number", "date", "category" or "ordered category"; "nothing" if all its cells were missing.
    categories : tuple
        The values that a category had in training, in order.
    percent_unit : float, optional
        The value of one percent, if numbers of the column were written with a percent sign.
    """

    name: str | int
    kind: str
    categories: tuple[Any, ...] = ()
    percent_unit: float | None = None

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"column {self.name!r}"

    @classmethod
    def learnt(cls, name: str | int, cells: Cells, category: bool | None = None) -> LearntColumn:
        """Return what these cells say of a column; ``category`` says whether it is one, None that its cells do."""
        if cells.missing.all():
            return LearntColumn(cls(name, NOTHING), Cells(NUMBER, np.full(len(cells.values), np.nan)), Note(name))
        if cells.kind == TEXT and not category:
            return cls._learnt_from_text(name, cells, category)
        if cells.kind == CATEGORY and category is False:
            raise _words_are_no_numbers(name)
        if category or cells.kind == CATEGORY:
            return LearntColumn(cls(name, CATEGORY, _categories(cells)), cells, Note(name))
        return LearntColumn(cls(name, cells.kind, cells.levels), cells, Note(name, dates=cells.kind == DATE))

    @classmethod
    def _learnt_from_text(cls, name: str | int, cells: Cells, category: bool | None) -> LearntColumn:
        numbers = text_numbers(cells.values, cells.decimal)
        if numbers is not None and not np.isnan(numbers.values).all():
            column = cls(name, NUMBER, percent_unit=numbers.percent_unit)
            note = _note(name, cells, numbers, column.percent_unit)._replace(from_text=True)
            return LearntColumn(column, Cells(NUMBER, numbers.in_units(column.percent_unit)), note)
        words = [isinstance(value, str) for value in cells.values[~cells.missing]]
        dates = text_dates(cells.values) if all(words) else None
        if dates is not None:
            note = Note(name, dates.missing, dates=True)
            return LearntColumn(cls(name, DATE), Cells(DATE, days_of(dates.values)), note)
        among = words_among_numbers(cells.values, cells.decimal)
        if category is False:
            raise _words_are_no_numbers(name)
        if not all(words):
            shown = some(map(repr, among or dict.fromkeys(v for v in cells.values if isinstance(v, str))))
            raise InvalidInputError(
                f"X, column {name!r}",
                Finding(f"holds numbers and words ({shown})"),
                "either in a column; write numbers as such, or NaN for words that mean missing",
            )
        return LearntColumn(cls(name, CATEGORY, _categories(cells)), cells, Note(name, among=among))

    def numbers(self, cells: Cells) -> tuple[Array, Note]:
        """Return the cells as numbers: places among the categories, the next place for a category never seen."""
        nothing = Note(self.name)
        if self.kind == NOTHING or cells.missing.all():  # nothing was learnt of it, or there is nothing to tell
            return np.full(len(cells.values), np.nan), nothing
        if self.kind == CATEGORY:
            self._require_words_or_numbers(cells)
            return self._places(cells, float(len(self.categories))), nothing
        if self.kind == ORDERED and cells.kind in (ORDERED, CATEGORY, TEXT):
            return self._ordered(cells), nothing
        if self.kind == NUMBER and cells.kind == TEXT:
            return self._from_text(cells)
        dates = text_dates(cells.values) if self.kind == DATE and cells.kind == TEXT else None
        if dates is not None:
            return days_of(dates.values), Note(self.name, dates.missing)
        if cells.kind != self.kind:
            raise self._changed("holds words" if cells.kind == CATEGORY else f"holds {IN_WORDS[cells.kind]}")
        return self._finite(cells.values), nothing

    def values(self, numbers: Array) -> npt.NDArray[Any]:
        """Return what was written where :meth:`numbers` found these, None where a cell is missing."""
        if self.kind == DATE:
            whole = (86400 * np.nan_to_num(numbers)).round().astype("datetime64[s]").tolist()
            return as_objects([None if day != day else moment for day, moment in zip(numbers, whole, strict=True)])
        if not self.categories:
            return as_objects([None if number != number else number for number in numbers.tolist()])
        return as_objects([None if place != place else self._category(int(place)) for place in numbers.tolist()])

    def _category(self, place: int) -> Any:
        return self.categories[place] if place < len(self.categories) else None

    def _from_text(self, cells: Cells) -> tuple[Array, Note]:
        numbers = text_numbers(cells.values, cells.decimal)
        if numbers is None:
            texts = (value for value in cells.values if isinstance(value, str))
            words = dict.fromkeys(text for text in texts if not may_be_number(text, cells.decimal))
            raise self._changed(f"holds words ({some(map(repr, words))})")
        if numbers.percent.any() and self.percent_unit is None:
            raise self._changed("holds numbers with a percent sign", "numbers without the sign")
        return self._finite(numbers.in_units(self.percent_unit)), _note(self.name, cells, numbers, self.percent_unit)

    def _places(self, cells: Cells, unseen: float) -> Array:
        """Return the places of the cells among the categories."""
        place = {category: float(k) for k, category in enumerate(self.categories)}
        pairs = zip(_named_values(cells), cells.missing, strict=True)
        return np.array([np.nan if gone else place.get(value, unseen) for value, gone in pairs])

    def _ordered(self, cells: Cells) -> Array:
        places = self._places(cells, -1.0)
        if (places < 0.0).any():
            stranger = _named_values(cells)[int(np.argmax(places < 0.0))]
            known = ", ".join(map(repr, self.categories))
            raise self._changed(f"holds {stranger!r}, which has no place among {known}")
        return places

    def _require_words_or_numbers(self, cells: Cells) -> None:
        """Raise if the categories are words and the cells numbers, or vice versa."""
        before = {isinstance(category, str) for category in self.categories}
        now = {isinstance(value, str) for value in _named_values(cells)[~cells.missing]}
        if len(before) == len(now) == 1 and before != now:
            raise self._changed("holds words" if True in now else "holds numbers")

    def _finite(self, values: Array) -> Array:
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise InvalidInputError(
                f"X, {self.where}", Finding(f"holds infinity in row {row}"), "finite numbers, or NaN for none"
            )
        return values

    def _changed(self, found: str, expected: str | None = None) -> InvalidInputError:
        held = f"{IN_WORDS[self.kind]}" + (f" such as {self.categories[0]!r}" if self.categories else "")
        return InvalidInputError(f"X, {self.where}", Finding(found), f"{expected or held}, as in training")


class LearntColumn(NamedTuple):
    """A column, its cells as what it is, and how they were taken."""

    column: Column
    cells: Cells
    note: Note


def _note(name: str | int, cells: Cells, numbers: TextNumbers, percent_unit: float | None) -> Note:
    percent = ""
    if numbers.percent.any():
        i = int(np.argmax(numbers.percent))
        percent = f"{cells.values[i]!r} as {numbers.in_units(percent_unit)[i]:g}"
    return Note(name, numbers.missing, numbers.limits, percent)


def _words_are_no_numbers(name: str | int) -> InvalidInputError:
    return InvalidInputError(
        f"X, column {name!r}",
        Finding("holds words"),
        f"numbers, or a place among categorical_features ({FROM_DTYPE!r} takes words for categories)",
    )


def _categories(cells: Cells) -> tuple[Any, ...]:
    """Return the different values, sorted; those of different types by type first."""
    found = set(_named_values(cells)[~cells.missing])
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


def _named_values(cells: Cells) -> npt.NDArray[Any]:
    """Return values that can be compared with those of another table; a missing one is None or NaN."""
    if cells.kind == ORDERED:
        return as_objects([None if place != place else cells.levels[int(place)] for place in cells.values])
    if cells.values.dtype != object:
        return cells.values.astype(object)
    return as_objects([None if value is None else plain(value) for value in cells.values])
