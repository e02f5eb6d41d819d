"""Rows that follow each other and are far more alike than others: they may belong together, though nobody said so.

In a table whose order tells nothing, the row that is nearest to another is as likely here as there. Looked at are rows
of one class at a time, because tables are often sorted by class, and not those that are equal: copies are left out
together as it is. If any column rises or falls from row to row, the table is sorted by it, and nothing is said.
"""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array, Indices, Mask

#: Rows that are looked at, in runs of so many.
_MOST_ROWS, _RUN = 1500, 100

#: Places in the order of a class within which the nearest row may be, and the largest share of all that these may be.
_PLACES, _LARGEST_SHARE = (1, 2, 4, 8, 16, 32, 64), 0.2

#: The share of rows whose nearest is so near, and by what factor it must exceed that of a random order.
_SHARE, _FACTOR = 0.25, 12.0

#: Fewest rows with a nearest one that tell anything, and the fewest of a class.
_FEWEST, _FEWEST_OF_CLASS = 50, 20

#: Steps from row to row, without those of 0, of which this share has one sign if a column is sorted.
_SORTED, _FEWEST_STEPS = 0.95, 20

ALIKE = (
    "rows that follow each other are far more alike than others: if they belong together, as visits of a patient or "
    "parts of a recording do, say so (groups=…, or --groups COLUMN), or what is expected on new data is too good"
)


def alike_in_runs(X: Array, codes: Indices, order: Indices) -> bool:
    """Return whether rows that follow each other in this order are so much more alike than others of their class."""
    rows = order[_runs(len(order))]
    X, codes = X[rows], codes[rows]
    if len(X) < _FEWEST or any(map(_is_sorted, X.T)):
        return False
    near = [_distances(X[own]) for own in map(np.flatnonzero, _each(codes)) if len(own) >= _FEWEST_OF_CLASS]
    number = sum(len(steps) for steps, _ in near)
    if number < _FEWEST:
        return False
    for places in _PLACES:
        expected = sum(len(steps) * min(1.0, 2.0 * places / (n - 1.0)) for steps, n in near) / number
        share = sum(np.count_nonzero(steps <= places) for steps, _ in near) / number
        if share >= _SHARE and share >= _FACTOR * expected and expected <= _LARGEST_SHARE:
            return True
    return False


def _runs(n: int) -> Indices:
    """Return the rows to look at: all, or some at even steps, each with those that follow it."""
    if n <= _MOST_ROWS:
        return np.arange(n)
    starts = np.linspace(0, n - _RUN, _MOST_ROWS // _RUN).astype(int)
    return np.unique(starts[:, None] + np.arange(_RUN))


def _each(codes: Indices) -> list[Mask]:
    return [codes == code for code in np.unique(codes)]


def _is_sorted(column: Array) -> bool:
    steps = np.diff(column)
    up, down = np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)
    return bool(up + down >= _FEWEST_STEPS and max(up, down) >= _SORTED * (up + down))


def _distances(X: Array) -> tuple[Indices, int]:
    """Return how many places away the nearest row is that is not equal, for rows that have one, and the number of all.

    Of several that are as near it is the one in the middle: what columns of few values make equal tells nothing.
    """
    square = np.einsum("ij,ij->i", X, X)
    apart = square[:, None] + square - 2.0 * (X @ X.T)
    apart[apart <= 1e-9 * square.max()] = np.inf
    smallest = apart.min(axis=1)
    rows = np.flatnonzero(np.isfinite(smallest))
    steps = np.abs(np.arange(len(X)) - rows[:, None]).astype(float)
    steps[apart[rows] > smallest[rows, None] * (1.0 + 1e-9)] = np.nan
    return np.nanmedian(steps, axis=1).astype(np.intp), len(X)
