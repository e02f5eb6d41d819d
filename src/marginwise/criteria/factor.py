"""The Cholesky factor of a symmetric positive definite matrix, and what criteria ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

Array = npt.NDArray[np.float64]

#: Columns mirrored at a time; a block of them and its mirror image fit the cache.
_BLOCK = 128


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
    def inverse_lower(self) -> Array:
        """L⁻¹, with zeros above its diagonal; A⁻¹ = L⁻ᵀL⁻¹."""
        return np.tril(lapack.dtrtri(self.lower, lower=1)[0]) if self.lower.size else self.lower.copy()

    @property
    def inverse_diagonal(self) -> Array:
        """The diagonal of A⁻¹, at half the cost of the whole."""
        return np.einsum("ij,ij->j", self.inverse_lower, self.inverse_lower)

    def inverse(self) -> Array:
        """Return A⁻¹, both triangles."""
        if not self.lower.size:
            return self.lower.copy()
        inverse = lapack.dlauum(self.inverse_lower, lower=1)[0]
        for start in range(0, len(inverse), _BLOCK):
            stop = start + _BLOCK
            corner = inverse[start:stop, start:stop]
            corner[...] = np.tril(corner) + np.tril(corner, -1).T
            inverse[start:stop, stop:] = inverse[stop:, start:stop].T
        return inverse.T  # the same matrix, by rows


def factorise(matrix: Array) -> Factor | None:
    """Return the factor of a symmetric matrix, or None if it is not positive definite to rounding.

    The memory of ``matrix`` is used for the factor.
    """
    if not matrix.size:
        return Factor(matrix, 1.0)
    norm = float(np.abs(matrix).sum(axis=0).max())
    lower, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    return None if failed or not np.isfinite(norm) else Factor(lower, norm)
