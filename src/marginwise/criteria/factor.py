"""The Cholesky factor of a symmetric positive definite matrix, and what criteria ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector
from marginwise.covariance.triangles import inverse_triangle, mirrored


@dataclass(frozen=True, eq=False)
class Factor:
    """A = LLᵀ; ``lower`` holds L, and anything above its diagonal. ``norm`` is the 1-norm of A."""

    lower: Array
    norm: float

    @property
    def log_det(self) -> float:
        """ln det A."""
        return 2.0 * float(np.log(self.lower.diagonal()).sum())

    @property
    def reciprocal_condition(self) -> float:
        """Estimate of 1/(|A| |A⁻¹|) in the 1-norm; 1 for the empty matrix."""
        return float(lapack.dpocon(self.lower, self.norm, uplo="L")[0]) if self.lower.size else 1.0

    def solve(self, right: Array) -> Array:
        """Return A⁻¹ times a vector or a matrix."""
        return lapack.dpotrs(self.lower, right, lower=1)[0] if self.lower.size else right.copy()

    @cached_property
    def _inverse_lower(self) -> Array:
        """L⁻¹, with anything above its diagonal."""
        return inverse_triangle(self.lower)

    @property
    def inverse_diagonal(self) -> Array:
        """The diagonal of A⁻¹ = L⁻ᵀL⁻¹, at half the cost of the whole."""
        return _squared_columns(self._inverse_lower) if self.lower.size else np.empty(0)

    def inverse(self) -> Array:
        """Return A⁻¹, both triangles."""
        if not self.lower.size:
            return self.lower.copy()
        return mirrored(lapack.dlauum(self._inverse_lower, lower=1)[0]).T  # the same matrix, by rows


def factorise(matrix: Array) -> Factor | None:
    """Return the factor of a symmetric matrix, or None if it is not positive definite to rounding.

    The memory of ``matrix`` is used for the factor.
    """
    if not matrix.size:
        return Factor(matrix, 1.0)
    norm = float(np.abs(matrix).sum(axis=0).max())
    lower, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    return None if failed or not np.isfinite(norm) else Factor(lower, norm)


@compiled_vector
def _squared_columns(lower: Array) -> Array:
    """Return the sums of squares down the columns of a lower triangle in Fortran order."""
    n = len(lower)
    sums = np.zeros(n)
    for j in range(n):
        for i in range(j, n):
            sums[j] += lower[i, j] * lower[i, j]
    return sums
