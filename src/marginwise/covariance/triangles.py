"""Triangles and symmetric matrices of which half is filled."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled

#: LAPACK inverts triangles of this size well; larger ones are split in two, so that matrix products do the work.
_LEAF = 80


def mirrored(lower: Array) -> Array:
    """Return the symmetric matrix with this lower triangle."""
    full = np.empty_like(lower, order="F")
    _mirror(lower, full)
    return full


def inverse_triangle(L: Array) -> Array:
    """Return the inverse of a lower triangle; what stands above the diagonal is neither read nor cleared."""
    n = len(L)
    if n <= _LEAF:
        inverse, _ = lapack.dtrtri(L, lower=1)
        return inverse
    half = n // 2
    inverse = np.empty((n, n), order="F")
    inverse[:half, :half] = upper = inverse_triangle(L[:half, :half])
    inverse[half:, half:] = lower = inverse_triangle(L[half:, half:])
    corner = blas.dtrmm(-1.0, upper, L[half:, :half], side=1, lower=1)
    inverse[half:, :half] = blas.dtrmm(1.0, lower, corner, lower=1, overwrite_b=1)
    return inverse


@compiled
def _mirror(lower: Array, full: Array) -> None:
    n = len(lower)
    block = 32
    for start in range(0, n, block):
        for j in range(start, min(start + block, n)):
            full[j, j] = lower[j, j]
        for low in range(start, n, block):
            for j in range(start, min(start + block, n)):
                for i in range(max(low, j + 1), min(low + block, n)):
                    full[i, j] = lower[i, j]
                    full[j, i] = lower[i, j]
