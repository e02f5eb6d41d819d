"""The largest value of a function of few numbers within bounds, by Newton's method with halted steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Mask

#: Steps of Newton's method, and times that one of them is made a quarter as long; the longest change of a number.
_MAX_STEPS, _MAX_CUTS, _LONGEST = 50, 12, 2.0


class Height(NamedTuple):
    """A value with its first and second derivatives."""

    value: float
    slope: Array
    curvature: Array


def climbed(
    height: Callable[[Array], Height],
    begin: Array,
    bounds: Array,
    moving: Mask,
    tolerance: float,
) -> Array:
    """Return where Newton's method ends, moving some of the numbers within bounds, shape (2, k).

    It has arrived when a step gains less than ``tolerance`` in units of the value.
    """
    lower, upper = bounds
    position, here = begin, height(begin)
    for _ in range(_MAX_STEPS):
        step, gain = _newton_step(position, here, bounds, moving)
        if gain < tolerance * (1.0 + abs(here.value)):  # below rounding soon: a last step is taken on trust
            return np.clip(position + step, lower, upper)
        for _ in range(_MAX_CUTS):
            trial = np.clip(position + step, lower, upper)
            there = height(trial)
            if there.value >= here.value:
                break
            step *= 0.25
        else:
            return position
        position, here = trial, there
    return position


def _newton_step(position: Array, here: Height, bounds: Array, moving: Mask) -> tuple[Array, float]:
    """Return where Newton's method goes next, without what bounds hold back, and what it gains by that."""
    lower, upper = bounds
    slope = here.slope
    free = moving & ~(((position <= lower) & (slope < 0.0)) | ((position >= upper) & (slope > 0.0)))
    step = np.zeros(len(position))
    if free.any():
        values, vectors = np.linalg.eigh(-here.curvature[np.ix_(free, free)])
        # Where the function is not concave the curvature's size is what tells how far a step may go.
        size = np.maximum(np.abs(values), 1e-3)
        step[free] = vectors @ ((vectors.T @ slope[free]) / size)
    step *= min(1.0, _LONGEST / max(np.abs(step).max(), _LONGEST))
    return step, 0.5 * float(slope @ step)
