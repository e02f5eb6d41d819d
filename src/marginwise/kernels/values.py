"""Values that hyperparameters can have, and inputs that share one because they belong to one column."""

from __future__ import annotations

import math

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import Finding, InvalidInputError

#: The number of the column that each input belongs to.
Ties = tuple[int, ...]

#: Hyperparameters are from 1/this to this, so that products of several, and scaled inputs, are finite.
LARGEST = 1e50


def positive(name: str, value: object) -> float:
    """Return a positive finite number, or raise."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise InvalidInputError(name, value, "a positive finite number")
    if not 1.0 / LARGEST <= number <= LARGEST:
        raise InvalidInputError(name, value, f"a number from {1.0 / LARGEST:g} to {LARGEST:g}")
    return number


def positives(name: str, values: object) -> tuple[float, ...]:
    """Return one or several positive finite numbers, or raise an error that names the wrong one."""
    if all_positive(values):  # thousands of numbers are not looked at one by one
        return tuple(values.tolist())  # type: ignore[attr-defined]
    entries = np.atleast_1d(np.asarray(values, dtype=object))
    if entries.ndim != 1 or entries.size == 0:
        raise InvalidInputError(name, values, "one positive number, or one for each input in a flat sequence")
    return tuple(positive(f"{name}[{a}]", value) for a, value in enumerate(entries))


def per_input(name: str, values: tuple[float, ...], n_inputs: int, ties: Ties | None = None) -> Array:
    """Return one value for each of ``n_inputs`` inputs; with ``ties``, that of its column."""
    if len(values) == 1:
        return np.full(n_inputs, values[0])
    number = n_inputs if ties is None else max(ties) + 1
    if len(values) != number:
        raise InvalidInputError(
            name, Finding(f"has {len(values)} values"), f"1 or {number} values, because X has {number} columns"
        )
    return np.array(values) if ties is None else by_input(np.array(values), n_inputs, ties)


def by_input(of_columns: Array, n_inputs: int, ties: Ties | None) -> Array:
    """Return the value of each input's column."""
    if ties is None:
        return of_columns
    check_tied(n_inputs, ties)
    return of_columns[list(ties)]


def check_tied(n_inputs: int, ties: Ties | None) -> None:
    """Raise unless there are as many inputs as have columns."""
    if ties is not None and len(ties) != n_inputs:
        raise InvalidInputError(
            "X", Finding(f"has {n_inputs} inputs"), f"{len(ties)}, those that the kernel was tied for"
        )


def by_column(of_inputs: Array, ties: Ties | None) -> Array:
    """Return the sums over the inputs of each column."""
    return of_inputs if ties is None else np.asarray(np.bincount(ties, of_inputs), dtype=float)


def checked_ties(columns: object) -> Ties | None:
    """Return the column of each input, which must be 0, 1, … in any order, or None."""
    if columns is None:
        return None
    ties = tuple(int(column) for column in np.asarray(columns).reshape(-1))
    if not ties or set(ties) != set(range(max(ties) + 1)):
        raise InvalidInputError("columns", columns, "the number of each input's column, from 0, without a gap")
    return ties


def all_positive(values: object) -> bool:
    """Return whether this is an array of numbers that hyperparameters can be."""
    if not isinstance(values, np.ndarray) or values.dtype != float or values.ndim != 1 or values.size == 0:
        return False
    return bool(((values >= 1.0 / LARGEST) & (values <= LARGEST)).all())
