"""The columns of a table, whatever holds them: pandas, polars, or an array of numbers or objects.

Neither pandas nor polars is imported: what they hold is recognised by its type's name.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Mask
from marginwise.errors import Finding, InvalidInputError

#: What columns can be. Truth values are the numbers 0 and 1.
NUMBER, DATE, CATEGORY, ORDERED, NOTHING = "number", "date", "category", "ordered category", "nothing"

#: Cells of text, and numbers among it: what they are is found when a schema is learnt, or is what the schema says.
TEXT = "text"

#: How kinds are called in messages.
IN_WORDS = {NUMBER: "numbers", DATE: "dates", CATEGORY: "categories", ORDERED: "ordered categories", TEXT: "words"}

#: Types of pandas for cells that are missing, which compare with nothing.
_MISSING = {"NAType", "NaTType"}

#: Types of cells that are numbers, and of other cells that a column may hold.
_NUMBERS = Real | Decimal | bool | np.bool_
_NO_NUMBERS = (str, datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)

_DAY = np.timedelta64(1, "D")


class Cells(NamedTuple):
    """One column of a table as it came.

    ``values`` are numbers, NaN where a cell is missing; or objects, None where one is. ``levels`` are the values of an
    ordered category, lowest first: its numbers are places among them. ``decimal`` is the decimal sign of text.
    """

    kind: str
    values: npt.NDArray[Any]
    levels: tuple[Any, ...] = ()
    decimal: str = "."

    @property
    def missing(self) -> Mask:
        """Which cells are missing."""
        if self.values.dtype == object:
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values)


def is_frame(X: Any) -> bool:
    """Return whether this is a data frame of pandas or polars."""
    return type(X).__module__.split(".")[0] in ("pandas", "polars") and type(X).__name__ == "DataFrame"


def is_lazy(X: Any) -> bool:
    """Return whether this is a query of polars, which holds no rows yet."""
    return type(X).__module__.split(".")[0] == "polars" and type(X).__name__ == "LazyFrame"


def is_of_objects(X: Any) -> bool:
    """Return whether an array, or lists that could be one, hold words or other cells that are not numbers."""
    array = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "OU":
        return False
    return any(issubclass(kind, _NO_NUMBERS) or _is_nothing(kind) for kind in set(map(type, array.flat)))


def columns_of(X: Any) -> Iterator[tuple[str | int, Cells]]:
    """Yield the name, or the place where it has none, and the cells of each column of a data frame or an array."""
    if is_frame(X):
        is_pandas = hasattr(X, "iloc")
        read = _of_pandas if is_pandas else _of_polars
        for name, series in X.items() if is_pandas else zip(X.columns, X.iter_columns(), strict=True):
            yield str(name), read(series, str(name))
        return
    array = np.asarray(X) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else np.asarray(X, dtype=object)
    for j, column in enumerate(array.T):
        yield j, Cells(NUMBER, column) if column.dtype.kind == "f" else of_objects(column, j)


def of_objects(values: npt.NDArray[Any], name: str | int) -> Cells:
    """Return cells held as objects as what their types say; dates among numbers, say, are refused."""
    kinds = set(map(type, values))
    present = {kind for kind in kinds if not _is_nothing(kind)}
    missing = _missing(values) if len(present) < len(kinds) or float in kinds or np.float64 in kinds else None
    if missing is not None and missing.any():
        values = values.copy()
        values[missing] = None
        present = set(map(type, values)) - {type(None)}
    if not present:
        return Cells(NOTHING, np.full(len(values), np.nan))
    if any(issubclass(kind, str) for kind in present) and all(issubclass(kind, str | _NUMBERS) for kind in present):
        return Cells(TEXT, values)
    if all(issubclass(kind, _NUMBERS) for kind in present):
        return Cells(NUMBER, np.array([np.nan if cell is None else float(cell) for cell in values], dtype=float))
    if all(issubclass(kind, datetime.date | np.datetime64) for kind in present):
        return Cells(DATE, days_of(values))
    if all(issubclass(kind, datetime.timedelta | np.timedelta64) for kind in present):
        return Cells(DATE, days(np.array(values.tolist(), dtype="timedelta64[us]")))
    found = ", ".join(sorted(kind.__name__ for kind in present))
    raise InvalidInputError(
        f"X, column {name!r}",
        Finding(f"has cells of types {found}"),
        "numbers, words or dates, and not several of them in a column (empty cells are None or NaN)",
    )


def days_of(dates: npt.NDArray[Any]) -> Array:
    """Return dates held as objects as numbers of days since 1970, NaN where there is none."""
    moments = [np.datetime64("NaT", "us") if date is None else _moment(date) for date in dates]
    return days(np.array(moments, dtype="datetime64[us]"))


def days(moments: npt.NDArray[Any]) -> Array:
    """Return dates as numbers of days since 1970, durations as days; NaN where there is none."""
    known = ~np.isnat(moments)
    numbers = np.full(len(moments), np.nan)
    zero = np.timedelta64(0, "us") if moments.dtype.kind == "m" else np.datetime64(0, "us")
    numbers[known] = (moments[known] - zero) / _DAY
    return numbers


def _of_pandas(series: Any, name: str) -> Cells:
    kind = series.dtype.kind if hasattr(series.dtype, "kind") else "O"
    if hasattr(series.dtype, "categories") and hasattr(series.dtype, "ordered"):
        if series.dtype.ordered:
            codes = series.cat.codes.to_numpy().astype(float)
            return Cells(ORDERED, np.where(codes < 0, np.nan, codes), tuple(map(plain, series.dtype.categories)))
        return Cells(CATEGORY, _objects(series))
    if kind in "biuf":
        return Cells(NUMBER, series.to_numpy(dtype=float, na_value=np.nan))
    if kind in "mM":
        moments = series.dt.tz_convert(None) if getattr(series.dtype, "tz", None) is not None else series
        return Cells(DATE, days(moments.to_numpy(dtype=f"{'timedelta64' if kind == 'm' else 'datetime64'}[us]")))
    return of_objects(_objects(series), name)


def _of_polars(series: Any, name: str) -> Cells:
    kind = type(series.dtype).__name__ if not isinstance(series.dtype, type) else series.dtype.__name__
    if series.dtype.is_numeric() or kind in ("Boolean", "Null"):
        return Cells(NUMBER, np.array(series.to_list(), dtype=float))
    if kind in ("Categorical", "Enum"):
        return Cells(CATEGORY, as_objects(series.to_list()))
    if kind == "Duration":
        return Cells(DATE, days(np.array(series.to_list(), dtype="timedelta64[us]")))
    return of_objects(as_objects(series.to_list()), name)


def _objects(series: Any) -> npt.NDArray[Any]:
    """Return the cells of a pandas series, None where they are missing."""
    values = as_objects(series.astype(object).to_list())
    values[series.isna().to_numpy()] = None
    return values


def as_objects(cells: Sequence[Any]) -> npt.NDArray[Any]:
    """Return an array of these objects with one axis, whatever they are."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def plain(value: Any) -> Any:
    """Return a value as one of Python's own strings, numbers and truth values, which any file can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return str(value)
    return value if isinstance(value, bool | int | float) else str(value)


def _moment(cell: Any) -> np.datetime64:
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.array([_is_nothing(type(cell)) or (isinstance(cell, float) and cell != cell) for cell in values])


def _is_nothing(kind: type) -> bool:
    return kind is type(None) or kind.__name__ in _MISSING
