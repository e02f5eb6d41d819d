"""Linear systems known by products with their matrix, solved by GMRES (Saad & Schultz 1986)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from marginwise._arrays import Array


def solve_krylov(product: Callable[[Array], Array], right: Array, accuracy: float, most: int) -> Array | None:
    """Return x with |Ax - right| ≤ accuracy |right|, or None if ``most`` products with A do not lead there.

    Written for a few steps on small vectors, where a general solver takes longer than the products: the rotations that
    keep the small system triangular are done on numbers.
    """
    n = len(right)
    most = min(most, n)
    norm = math.sqrt(right @ right)
    if not norm > 0.0:
        return np.zeros(n) if norm == 0.0 else None
    V = np.empty((most + 1, n))
    np.divide(right, norm, out=V[0])
    columns: list[list[float]] = []  # the upper triangle, after the rotations
    rotations: list[tuple[float, float]] = []
    rest = [norm]
    for k in range(most):
        w, basis = product(V[k]), V[: k + 1]
        h = basis @ w
        w -= h @ basis
        again = basis @ w  # twice, so that the vectors stay orthogonal to rounding
        w -= again @ basis
        column = (h + again).tolist()
        below = math.sqrt(w @ w)
        if not math.isfinite(below):
            return None
        for i, (cosine, sine) in enumerate(rotations):
            upper, lower = column[i], column[i + 1]
            column[i], column[i + 1] = cosine * upper + sine * lower, cosine * lower - sine * upper
        length = math.hypot(column[k], below)
        if length == 0.0:
            return None
        cosine, sine = column[k] / length, below / length
        column[k] = length
        columns.append(column)
        rotations.append((cosine, sine))
        rest.append(-sine * rest[k])
        rest[k] *= cosine
        if abs(rest[k + 1]) <= accuracy * norm:
            return _back_substituted(columns, rest) @ basis
        if below == 0.0:
            return None
        np.divide(w, below, out=V[k + 1])
    return None


def _back_substituted(columns: list[list[float]], rest: list[float]) -> Array:
    """Return the solution of the triangular system with these columns."""
    z = rest[: len(columns)]
    for k in range(len(z) - 1, -1, -1):
        z[k] /= columns[k][k]
        for i in range(k):
            z[i] -= columns[k][i] * z[k]
    return np.array(z)
