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

from marginwise._arrays import Array
from marginwise.errors import InvalidInputError

#: What cells can be. Truth values are the numbers 0 and 1.
NUMBER, DATE, CATEGORY, ORDERED, NOTHING = "number", "date", "category", "ordered category", "nothing"

#: How kinds are called in messages.
IN_WORDS = {NUMBER: "numbers", DATE: "dates", CATEGORY: "categories", ORDERED: "ordered categories"}

#: Types of pandas for cells that are missing, which compare with nothing.
_MISSING = {"NAType", "NaTType"}

#: Types of cells that are no numbers, and that a column may hold all the same.
_NO_NUMBERS = (str, datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)

_DAY = np.timedelta64(1, "D")


class Cells(NamedTuple):
    """One column of a table as it came.

    ``values`` are numbers, NaN where a cell is missing; or objects, None where one is. ``levels`` are the values of an
    ordered category, lowest first: its numbers are places among them.
    """

    kind: str
    values: npt.NDArray[Any]
    levels: tuple[Any, ...] = ()


def is_frame(X: Any) -> bool:
    """Say whether this is a data frame of pandas or polars."""
    return type(X).__module__.split(".")[0] in ("pandas", "polars") and type(X).__name__ == "DataFrame"


def is_of_objects(X: Any) -> bool:
    """Say whether an array, or lists that could be one, hold words or other cells that are no numbers."""
    array = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "OU":
        return False
    return any(issubclass(kind, _NO_NUMBERS) or _is_nothing(kind) for kind in set(map(type, array.flat)))


def columns_of(X: Any) -> Iterator[tuple[str, Cells]]:
    """Yield the name and the cells of each column of a data frame or of an array with two axes."""
    if is_frame(X):
        read = _of_pandas if type(X).__module__.split(".")[0] == "pandas" else _of_polars
        for j, name in enumerate(X.columns):
            yield _named(str(name)), read(X.iloc[:, j] if hasattr(X, "iloc") else X[name], _named(str(name)))
        return
    array = np.asarray(X) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else np.asarray(X, dtype=object)
    for j, column in enumerate(array.T):
        yield f"column {j}", Cells(NUMBER, column) if column.dtype.kind == "f" else of_objects(column, f"column {j}")


def of_objects(values: npt.NDArray[Any], where: str) -> Cells:
    """Return cells held as objects as what they are; words among numbers are refused."""
    kinds = set(map(type, values))
    present = {kind for kind in kinds if not _is_nothing(kind)}
    missing = _missing(values) if len(present) < len(kinds) or float in kinds or np.float64 in kinds else None
    if missing is not None and missing.any():
        values = values.copy()
        values[missing] = None
        present = set(map(type, values)) - {type(None)}
    if not present:
        return Cells(NOTHING, np.full(len(values), np.nan))
    if all(issubclass(kind, str) for kind in present):
        return Cells(CATEGORY, values)
    if all(issubclass(kind, Real | Decimal | bool | np.bool_) for kind in present):
        return Cells(NUMBER, np.array([np.nan if cell is None else float(cell) for cell in values], dtype=float))
    if all(issubclass(kind, datetime.date | np.datetime64) for kind in present):
        moments = [np.datetime64("NaT", "us") if cell is None else _moment(cell) for cell in values]
        return Cells(DATE, days(np.array(moments, dtype="datetime64[us]")))
    if all(issubclass(kind, datetime.timedelta | np.timedelta64) for kind in present):
        return Cells(DATE, days(np.array(values.tolist(), dtype="timedelta64[us]")))
    found = ", ".join(sorted(kind.__name__ for kind in present))
    raise InvalidInputError(
        where,
        f"cells of types {found}",
        "numbers, words or dates, and not several of them in a column (empty cells are None or NaN)",
    )


def days(moments: npt.NDArray[Any]) -> Array:
    """Return dates as numbers of days since 1970, durations as days; NaN where there is none."""
    known = ~np.isnat(moments)
    numbers = np.full(len(moments), np.nan)
    zero = np.timedelta64(0, "us") if moments.dtype.kind == "m" else np.datetime64(0, "us")
    numbers[known] = (moments[known] - zero) / _DAY
    return numbers


def _of_pandas(series: Any, where: str) -> Cells:
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
    return of_objects(_objects(series), where)


def _of_polars(series: Any, where: str) -> Cells:
    name = type(series.dtype).__name__ if not isinstance(series.dtype, type) else series.dtype.__name__
    if series.dtype.is_numeric() or name in ("Boolean", "Null"):
        return Cells(NUMBER, np.array(series.to_list(), dtype=float))
    if name in ("Categorical", "Enum", "String"):
        return Cells(CATEGORY, as_objects(series.to_list()))
    if name == "Duration":
        return Cells(DATE, days(np.array(series.to_list(), dtype="timedelta64[us]")))
    return of_objects(as_objects(series.to_list()), where)


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


def _named(name: str) -> str:
    return f"column {name!r}"
