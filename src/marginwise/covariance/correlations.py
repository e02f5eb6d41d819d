"""Correlation matrices of a posterior: products with them, and the linear systems of Newton's method and of adjoints.

R is the correlation matrix with ``own`` on its diagonal, 0 or 1, and R∘R the matrix of its squares. The systems are
(I - M)x = y or (I - Mᵀ)x = y with

    M = ½ (diag(c₄) + diag(c₃) R diag(c₃)) (R∘R).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array
from marginwise.covariance.krylov import solve_krylov
from marginwise.covariance.triangles import scaled

#: Krylov vectors before a system is solved by elimination instead, or not at all.
_MAX_KRYLOV = 60


class Correlations(ABC):
    """R and R∘R, however they are kept."""

    @abstractmethod
    def times(self, x: Array) -> Array:
        """Return Rx."""

    @abstractmethod
    def times_squared(self, x: Array) -> Array:
        """Return (R∘R)x."""

    @abstractmethod
    def solve(self, third: Array, fourth: Array, right: Array, accuracy: float, *, transposed: bool) -> Array:
        """Return x of the system with these c₃ and c₄; NaN where there is none."""


@dataclass(frozen=True, eq=False)
class DenseCorrelations(Correlations):
    """Both matrices in memory."""

    R: Array
    R2: Array

    @classmethod
    def of(cls, covariance: Array, scale: Array, own: float) -> DenseCorrelations:
        """Return those of a covariance of which the lower triangle is filled."""
        R = scaled(covariance, 1.0 / scale)
        np.fill_diagonal(R, own)
        return cls(R, R * R)

    def times(self, x: Array) -> Array:
        return self.R @ x

    def times_squared(self, x: Array) -> Array:
        return self.R2 @ x

    def solve(self, third: Array, fourth: Array, right: Array, accuracy: float, *, transposed: bool) -> Array:
        R, R2 = self.R, self.R2
        c3, c4 = math.sqrt(0.5) * third, 0.5 * fourth

        def product(x: Array) -> Array:
            y = x if transposed else R2 @ x
            image = R @ (c3 * y)
            image *= c3
            image += c4 * y
            return x - (R2 @ image if transposed else image)

        x = solve_krylov(product, right, accuracy, _MAX_KRYLOV)
        if x is None:
            middle = third[:, None] * self.R * third + np.diag(fourth)
            matrix = np.eye(len(right)) - 0.5 * middle @ self.R2
            _, _, x, singular = lapack.dgesv(matrix.T if transposed else matrix, right)
            x = np.full(len(right), np.nan) if singular else x
        return x


@dataclass(frozen=True, eq=False)
class ImplicitCorrelations(Correlations):
    """Known by products with the covariance Σ and with Σ∘Σ, each of which costs far more than a call."""

    times_covariance: Callable[[Array], Array]
    times_covariance_squared: Callable[[Array], Array]
    scale: Array
    own: float

    def times(self, x: Array) -> Array:
        return self.times_covariance(x / self.scale) / self.scale - (1.0 - self.own) * x

    def times_squared(self, x: Array) -> Array:
        variance = self.scale**2
        return self.times_covariance_squared(x / variance) / variance - (1.0 - self.own) * x

    def solve(self, third: Array, fourth: Array, right: Array, accuracy: float, *, transposed: bool) -> Array:
        def middle(x: Array) -> Array:
            return 0.5 * (fourth * x + third * self.times(third * x))

        def product(x: Array) -> Array:
            return x - (self.times_squared(middle(x)) if transposed else middle(self.times_squared(x)))

        x = solve_krylov(product, right, accuracy, _MAX_KRYLOV)
        return np.full(len(right), np.nan) if x is None else x
