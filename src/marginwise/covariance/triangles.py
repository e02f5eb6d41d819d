"""Triangles and symmetric matrices of which half is filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs, lapack

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled

#: LAPACK inverts triangles of this size well; larger ones are split in two, so that matrix products do the work.
_LEAF = 80


def mirrored(lower: Array) -> Array:
    """Return the symmetric matrix with this lower triangle."""
    return scaled(lower, np.ones(len(lower), lower.dtype))


def scaled(lower: Array, scale: Array, mirror: bool = True) -> Array:
    """Return s_i A_ij s_j, A the symmetric matrix with this lower triangle (Fortran order), or its lower half alone."""
    full = np.empty_like(lower, order="F")
    _fill_scaled(lower, scale, mirror, full)
    return full


def inverse_triangle(L: Array) -> Array:
    """Return the inverse of a lower triangle; what stands above the diagonal is neither read nor cleared."""
    n = len(L)
    if n <= _LEAF:
        inverse, _ = get_lapack_funcs("trtri", (L,))(L, lower=1)
        return np.asarray(inverse)
    half = n // 2
    inverse, trmm = np.empty((n, n), L.dtype, order="F"), get_blas_funcs("trmm", (L,))
    inverse[:half, :half] = upper = inverse_triangle(L[:half, :half])
    inverse[half:, half:] = lower = inverse_triangle(L[half:, half:])
    corner = trmm(-1.0, upper, L[half:, :half], side=1, lower=1)
    inverse[half:, :half] = trmm(1.0, lower, corner, lower=1, overwrite_b=1)
    return inverse


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """kᵀWk of many k. Build it with :meth:`of`.

    Attributes
    ----------
    matrix : array of shape (n, n)
        R, lower triangular, RRᵀ = W, because |Rᵀk|² takes half the time; W itself where it has no such root.
    is_root : bool
        Which of the two it is.
    """

    matrix: Array
    is_root: bool

    @classmethod
    def of(cls, W: Array) -> QuadraticForm:
        """Return the form of a symmetric matrix, in double precision: its values are taken from nearly as much."""
        root, failed = lapack.dpotrf(W.T, lower=1, clean=1)
        return cls(W.astype(float, copy=False), False) if failed else cls(root, True)

    def astype(self, dtype: np.dtype[Any]) -> QuadraticForm:
        """Return the form in another precision."""
        return replace(self, matrix=self.matrix.astype(dtype, copy=False))

    def __call__(self, rows: Array) -> Array:
        """Return the values for the rows of a matrix."""
        image = by_triangle(rows, self.matrix, transposed=True) if self.is_root else rows @ self.matrix
        return np.einsum("ij,ij->i", image, image if self.is_root else rows)


def by_triangle(rows: Array, lower: Array, *, transposed: bool = False) -> Array:
    """Return Lx, or Lᵀx, for each row x of a matrix, L a lower triangle; double precision if one of both has it."""
    trmm, trmv = get_blas_funcs(("trmm", "trmv"), (lower, rows))
    if len(rows) == 1:  # a vector is half the work of a matrix with one column
        return np.asarray(trmv(lower, rows[0], lower=1, trans=int(transposed)))[None]
    return np.asarray(trmm(1.0, lower, rows.T, lower=1, trans_a=int(transposed)).T)


def symmetric(lower: Array) -> Array:
    """Return the symmetric matrix with this lower triangle; what stands above the diagonal is not read."""
    return np.tril(lower) + np.tril(lower, -1).T


def weighted_gram(V: Array, x: Array) -> Array:
    """Return the lower triangle of Vᵀdiag(x)V; rows with negative x go apart, so that each part is a square."""
    syrk = get_blas_funcs("syrk", (V,))
    total = np.zeros((V.shape[1], V.shape[1]), V.dtype, order="F")
    for sign in (1.0, -1.0):
        chosen = sign * x > 0.0
        if chosen.any():
            roots = np.sqrt(sign * x[chosen]).astype(V.dtype, copy=False)
            scaled = (V if chosen.all() else V[chosen]) * roots[:, None]
            syrk(sign, scaled.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    return total


@compiled
def _fill_scaled(lower: Array, scale: Array, mirror: bool, full: Array) -> None:
    n = len(lower)
    block = 32  # the mirrored entries of a block stay in the cache
    for start in range(0, n, block):
        stop = start + block if start + block < n else n
        for low in range(start, n, block):
            high = low + block if low + block < n else n
            for j in range(start, stop):
                for i in range(low if low > j else j, high):
                    value = lower[i, j] * scale[i] * scale[j]
                    full[i, j] = value
                    if mirror:
                        full[j, i] = value
