"""Cholesky factors L Lᵀ of a block of Q that loses and gains rows one at a time; all O(m²).

``L`` holds the factor in its first m rows and columns, row by row; ``order[:m]`` says which rows of Q they are.
"""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import compiled_vector


@compiled_vector
def append(L: Array, order: Indices, m: int, Q: Array, index: int, diagonal: float) -> bool:
    """Add row ``index`` of Q, with the given diagonal element, as row m; False if the block became singular."""
    source, row = Q[index], L[m]
    rest = diagonal
    for i in range(m):
        previous = L[i]
        value = source[order[i]]
        for j in range(i):
            value -= previous[j] * row[j]
        value /= previous[i]
        row[i] = value
        rest -= value * value
    order[m] = index
    # A pivot this small is rounding: the new row depends on the others.
    if rest <= 1e-14 * diagonal:
        return False
    row[m] = np.sqrt(rest)
    return True


@compiled_vector
def remove(L: Array, order: Indices, m: int, k: int) -> None:
    """Take out row ``k``: the rows below move up and are made triangular again by plane rotations of columns.

    Row by row, each through all rotations so far, because rows are what lies together in memory.
    """
    cosine, sine = np.empty(m), np.empty(m)
    for i in range(k, m - 1):
        order[i] = order[i + 1]
        source, row = L[i + 1], L[i]
        for j in range(k):
            row[j] = source[j]
        carried = source[k]
        for j in range(k, i):
            right = source[j + 1]
            row[j] = cosine[j] * carried + sine[j] * right
            carried = cosine[j] * right - sine[j] * carried
        last = source[i + 1]
        radius = np.sqrt(carried * carried + last * last)
        cosine[i], sine[i] = carried / radius, last / radius
        row[i] = radius


@compiled_vector
def solve_in_place(L: Array, m: int, x: Array) -> None:
    """Replace the first m elements of ``x`` by the solution of L Lᵀ z = x."""
    for i in range(m):
        row = L[i]
        value = x[i]
        for j in range(i):
            value -= row[j] * x[j]
        x[i] = value / row[i]
    for i in range(m - 1, -1, -1):
        row = L[i]
        value = x[i] / row[i]
        x[i] = value
        for j in range(i):
            x[j] -= row[j] * value
