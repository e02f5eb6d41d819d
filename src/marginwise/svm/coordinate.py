"""Coordinate descent for the quadratic programme of the SVM, steepest coordinate first.

All solvers work on the signed variables β = y∘α, which spare every product with labels:

    minimise  ½ βᵀQβ - yᵀβ   over   lower ≤ β ≤ upper,   gradient Qβ - y,

the duals (linear_problem) and (quadratic_problem) of the paper with Q = K or K + diag(1/C_i).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector


class Programme(NamedTuple):
    """½βᵀQβ - yᵀβ over the box lower ≤ β ≤ upper.

    ``Q`` is given without what quadratic slack adds to its diagonal, so that a Gram matrix serves for both slacks;
    ``diagonal`` is the whole diagonal.
    """

    Q: Array
    diagonal: Array
    lower: Array
    upper: Array


@compiled_vector
def descend(programme: Programme, beta: Array, gradient: Array, tolerance: float, max_steps: int) -> int:
    """Minimise exactly along the steepest coordinate, again and again; return the number of steps.

    Ends when no movable coordinate has a gradient above ``tolerance``. The rows of Q are read one at a time, and
    only those of coordinates that move. ``beta`` and ``gradient`` are changed in place.
    """
    Q, diagonal, lower, upper = programme
    n = len(beta)
    slope = np.empty(n)  # the gradient of coordinates that can follow it, 0 for the others
    for j in range(n):
        slope[j] = _movable(gradient[j], beta[j], lower[j], upper[j])
    for step in range(max_steps):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(slope[j]))
        if largest <= tolerance:
            return step
        best = 0
        while best < n - 1 and abs(slope[best]) != largest:
            best += 1
        target = min(max(beta[best] - gradient[best] / diagonal[best], lower[best]), upper[best])
        move = target - beta[best]
        beta[best] = target
        row = Q[best]
        for j in range(n):
            value = gradient[j] + move * row[j]
            gradient[j] = value
            slope[j] = _movable(value, beta[j], lower[j], upper[j])
        gradient[best] += move * (diagonal[best] - row[best])
        slope[best] = _movable(gradient[best], target, lower[best], upper[best])
    return max_steps


@compiled_vector
def _movable(gradient: float, beta: float, lower: float, upper: float) -> float:
    """Return the gradient if β can go against it, else 0."""
    down = gradient if beta > lower else 0.0  # a positive gradient asks for a smaller β
    up = gradient if beta < upper else 0.0
    return max(down, 0.0) + min(up, 0.0)


@compiled_vector
def largest_violation(lower: Array, upper: Array, beta: Array, gradient: Array) -> float:
    """Return the largest amount by which a gradient component contradicts optimality."""
    largest = 0.0
    for j in range(len(beta)):
        largest = max(largest, abs(_movable(gradient[j], beta[j], lower[j], upper[j])))
    return largest


@compiled_vector
def add_row(row: Array, factor: float, total: Array) -> None:
    """Add ``factor`` times ``row`` to ``total``."""
    for j in range(len(total)):
        total[j] += factor * row[j]
