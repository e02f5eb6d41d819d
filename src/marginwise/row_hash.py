"""Numbers of rows that depend on nothing but what they hold: for random rows whoever reads them, and for equal ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Indices
from marginwise.covariance.blocks import as_blocks


def hash_rows(X: Array, seed: int) -> npt.NDArray[np.uint64]:
    """Return a number for each row that looks random, equal for equal rows."""
    return _mixed((np.ascontiguousarray(X) + 0.0).view(np.uint64), np.uint64(seed))  # + 0.0: there is only one zero


def group_ids(X: Any) -> Indices:
    """Return a number for each row, equal for equal rows and no others; rows elsewhere are told apart by 64 bits."""
    if isinstance(X, np.ndarray):
        missing = np.isnan(X)
        if missing.any():  # NaN is equal to nothing
            X = np.hstack([np.where(missing, 0.0, X), missing])
        return np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    return _numbered(np.concatenate(as_blocks(X).map(hash_rows, 0)))


def joint_ids(inputs: Indices, labels: Indices) -> Indices:
    """Return numbers 0, 1, … that are equal for rows with the same input and label, from numbers of the inputs."""
    return _numbered(inputs * (int(labels.max()) + 1) + labels)


def _numbered(values: npt.NDArray[Any]) -> Indices:
    """Return numbers 0, 1, … that are equal where values are; where all differ, in the order that they have."""
    ordered = np.sort(values)
    if (ordered[1:] != ordered[:-1]).all():  # found with a third of the memory
        return np.arange(len(values))
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def repeats_of(inputs: Indices, labels: Indices) -> Indices | None:
    """Return :func:`joint_ids`; None when all rows differ."""
    groups = joint_ids(inputs, labels)
    return None if groups.max() == len(groups) - 1 else groups


def first_rows(groups: Indices) -> tuple[Indices, Indices]:
    """Return the first row of each group, in the order of the rows, and the place of each row's group among these."""
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[numbers.reshape(-1)]


def totals(groups: Indices, column: Array) -> Array:
    """Return the sum of a column over the rows of each group."""
    return np.asarray(np.bincount(groups, column), dtype=float)


def draw_rows(numbers: npt.NDArray[np.uint64], codes: Indices, size: int) -> Indices:
    """Return the rows of the smallest numbers: ``size`` different ones, the classes in their proportion.

    At least one of each class is among them, and equal rows of a class all are or none is.
    """
    classes = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    different = [np.unique(numbers[rows]) for rows in classes]
    n = sum(map(len, different))
    size = min(size, n)
    chosen = [
        rows[numbers[rows] <= smallest[max(1, round(size * len(smallest) / n)) - 1]]
        for rows, smallest in zip(classes, different, strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def _mixed(bits: npt.NDArray[np.uint64], seed: np.uint64) -> npt.NDArray[np.uint64]:
    """Return SplitMix64 (Steele, Lea & Flood 2014) of the bits of each row, one number after the other."""
    state = np.full(len(bits), seed, dtype=np.uint64)
    for column in bits.T:
        state = (state ^ column) + np.uint64(0x9E3779B97F4A7C15)  # arrays wrap around, as it is meant
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state
