"""The Cholesky factor of a symmetric positive definite matrix, and what criteria ask of it: ln det(I + LK), too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector
from marginwise.covariance.triangles import inverse_triangle, mirrored

NOT_POSITIVE_DEFINITE = (
    "the determinant of I + LK could not be computed: the Gram matrix is so close to singular that rounding makes "
    "it indefinite; a smaller C·k0 or shorter length scales help"
)


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


@dataclass(frozen=True, eq=False)
class Determinant:
    """ln det(I + LK), L = diag(root²), by the factor of B = I + √L K √L."""

    K: Array
    root: Array
    factor: Factor

    @property
    def log_det(self) -> float:
        """ln det(I + LK)."""
        return self.factor.log_det

    def slopes(self) -> tuple[Array, Array]:
        """Return its derivatives in K and, for each point, half of that in √L."""
        inverse = self.factor.inverse()
        # S = (K⁻¹ + L)⁻¹ has √L S = B⁻¹√L K and √L S √L = I - B⁻¹; ½ ∂ln det/∂√L_i = √L_i S_ii is taken from the
        # one in which no digits cancel.
        share = 1.0 - inverse.diagonal()
        small = share < 0.5
        indirect = np.einsum("ij,j,ij->i", inverse, self.root, self.K)
        root_slope = np.where(small, indirect, share / np.where(small, 1.0, self.root))
        inverse *= self.root[:, None]
        inverse *= self.root
        return inverse, root_slope


def determinant(K: Array, root: Array) -> Determinant | None:
    """Return ln det(I + LK), L = diag(root²), or None if rounding makes B = I + √L K √L indefinite."""
    B = K * root
    B *= root[:, None]
    B.flat[:: len(B) + 1] += 1.0
    factor = factorise(B)
    return None if factor is None else Determinant(K, root, factor)


@compiled_vector
def _squared_columns(lower: Array) -> Array:
    """Return the sums of squares down the columns of a lower triangle in Fortran order."""
    n = len(lower)
    sums = np.zeros(n)
    for j in range(n):
        for i in range(j, n):
            sums[j] += lower[i, j] * lower[i, j]
    return sums
